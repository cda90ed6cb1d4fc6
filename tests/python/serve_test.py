"""torchoscope serve: access control, answers, and shutdown."""

import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

import torch

import scope
from folder import TemporaryFolder

torch.set_num_threads(1)

TRAINING = """
import sys, torch, torchoscope
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
handle = torchoscope.watch(model, dir=sys.argv[1], log_freq=1, name="net")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for line in sys.stdin:
    if line == "close\\n":
        handle.close()
        print("closed", flush=True)
        continue
    for _ in range(int(line)):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
    handle._writer.flush()
    print(handle.path, flush=True)
"""


def weights(path):
    head = json.dumps({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}})
    path.write_bytes(struct.pack("<Q", len(head)) + head.encode() + bytes(12))
    return path


class Server:
    """A server in a separate process."""

    def __init__(self, *words, **environment):
        self.process = subprocess.Popen(
            [scope.PROGRAM, "serve", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "SSH_CONNECTION": "", **environment},
        )
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://localhost:(\d+)/\?token=([0-9a-f]{32})", self.address)
        if not found:
            raise AssertionError(self.address + self.process.communicate()[1])
        self.port, self.token = int(found[1]), found[2]
        self.streams, self.said = [], None

    def ask(self, path, method="GET", token=None, **headers):
        """The response, with its body read."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=scope.PATIENCE)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers.setdefault("Host", f"localhost:{self.port}")
        if token is not False:
            headers["X-Torchoscope-Token"] = token or self.token
        link.request(method, "/" + path, headers=headers)
        answer = link.getresponse()
        body = answer.read()
        packed = answer.headers["Content-Encoding"] == "gzip"
        answer.size = len(body)
        answer.text = (gzip.decompress(body) if packed else body).decode()
        link.close()
        return answer

    def document(self, path):
        answer = self.ask(path)
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.status} {answer.text}")
        return json.loads(answer.text)

    def stream(self, path):
        """An open response, to be read line by line."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=scope.PATIENCE)
        link.request("GET", "/" + path, headers={"X-Torchoscope-Token": self.token})
        self.streams += [link.getresponse(), link]
        return self.streams[-2]

    def end(self, how=signal.SIGINT):
        """The exit status and the output."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        if self.said is None:
            self.said = self.process.communicate(timeout=scope.PATIENCE)[1]
        return self.process.returncode, self.said

    def close(self):
        self.end()
        for stream in self.streams:
            stream.close()


def news(stream):
    """The documents of the events."""
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


class Serving(TemporaryFolder):
    def serve(self, *words, **environment):
        server = Server(*words, "--port", 0, **environment)
        self.addCleanup(server.close)
        return server

    def file(self, name="x.safetensors"):
        return weights(self.folder / name)


class Guard(Serving):
    def test_the_page_is_open_and_data_needs_the_token(self):
        server = self.serve(self.file())
        page = server.ask("", token=False)
        self.assertEqual(page.status, 200)
        self.assertIn("page.js", page.text)
        self.assertIn("script-src 'self'", page.headers["Content-Security-Policy"])
        for path in "api/shelf", "events", "api/info?file=x.safetensors":
            self.assertEqual(server.ask(path, token=False).status, 401)
            self.assertEqual(server.ask(path, token="0" * 32).status, 401)
        self.assertEqual(server.document("api/info?file=x.safetensors")["kind"], "info")
        self.assertEqual(len({server.token, self.serve(self.file()).token}), 2)

    def test_foreign_names_and_pages_are_refused(self):
        server = self.serve(self.file(), "--allow-host", "hub.example.org")
        for host in "evil.example", "localhost.evil.example", "192.168.0.1:80":
            self.assertEqual(server.ask("", Host=host).status, 403)
        for host in "127.0.0.1", "[::1]:99", "hub.example.org":
            self.assertEqual(server.ask("", Host=host).status, 200)
        for origin in "null", "http://evil.example", "http://localhost:1":
            self.assertEqual(server.ask("api/shelf", Origin=origin).status, 403)
        own = f"http://localhost:{server.port}"
        self.assertEqual(server.ask("api/shelf", Origin=own).status, 200)

    def test_methods_bodies_and_odd_requests(self):
        server = self.serve(self.file())
        get, head = server.ask("api/shelf"), server.ask("api/shelf", "HEAD")
        self.assertEqual((head.status, head.text), (200, ""))
        self.assertEqual(head.headers["Content-Length"], str(len(get.text)))
        self.assertEqual(server.ask("events", "HEAD").status, 200)
        for method in "POST", "PUT", "DELETE", "OPTIONS":
            self.assertEqual(server.ask("api/shelf", method).status, 405)
        for bad in (
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 20000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
            b"GET /../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"\0\1\2\3\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", server.port)) as link:
                link.settimeout(scope.PATIENCE)
                link.sendall(bad)
                said = b""
                with contextlib.suppress(ConnectionError):
                    said = link.recv(4096)
                self.assertNotIn(b" 200 ", said.partition(b"\r\n")[0], bad)
                self.assertNotIn(b"root:", said)
        self.assertEqual(server.ask("").status, 200)

    def test_cached_files_are_not_sent_again(self):
        server = self.serve(self.file())
        etag = server.ask("page.js").headers["ETag"]
        again = server.ask("page.js", If_None_Match=etag)
        self.assertEqual((again.status, again.text), (304, ""))
        self.assertEqual(server.ask("page.js", If_None_Match='"0"').status, 200)


    def test_long_answers_are_compressed(self):
        server = self.serve(self.file())
        for path in "page.js", "page.css", "api/info":
            plain = server.ask(path)
            packed = server.ask(path, Accept_Encoding="gzip, deflate, br")
            self.assertEqual(packed.text, plain.text)
            self.assertEqual(packed.headers["Content-Length"], str(packed.size))
            long = plain.size >= 1024
            self.assertEqual(packed.size < plain.size, long)
            self.assertEqual(packed.headers["Content-Encoding"], "gzip" if long else None)
        head = server.ask("page.js", "HEAD", Accept_Encoding="gzip")
        self.assertEqual((head.size, head.headers["Content-Encoding"]), (0, "gzip"))


class Starting(Serving):
    def test_a_port_in_use_is_reported(self):
        first = self.serve(self.file())
        second = Server(self.file(), "--port", first.port)
        self.assertNotEqual(first.port, second.port)
        self.assertLess(second.port, first.port + 20)
        status, said = second.end()
        self.assertEqual(status, 0)
        self.assertEqual(
            said,
            f"torchoscope: port {first.port} is taken; this is port {second.port}\n",
        )

    def test_a_signal_ends_it_while_streams_are_open(self):
        for how in signal.SIGINT, signal.SIGTERM:
            server = self.serve(self.file())
            streams = [server.stream("events") for _ in range(3)]
            for stream in streams:
                self.assertEqual(stream.read(14), b": still here\n\n")
            self.assertEqual(server.end(how), (0, ""))
            for stream in streams:
                try:  # the last chunk may be lost
                    said = stream.read()
                except http.client.IncompleteRead as cut:
                    said = cut.partial
                self.assertEqual(said, b"")

    def test_streams_of_closed_clients_are_freed_before_the_next_event(self):
        server = self.serve(self.file())
        streams = [server.stream("events") for _ in range(32)]
        self.assertEqual({stream.status for stream in streams}, {200})
        self.assertEqual(server.stream("events").status, 503)
        witness, link = server.streams[:2]
        witness.read(14)
        for stream in server.streams[2:]:
            stream.close()
        while server.stream("events").status == 503:
            time.sleep(0.01)
        link.sock.setblocking(False)
        with self.assertRaises(BlockingIOError):
            link.sock.recv(1)

    def test_over_ssh_the_tunnel_command_is_printed(self):
        server = self.serve(
            self.file(), SSH_CONNECTION="10.0.0.1 5000 10.0.0.2 22", USER="ada"
        )
        _, said = server.end()
        port = server.port
        self.assertRegex(said, rf"ssh -L {port}:localhost:{port} ada@\S+\n$")

    def test_listening_to_other_machines_gives_a_warning(self):
        server = self.serve(self.file(), "--host", "0.0.0.0")
        _, said = server.end()
        self.assertIn("warning: other machines can reach this page", said)

    def test_wrong_arguments_are_refused(self):
        for words, why in (
            ((), "usage: torchoscope serve FILE"),
            ((self.folder / "none",), "No such file"),
            ((self.file(), "--port", 70000), "from 0 to 65535"),
            ((self.file(), "--host", "no.such.host.invalid"), "no.such.host.invalid"),
            ((__file__,), "serve_test.py"),
        ):
            done = scope.run("serve", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr.decode())


class Shelf(Serving):
    def test_files_are_listed_by_name(self):
        one, two = self.file("one.safetensors"), self.file("two.safetensors")
        bad = self.folder / "notes.txt"
        bad.write_text("hello")
        server = self.serve(one, two, bad)
        files = []
        while not files or any(file["pending"] for file in files):
            files = server.document("api/shelf")["files"]
        self.assertEqual(
            [(file["file"], file["has"]) for file in files],
            [("one.safetensors", ["values"]), ("two.safetensors", ["values"]), ("notes.txt", [])],
        )
        self.assertIn("plain text", files[2]["why"])
        diff = server.document("api/diff?file=one.safetensors&right=two.safetensors")
        self.assertEqual(diff["kind"], "diff")
        self.assertEqual(server.ask(f"api/info?file={self.folder}/one").status, 404)

    def test_a_folder_is_searched(self):
        (self.folder / "deep").mkdir()
        self.file("deep/one.safetensors")
        self.file("two.safetensors")
        (self.folder / "notes.txt").write_text("hello")
        server = self.serve(self.folder)
        files = {}
        for document in news(server.stream("events?since=0")):
            files.update({file["file"]: file for file in document["files"]})
            if len(files) == 2 and not any(file["pending"] for file in files.values()):
                break
        self.assertEqual(sorted(files), ["deep/one.safetensors", "two.safetensors"])
        for file in files.values():
            self.assertEqual((file["verdict"], file["params"]), ("safe", 3))
        self.assertEqual(
            server.document("api/info?file=deep/one.safetensors")["counts"]["stored"], 3
        )


class Busy(Serving):
    """Long requests: sparse files of 64 GB, which take a minute to measure."""

    LARGE = 1 << 36

    def large(self, name):
        path = self.folder / name
        where = [0, 8], [8, self.LARGE]
        shapes = [2], [(self.LARGE - 8) // 4]
        entries = {
            key: {"dtype": "F32", "shape": shape, "data_offsets": at}
            for key, shape, at in zip(("small", "vast"), shapes, where)
        }
        head = json.dumps(entries)
        with path.open("wb") as file:
            file.write(struct.pack("<Q", len(head)) + head.encode())
            file.truncate(8 + len(head) + self.LARGE)
        return path

    def begin(self, server, path):
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=scope.PATIENCE)
        link.request("GET", "/" + path, headers={"X-Torchoscope-Token": server.token})
        self.addCleanup(link.close)
        return link

    def used(self, server):
        """Seconds of processor time."""
        words = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2]
        return sum(map(int, words.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def test_short_questions_do_not_wait_and_a_closed_client_stops_its_own(self):
        names = [f"{number}.safetensors" for number in range(5)]
        try:
            server = self.serve(*map(self.large, names))
        except OSError as error:
            self.skipTest(f"no sparse files: {error}")
        vast = [self.begin(server, f"api/show?file={name}&name=vast") for name in names[:3]]
        again = [self.begin(server, f"api/show?file={names[0]}&name=vast") for _ in range(5)]
        while self.used(server) < 0.2:
            pass
        for path in "", "page.js", "api/shelf", "api/news", "api/nothing":
            self.assertIn(server.ask(path).status, (200, 404))
        small = server.document(f"api/show?file={names[4]}&name=small")
        self.assertEqual(small["tensor"]["zeros"], 2)
        news(server.stream("events?since=0")).__next__()
        waits = self.begin(server, f"api/show?file={names[0]}&name=small")
        for link in vast + again:
            link.close()
        self.assertEqual(waits.getresponse().status, 200)
        self.assertLess(self.used(server), 30)
        self.begin(server, f"api/show?file={names[1]}&name=vast")
        self.assertEqual(server.end(), (0, ""))


class Training(Serving):
    def train(self):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        return process

    def steps(self, process, n):
        process.stdin.write(f"{n}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def test_new_steps_are_announced_while_another_process_writes(self):
        process = self.train()
        path = self.steps(process, 3)
        server = self.serve(path)
        (file,) = server.document("api/shelf")["files"]
        self.assertEqual((file["kind"], file["live"], file["ended"]), ("run", True, False))
        self.assertIn("history", file["has"])
        before, version = file["newest_step"], file["version"]
        events = news(server.stream("events"))
        self.steps(process, 2)
        for document in events:
            (file,) = document["files"]
            self.assertGreater(file["version"], version)
            if file["newest_step"] >= before + 2:
                break
        self.assertTrue(file["live"])
        show = server.document("api/show?name=0&step=newest")
        self.assertEqual(show["step"]["last"], file["newest_step"])
        process.stdin.write("close\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "closed\n")
        for document in events:
            (file,) = document["files"]
            if file["ended"]:
                break
        self.assertNotIn("died", file)

    def test_a_process_that_died_is_noticed(self):
        process = self.train()
        server = self.serve(self.steps(process, 2))
        (file,) = server.document("api/shelf")["files"]
        self.assertTrue(file["live"])
        process.kill()
        process.wait()
        for document in news(server.stream("events?since=0")):
            (file,) = document["files"]
            if file["ended"]:
                break
        self.assertTrue(file["died"])
        self.assertEqual(server.document("api/info")["kind"], "info")


if __name__ == "__main__":
    unittest.main()
