"""A hostile client of a training's page: the server still answers afterwards, and the
training in the same process continued bit for bit."""

import contextlib
import io
import json
import os
import random
import re
import resource
import socket
import sys
import threading
import time
import unittest

import torch

import scope
import torchoscope
from folder import TemporaryFolder

torch.set_num_threads(1)
sys.setswitchinterval(0.0005)  # otherwise each call waits 5 ms for the training

MOST = 1000  # simultaneous connections


class Site:
    """The address of a page, and raw connections to it."""

    def __init__(self, url):
        found = re.fullmatch(r"http://localhost:(\d+)/\?token=(\w+)", url)
        self.port, self.token = int(found[1]), found[2]

    def connect(self):
        link = socket.create_connection(("127.0.0.1", self.port), scope.PATIENCE)
        link.settimeout(scope.PATIENCE)
        return link

    def request(self, path="api/shelf", method="GET", **headers):
        headers = {"Host": "localhost", "X_Torchoscope_Token": self.token, **headers}
        named = [(name.replace("_", "-"), text) for name, text in headers.items() if text]
        lines = [f"{name}: {text}" for name, text in named]
        return "\r\n".join([f"{method} /{path} HTTP/1.1", *lines, "", ""]).encode()

    def send(self, data):
        """The response until the server is silent or closes the connection."""
        with self.connect() as link, contextlib.suppress(OSError):
            link.sendall(data)
            return read_answer(link)
        return b""

    def status(self, data):
        found = re.match(rb"HTTP/1\.1 (\d+) ", self.send(data))
        return int(found[1]) if found else 0


def read_answer(link):
    """One response: headers and body."""
    said = b""
    while b"\r\n\r\n" not in said:
        part = link.recv(65536)
        if not part:
            return said
        said += part
    head, _, body = said.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)^content-length: (\d+)", head, re.M)
    want = int(length[1]) if length else 0
    while len(body) < want and (part := link.recv(65536)):
        body += part
    return head + b"\r\n\r\n" + body


# --- attacks: functions of a Site


def foreign(site):
    for headers in (
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ):
        assert site.status(site.request(**headers)) == 403, headers
    for token in None, "0" * 32, site.token[:-1], site.token + "0":
        assert site.status(site.request(X_Torchoscope_Token=token)) == 401, token
    assert site.status(site.request(Host=None)) in (400, 403)
    for method in "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "X":
        assert site.status(site.request(method=method)) in (400, 405), method
    connect = b"CONNECT evil.example:80 HTTP/1.1\r\nHost: a\r\n\r\n"
    assert site.status(connect) in (0, 400, 403)


def traversal(site):
    for path in (
        "../etc/passwd",
        "..%2f..%2fetc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "api/info?file=../../etc/passwd",
        "api/info?file=/etc/passwd",
        "api/info?file=%00",
        "page.js%00.png",
        "//etc/passwd",
        "api/../../etc/passwd",
        "\\..\\etc\\passwd",
    ):
        said = site.send(site.request(path))
        assert b"root:" not in said, path
        assert re.match(rb"HTTP/1\.1 4\d\d ", said), (path, said[:60])


def huge(site):
    for data in (
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        site.request(A="x" * 200_000),
        site.request(**{f"A{i}": "x" for i in range(5000)}),
        site.request("api/shelf?" + "a=b&" * 2000),
        site.request(Content_Length="999999999999"),
        site.request(Content_Length="-1"),
        site.request(Transfer_Encoding="chunked") + b"FFFFFFFFFFFFFFFF\r\n",
        b"A" * 1_000_000,
    ):
        assert site.status(data) not in (200, 500), data[:80]


