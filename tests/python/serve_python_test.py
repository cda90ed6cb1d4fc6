"""serve(), watch(backend="standalone"): the page of objects in this process."""

import contextlib
import gc
import http.client
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import unittest
import weakref

import torch

import pseudo
import scope
import seeds
import torchoscope
from folder import TemporaryFolder

torch.set_num_threads(1)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )


def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def train(model, optimizer, steps=1):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()


def ask(address, question, **headers):
    """(status, headers, document) of a request to the page at this address."""
    port, _, token = re.fullmatch(r"http://\w+:(\d+)/(\?token=(\S+))?", address).groups()
    link = http.client.HTTPConnection("127.0.0.1", int(port), timeout=scope.PATIENCE)
    if token:
        headers["X-Torchoscope-Token"] = token
    link.request("GET", f"/{question}", headers=headers)
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    json_type = answer.headers["Content-Type"] == "application/json"
    return answer.status, answer.headers, json.loads(text) if json_type else text


def in_background(function, *args):
    """A thread that calls it; `found()` waits for it."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(function(*args)))
    thread.start()

    def found():
        thread.join(scope.PATIENCE)
        return answers[0]

    found.waits = thread.is_alive
    return found


@contextlib.contextmanager
def said():
    with contextlib.redirect_stderr(io.StringIO()) as text:
        yield text


class Serving(TemporaryFolder):
    def serve(self, what, **wanted):
        with said() as self.said:
            server = torchoscope.serve(what, **{"port": 0, **wanted})
        self.addCleanup(server.close)
        return server

    def answer(self, server, question):
        """The answer to a request that Python serves meanwhile."""
        found = in_background(ask, server.url, question)
        while found.waits():
            server.pump()
        return found()


class Serve(Serving):
    def test_a_live_model(self):
        model = network()
        server = self.serve(model)
        self.assertIn(server.url, self.said.getvalue())
        _, _, shelf = ask(server.url, "api/shelf")
        (file,) = shelf["files"]
        self.assertEqual((file["file"], file["params"]), ("Sequential", 58))
        status, headers, shown = self.answer(server, "api/show?name=0.weight&slice=0,0")
        self.assertEqual(status, 200)
        self.assertIsNone(headers["X-Torchoscope-Step"])
        weight = model[0].weight.detach()
        self.assertAlmostEqual(shown["tensor"]["mean"], weight.mean().item(), places=6)

    def test_a_model_is_kept_alive_until_the_end(self):
        model = network()
        weak = weakref.ref(model)
        server = self.serve([model, network()])
        del model
        gc.collect()
        self.assertIsNotNone(weak())
        names = [file["file"] for file in ask(server.url, "api/shelf")[2]["files"]]
        self.assertEqual(names, ["Sequential", "Sequential#2"])
        self.assertIn("http://", repr(server))
        server.close()
        server.close()
        gc.collect()
        self.assertIsNone(weak())
        self.assertIn("closed", repr(server))
        self.assertEqual(server.pump(), 0)
        with self.assertRaises(OSError):
            ask(server.url, "api/shelf")

    def test_requests_are_answered_at_the_end_of_a_step_or_from_the_newest_copy(self):
        model = network()
        optimizer = optimizer_of(model)
        server = self.serve(model)
        status, _, busy = ask(server.url, "api/show?name=0.weight")
        self.assertEqual(status, 503)
        self.assertIn("Python is busy", busy["error"])
        found = in_background(ask, server.url, "api/show?name=0.weight&bins=3")
        steps = 0
        while found.waits():
            train(model, optimizer)
            steps += 1
        status, headers, shown = found()
        self.assertEqual(status, 200)
        self.assertLessEqual(int(headers["X-Torchoscope-Step"]), steps)
        self.assertIsNone(headers["X-Torchoscope-Old"])
        _, headers, old = ask(server.url, "api/show?name=0.weight&bins=3")
        self.assertEqual(headers["X-Torchoscope-Old"], "1")
        self.assertEqual(old["tensor"]["mean"], shown["tensor"]["mean"])

    def test_a_capsule_is_listed_as_a_capsule(self):
        model = network()
        optimizer = optimizer_of(model)
        with said(), torchoscope.watch(model, dir=str(self.folder)):
            train(model, optimizer, 2)
            with torch.no_grad():
                model[0].weight[0, 0] = torch.nan
            train(model, optimizer)
        (path,) = self.folder.glob("*.nan.scope")
        for served in (path, self.folder):
            server, shelf = self.serve(served), {"complete": False, "files": []}
            while not shelf["complete"] or any(one["pending"] for one in shelf["files"]):
                ask(server.url, f"api/info?file={path.name}")
                shelf = ask(server.url, "api/shelf")[2]
            found = {one["file"]: one.get("capsule", "") for one in shelf["files"]}
            self.assertIn("step 2", found.pop(path.name))
            self.assertEqual(set(found.values()), set() if served == path else {""})

    def test_events_arrive_with_steps(self):
        model = network()
        optimizer = optimizer_of(model)
        server = self.serve(model)
        _, _, before = ask(server.url, "api/shelf")
        train(model, optimizer)

        def newer():
            files = ask(server.url, f"api/news?since={before['news']}")[2]["files"]
            return files and files[0]["version"] > before["files"][0]["version"]

        while not newer():
            pass

    def test_a_recording(self):
        model = network()
        with torchoscope.record(model) as recording:
            model(torch.randn(3, 4))
        server = self.serve(recording)
        (file,) = ask(server.url, "api/shelf")[2]["files"]
        self.assertEqual(file["kind"], "recording")
        self.assertIn("calls", file["has"])
        with torch.no_grad():
            model[0].weight.fill_(2)
        status, _, shown = self.answer(server, "api/show?name=0.weight&slice=0,0")
        self.assertEqual(status, 200)
        self.assertEqual(shown["tensor"]["slice"]["values"], [2.0])

    def test_files_and_models_read_from_them(self):
        path, scope_path = self.folder / "x.pth", self.folder / "y.scope"
        torch.save(network().state_dict(), path)
        with torchoscope.record(network()) as recording:
            pass
        recording.save(scope_path)
        things = [path, torchoscope.open(path), torchoscope.open(scope_path)]
        server = self.serve(things)
        files = ask(server.url, "api/shelf")[2]["files"]
        self.assertEqual([file["name"] for file in files], ["x.pth", "x.pth", "y.scope"])
        self.assertEqual(ask(server.url, "api/show?file=x.pth&name=0.weight")[0], 200)

    def test_wrong_arguments_and_a_taken_port(self):
        model = network()
        first = self.serve(model)
        second = self.serve(model, port=first.port)
        self.assertNotEqual(first.port, second.port)
        self.assertIn(f"(port {first.port} is taken)", self.said.getvalue())
        for error, wanted in (
            (ValueError, {"port": 70000}),
            (ValueError, {"token": "short"}),
            (ValueError, {"token": "with blanks in between"}),
            (ValueError, {"token": False, "host": "0.0.0.0"}),
            (ValueError, {"host": "no.such.host.invalid"}),
            (TypeError, {"host": 5}),
        ):
            with self.assertRaises(error, msg=str(wanted)):
                self.serve(model, **wanted)
        with self.assertRaises(FileNotFoundError):
            self.serve(self.folder / "none.pth")
        with self.assertRaises(ValueError):
            self.serve([])

    def test_a_custom_token_or_none(self):
        token = "a-token-of-my-own-0123456789"
        server = self.serve(network(), token=token, allow_hosts=["hub.example.org"])
        self.assertTrue(server.url.endswith(f"?token={token}"))
        self.assertEqual(ask(server.url, "api/shelf", Host="hub.example.org")[0], 200)
        self.assertEqual(ask(server.url, "api/shelf", Host="evil.example.org")[0], 403)
        server = self.serve(network(), token=False)
        self.assertRegex(server.url, r"^http://localhost:\d+/$")
        self.assertEqual(ask(server.url, "api/shelf")[0], 200)
        self.assertEqual(ask(server.url, "api/shelf", Host="evil.example.org")[0], 403)

    def test_a_forked_child_closes_its_connections(self):
        server = self.serve(network())
        link = http.client.HTTPConnection("127.0.0.1", server.port)
        link.request("GET", "/")
        link.getresponse().read()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(write)
            status = 1
            with contextlib.suppress(BaseException):
                server.pump()
                server.close()
                status = os.read(read, 1) != b""  # until the parent is done
            os._exit(status)
        os.close(read)
        self.assertEqual(ask(server.url, "api/shelf")[0], 200)
        port = server.port
        server.close()
        self.assertEqual(link.sock.recv(1), b"")  # the child has closed it
        self.assertEqual(self.serve(network(), port=port).port, port)
        os.close(write)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        link.close()

    def test_it_never_keeps_a_process_alive(self):
        code = (
            "import torch, torchoscope\n"
            "torchoscope.serve(torch.nn.Linear(2, 2), port=0)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=scope.PATIENCE,
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, r"^torchoscope: http://localhost:\d+/\?token=\w+\n$")

    def test_wait_ends_with_an_interrupt(self):
        code = (
            "import torch, torchoscope\n"
            "server = torchoscope.serve(torch.nn.Linear(2, 2), port=0, name='net')\n"
            "server.wait()\n"
            "print('after', server)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        address = process.stderr.readline().split()[1]
        status, _, shown = ask(address, "api/show?file=net&name=weight")
        self.assertEqual((status, shown["tensor"]["shape"]), (200, [2, 2]))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=scope.PATIENCE)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertEqual(out, "after <torchoscope.Server closed>\n")

    def test_a_notebook_shows_a_link(self):
        server = self.serve(network())
        page = server._repr_mimebundle_()["text/html"]
        self.assertIn(f'href="{server.url}"', page)
        self.assertNotIn("<script", page)


class Standalone(Serving):
    def watch(self, model, **wanted):
        usual = {"log_freq": 1, "backend": "standalone", "port": 0, "dir": self.folder}
        with said() as self.said:
            handle = torchoscope.watch(model, **{**usual, **wanted})
        self.addCleanup(handle.close)
        return handle

    def test_the_run_is_listed_from_its_first_step(self):
        model = network()
        optimizer = optimizer_of(model)
        handle = self.watch(model, name="net")
        self.assertIn(handle.url, self.said.getvalue())
        (file,) = ask(handle.url, "api/shelf")[2]["files"]
        self.assertEqual((file["file"], file["kind"]), ("net", "file"))
        train(model, optimizer, 3)
        handle._writer.flush()
        self.assertEqual(ask(handle.url, "api/info?file=net")[0], 200)
        (file,) = ask(handle.url, "api/shelf")[2]["files"]
        self.assertEqual((file["kind"], file["path"]), ("run", handle.path))
        self.assertTrue(file["live"])
        self.assertLessEqual({"history", "calls", "values"}, set(file["has"]))
        found = in_background(ask, handle.url, "api/show?name=0.weight&slice=0,0")
        while found.waits():
            train(model, optimizer)
        status, headers, _ = found()
        self.assertEqual(status, 200)
        self.assertLess(int(headers["X-Torchoscope-Step"]), handle.steps)
        address = handle.url
        handle.close()
        self.assertIsNone(handle.url)
        with self.assertRaises(OSError):
            ask(address, "api/shelf")
        self.assertGreater(len(torchoscope.open(handle.path).steps), 3)

    def test_training_continues_without_a_page(self):
        model = network()
        handle = self.watch(model, host="no.such.host.invalid")
        self.assertIn("no page: no.such.host.invalid", self.said.getvalue())
        self.assertIsNone(handle.url)
        train(model, optimizer_of(model), 2)
        handle.close()
        self.assertEqual(len(torchoscope.open(handle.path).steps), 2)
        with self.assertRaisesRegex(ValueError, "are for backend='standalone'"):
            torchoscope.watch(model, port=5, dir=self.folder)

    def test_training_gives_the_same_bits_while_a_page_polls(self):
        ends = []
        for page in False, True:
            model = network()
            optimizer = optimizer_of(model)
            other = {} if page else {"backend": "none", "port": 8080}
            handle = self.watch(model, **other)
            found = page and in_background(self.look, handle.url)
            train(model, optimizer, 40)
            ends.append([value.clone() for value in model.state_dict().values()])
            while page and found.waits():
                train(model, optimizer)
            handle.close()
        self.assertTrue(all(map(torch.equal, *ends)))

    def look(self, address):
        for question in ("api/show?name=0.weight", "api/info", "api/show?name=2") * 5:
            ask(address, question)

    def test_a_watch_can_be_served_by_another_server(self):
        model = network()
        handle = self.watch(model, backend="file", port=8080)
        train(model, optimizer_of(model), 3)
        handle._writer.flush()
        server = self.serve(handle)
        (file,) = ask(server.url, "api/shelf")[2]["files"]
        self.assertEqual((file["kind"], file["steps"]), ("run", 2))
        handle.close()
        server = self.serve(handle)
        self.assertEqual(ask(server.url, "api/shelf")[2]["files"][0]["steps"], 3)

    def test_a_notebook_shows_a_snapshot_and_a_link(self):
        model = network()
        handle = self.watch(model)
        bundle = handle._repr_mimebundle_()
        self.assertIn(handle.url, bundle["text/html"])
        train(model, optimizer_of(model), 2)
        page = handle._repr_mimebundle_()["text/html"]
        self.assertIn(handle.url, page)
        self.assertIn("<svg", page)
        self.assertNotIn("<script", page)

    def test_no_step_is_lost_when_the_process_is_killed_while_a_page_reads(self):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        address, path = process.stdout.readline().split()
        last = 0
        questions = ("info", "show?name=0.weight&step=newest", "shelf", "rows?step=1")
        for question in questions * 6:
            self.assertIn(ask(address, f"api/{question}")[0], (200, 503))
            process.stdin.write("3\n")
            process.stdin.flush()
            last = int(process.stdout.readline())
        process.kill()
        process.wait()
        self.assertEqual(len(torchoscope.open(path).steps), last)
        with contextlib.closing(sqlite3.connect(path)) as file:
            self.assertEqual(file.execute("PRAGMA integrity_check").fetchone(), ("ok",))


KILLED = """
import sys, torch, torchoscope
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
handle = torchoscope.watch(
    model, dir=sys.argv[1], log_freq=1, backend="standalone", port=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def steps(n):
    for _ in range(n):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
    handle._settle(); handle._guard(handle._write, 0) if handle._done else None
    handle._writer.flush()
steps(1)
print(handle.url, handle.path, flush=True)
for line in sys.stdin:
    steps(int(line))
    print(handle.steps, flush=True)
"""


VISION = """
from types import SimpleNamespace
import vision_models
models = SimpleNamespace(resnet18=lambda pretrained: vision_models.resnet18())
"""


class Examples(Serving):
    """The two standalone examples of TorchExplorer's page, with only the import changed."""

    def scripts(self):
        self.write("torchvision/__init__.py", VISION)
        found = [one for one in seeds.blocks(seeds.copy("004")) if one[1] == "python"]
        codes = [code for _, _, code in found if "dummy_X" in code]
        self.assertEqual(len(codes), 2)
        for number, code in enumerate(codes):
            path = self.folder / f"example{number}.py"
            line = "from torchoscope.compat import torchexplorer"
            code, n = re.subn("^import torchexplorer$", line, code, flags=re.M)
            path.write_text(code)
            yield path

    def setUp(self):
        super().setUp()
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        self.paths = os.pathsep.join([str(self.folder), *paths])

    def test_without_a_terminal_they_end_by_themselves(self):
        for path in self.scripts():
            done = subprocess.run(
                [sys.executable, path],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": self.paths, "PYTHONSAFEPATH": ""},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=scope.PATIENCE,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"torchoscope: http://localhost:\d+/")

    def test_on_a_terminal_the_page_stays_until_ctrl_c(self):
        for path in self.scripts():
            settings = {"PYTHONPATH": self.paths, "PYTHONSAFEPATH": ""}
            here = os.getcwd()
            os.chdir(self.folder)
            try:
                terminal = pseudo.Terminal([sys.executable, path], settings)
                terminal.__enter__()
            finally:
                os.chdir(here)
            self.addCleanup(terminal.__exit__)
            terminal.wait_bytes(b"until Ctrl-C")
            (address,) = re.findall(rb"is at (http://localhost:\d+/) until", terminal.seen)
            address = address.decode()
            status, _, page = ask(address, "")
            self.assertEqual(status, 200)
            self.assertIn("page.js", page)
            (file,) = ask(address, "api/shelf")[2]["files"]
            self.assertEqual((file["kind"], file["labels"]), ("run", "numbers"))
            self.assertEqual((file["steps"], file["live"]), (1, False))
            self.assertEqual(ask(address, "api/shelf", Host="evil.example")[0], 403)
            terminal.press(b"\x03")
            self.assertEqual(terminal.ended(), 0)
            self.assertNotIn(b"Traceback", terminal.seen)


if __name__ == "__main__":
    unittest.main()