def malformed(site):
    chance = random.Random(0)
    whole = site.request()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        with site.connect() as link, contextlib.suppress(OSError):
            link.sendall(bytes(data))
            link.shutdown(socket.SHUT_WR)
            read_answer(link)
    for data in (b"\0" * 100, b"\r\n" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        with site.connect() as link, contextlib.suppress(OSError):
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
            read_answer(link)


def cut(site):
    whole = site.request("api/show?name=0.weight")
    for end in range(len(whole) + 1):
        with site.connect() as link:
            link.sendall(whole[:end])
            if end % 2:  # a reset instead of an end
                link.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                )


def pipelining(site):
    with site.connect() as link:
        link.sendall(site.request() * 30 + site.request("api/nothing"))
        said = b""
        while b"no such question" not in said:
            part = link.recv(65536)
            assert part, said[-200:]
            said += part
    assert said.count(b"HTTP/1.1 200 ") == 30
    assert said.count(b"HTTP/1.1 404 ") == 1


def many(site):
    links = []
    with contextlib.ExitStack() as stack:
        for _ in range(MOST):
            link = stack.enter_context(socket.socket())
            link.setblocking(False)
            with contextlib.suppress(OSError):
                link.connect(("127.0.0.1", site.port))
            links.append(link)
        time.sleep(0.5)  # while all of them are open


def slow(site):
    """Incomplete requests, sent byte by byte, on more connections than allowed."""
    data = site.request(A="x" * 1000)
    with contextlib.ExitStack() as stack:
        links = []
        for _ in range(80):
            with contextlib.suppress(OSError):
                links.append(stack.enter_context(site.connect()))
        for at in range(40):
            for link in links:
                with contextlib.suppress(OSError):
                    link.send(data[at : at + 1])
            time.sleep(0.02)


def streams(site):
    """More event streams than allowed, never read."""
    with contextlib.ExitStack() as stack:
        refused = 0
        for _ in range(40):
            link = stack.enter_context(site.connect())
            link.sendall(site.request("events?since=0"))
            refused += b" 503 " in link.recv(4096).partition(b"\r\n")[0]
        assert refused >= 8, refused


ATTACKS = (foreign, traversal, huge, malformed, cut, pipelining, streams, slow, many)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 2)
    )


class Hostile(TemporaryFolder):
    def steps(self, model, n, more=None):
        """At least n steps; the state after n of them."""
        optimizer = torch.optim.Adam(model.parameters())
        done, state = 0, None
        while done < n or (more and more()):
            optimizer.zero_grad()
            model(torch.randn(3, 4)).square().mean().backward()
            optimizer.step()
            done += 1
            if done == n:
                state = [value.clone() for value in model.state_dict().values()]
        return state

    def attack(self, site, attacks):
        broken = []

        def run():
            for attack in attacks:
                try:
                    attack(site)
                except BaseException as error:
                    broken.append((attack.__name__, repr(error)))

        thread = threading.Thread(target=run)
        thread.start()
        return thread, broken

    def test_the_server_still_answers_and_the_training_is_unchanged(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 3 * MOST if hard == resource.RLIM_INFINITY else min(3 * MOST, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        plain = self.steps(network(), 60)
        model = network()
        with contextlib.redirect_stderr(io.StringIO()):
            handle = torchoscope.watch(
                model, log_freq=1, dir=self.folder, backend="standalone", port=0
            )
        site = Site(handle.url)
        threads = len(os.listdir("/proc/self/task"))
        thread, broken = self.attack(site, ATTACKS)
        attacked = self.steps(model, 60, thread.is_alive)
        thread.join()
        self.assertEqual(broken, [])
        self.assertTrue(all(map(torch.equal, plain, attacked)))
        more = len(os.listdir("/proc/self/task")) - threads
        self.assertLessEqual(more, 1)  # the one that writes the history
        said = site.send(site.request())
        (file,) = json.loads(said.partition(b"\r\n\r\n")[2])["files"]
        self.assertEqual((file["kind"], file["live"]), ("run", True))
        handle.close()
        self.assertGreaterEqual(len(torchoscope.open(handle.path).steps), 60)


if __name__ == "__main__":
    unittest.main()
