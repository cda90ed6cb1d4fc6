"""Files on web servers: the same answers as from the disk, few bytes, and a clear error
for every misbehaving server."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

import torch
from torch import nn

import range_server

try:
    from safetensors.torch import save_file
except ImportError:
    save_file = None

SENTENCES = {
    "whole": "sends whole files only, no ranges; download it",
    "around": "redirects",
    "elsewhere": "rotocol",
    "refuse": "does not allow it (403)",
    "fail": "failed (503). Try again later",
    "shifted": "asked for bytes 0 to",
    "short": "asked for bytes 0 to",
    "more": "sent more than the 65536 bytes asked for",
    "unsaid": "has no valid Content-Range",
    "endless": "has no valid Content-Range",
    "packed": "sends it compressed",
    "cut": ". Try again",
    "stall": "the server stalls",
    "silent": "the server stalls",
    "garbage": "",
}


class Remote(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.files = self.folder / "files"
        self.files.mkdir()
        self.server = range_server.Server(self.files)
        self.addCleanup(self.server.__exit__)
        torch.manual_seed(0)

    def torchoscope(self, *words, status=0, **settings):
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        env |= {"CURL_CA_BUNDLE": "", "SSL_CERT_FILE": ""}
        env |= {"TORCHOSCOPE_HTTP_SECONDS": "1", **settings}
        done = subprocess.run(
            [os.environ["TORCHOSCOPE"], *map(str, words)],
            capture_output=True,
            text=True,
            env=env,
            timeout=120,
        )
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done.stdout if status == 0 else done.stderr

    def save(self, name, what, **options):
        path = self.files / name
        torch.save(what, path, **options)
        return path

    def model(self):
        layers = [
            nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64)) for _ in range(20)
        ]
        return nn.Sequential(*layers)

    def check_same(self, name, *command):
        """Run a command on the file, read from the server and from the disk."""
        local = self.torchoscope(command[0], self.files / name, *command[1:])
        url = self.server.url(name)
        self.assertEqual(
            self.torchoscope(command[0], url, *command[1:]).replace(url, "@"),
            local.replace(str(self.files / name), "@"),
        )

    def test_every_view_is_that_of_the_file_on_disk(self):
        state = self.model().state_dict()
        self.save("new.pth", state)
        self.save("old.pth", state, _use_new_zipfile_serialization=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.script(self.model()).save(self.files / "script.pt")
        if save_file:
            save_file(state, self.files / "x.safetensors")
        for path in sorted(self.files.iterdir()):
            with self.subTest(path.name):
                self.check_same(path.name, "tree", "--depth", "2")
                self.check_same(path.name, "stats")
                self.check_same(path.name, "check", "--values", "--json")
                self.check_same(path.name, "show", "1.0.weight", "--json")
                found = self.torchoscope(
                    "diff", self.server.url(path.name), path, "--json"
                )
                self.assertTrue(json.loads(found)["equal"])

    def test_a_large_file_is_listed_with_few_bytes_and_requests(self):
        path = self.files / "large.safetensors"
        entries, at = {}, 0
        for i in range(300):
            size = 4 * 1024 * 1024 * 4
            entries[f"layers.{i}.weight"] = {
                "dtype": "F32",
                "shape": [1024, 4096],
                "data_offsets": [at, at + size],
            }
            at += size
        header = json.dumps(entries).encode()
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.truncate(8 + len(header) + at)
        self.assertGreater(path.stat().st_size, 4 << 30)
        tree = self.torchoscope("tree", self.server.url(path.name), "--depth", "1")
        self.assertIn("300 tensors", tree)
        self.assertLess(self.server.bytes, 1_000_000)
        self.assertLess(len(self.server.requests), 6)
        # Statistics of one tensor fetch only that tensor.
        self.server.forget()
        shown = self.torchoscope(
            "show", self.server.url(path.name), "layers.7.weight", "--json"
        )
        self.assertEqual(json.loads(shown)["tensor"]["zeros"], 4 << 20)
        self.assertLess(self.server.bytes, 2.2 * 4 * 4 * 1024 * 1024)

    def test_a_zip_of_many_tensors_needs_few_requests(self):
        self.save("x.pth", {f"a.{i}": torch.randn(100) for i in range(2000)})
        self.torchoscope("tree", self.server.url("x.pth"))
        self.assertLess(self.server.bytes, (self.files / "x.pth").stat().st_size)
        self.assertLess(len(self.server.requests), 12)

    def test_shards_beside_an_index(self):
        if not save_file:
            self.skipTest("needs safetensors")
        state = self.model().state_dict()
        half = dict(list(state.items())[:50]), dict(list(state.items())[50:])
        index = {"metadata": {}, "weight_map": {}}
        for i, part in enumerate(half):
            name = f"m-{i}.safetensors"
            save_file(part, self.files / name)
            index["weight_map"] |= {key: name for key in part}
        (self.files / "m.safetensors.index.json").write_text(json.dumps(index))
        self.check_same("m.safetensors.index.json", "stats")
        (self.files / "m-1.safetensors").unlink()
        said = self.torchoscope(
            "tree", self.server.url("m.safetensors.index.json"), status=1
        )
        self.assertEqual(said, "")
        index["weight_map"]["evil"] = "../secret"
        (self.files / "m.safetensors.index.json").write_text(json.dumps(index))
        self.torchoscope("tree", self.server.url("m.safetensors.index.json"), status=1)
        self.assertFalse([one for one in self.server.requests if "secret" in one[0]])

    def test_the_second_command_requests_only_the_version(self):
        self.save("x.pth", self.model().state_dict())
        first = self.torchoscope("tree", self.server.url("x.pth"))
        self.server.forget()
        self.assertEqual(self.torchoscope("tree", self.server.url("x.pth")), first)
        self.assertEqual([one[2] for one in self.server.requests], [304])
        self.assertEqual(self.server.bytes, 0)
        # A new version of the file is seen.
        self.save("x.pth", nn.Linear(3, 3).state_dict())
        self.assertIn(
            "12 parameters", self.torchoscope("tree", self.server.url("x.pth"))
        )
        # A damaged cache is not used.
        cache = self.folder / "cache/torchoscope/http"
        before = self.torchoscope("tree", self.server.url("x.pth"))
        for block in cache.glob("*/[0-9]*"):
            block.write_bytes(block.read_bytes()[::-1])
        self.assertEqual(self.torchoscope("tree", self.server.url("x.pth")), before)
        shutil.rmtree(cache)
        cache.write_text("no folder")
        self.assertEqual(self.torchoscope("tree", self.server.url("x.pth")), before)

    def test_misbehaving_servers_give_clear_errors(self):
        torch.save({"weight": torch.randn(50_000)}, self.files / "x.pth")
        for way, sentence in SENTENCES.items():
            with self.subTest(way):
                said = self.torchoscope("tree", self.server.url("x.pth", way), status=2)
                self.assertIn(sentence, said)
                self.assertEqual(said.count("\n"), 1, said)
                self.assertIn("x.pth", said)
        self.assertIn(
            "no such file (404)",
            self.torchoscope("tree", self.server.url("none.pth"), status=2),
        )
        (self.files / "empty.pth").touch()
        self.assertIn(
            "is empty", self.torchoscope("tree", self.server.url("empty.pth"), status=2)
        )
        said = self.torchoscope("tree", "http://127.0.0.1:1/x.pth", status=2)
        self.assertIn("onnect", said)
        self.assertIn(
            "resolve", self.torchoscope("tree", "http://none.invalid/x", status=2)
        )

    def start(self, *words):
        """The program, with a timeout of ten minutes."""
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        env["TORCHOSCOPE_HTTP_SECONDS"] = "600"
        done = subprocess.Popen(
            [os.environ["TORCHOSCOPE"], *map(str, words)],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.addCleanup(done.kill)
        return done

    def test_ctrl_c_interrupts_a_request(self):
        torch.save({"weight": torch.randn(500_000)}, self.files / "x.pth")
        for way in ("stall", "silent"):
            for command in (["tree"], ["check", "--values"]):
                with self.subTest(way=way, command=command):
                    self.server.forget()
                    asked = self.server.asked = threading.Event()
                    done = self.start(*command, self.server.url("x.pth", way))
                    self.assertTrue(asked.wait(60))
                    done.send_signal(signal.SIGINT)
                    _, said = done.communicate(timeout=120)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("stopped", said)

    def test_http_1_0_is_supported(self):
        self.save("x.pth", self.model().state_dict())
        self.assertIn(
            "parameters", self.torchoscope("tree", self.server.url("x.pth", "old"))
        )

    def test_certificates_are_checked(self):
        self.save("x.pth", self.model().state_dict())
        key, known = self.folder / "key.pem", self.folder / "known.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
            + ["-keyout", key, "-out", known, "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost"],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(known, key)
        self.server.http.socket = context.wrap_socket(
            self.server.http.socket, server_side=True
        )
        url = self.server.url("x.pth").replace("http://127.0.0.1", "https://localhost")
        said = self.torchoscope("tree", url, status=2)
        self.assertIn("Set SSL_CERT_FILE to a file of certificates to trust", said)
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            told = self.torchoscope("tree", url, **{name: str(known)})
            self.assertIn("parameters", told)
        said = self.torchoscope("tree", url, status=2, SSL_CERT_FILE=str(key) + "x")
        self.assertIn("SSL_CERT_FILE", said)

    def test_a_file_that_changes_is_an_error(self):
        torch.save({"weight": torch.randn(500_000)}, self.files / "x.pth")
        for way in ("changes", "grows"):
            said = self.torchoscope(
                "show", self.server.url("x.pth", way), "weight", status=2
            )
            self.assertIn("changed on the server", said)

    def test_redirects_are_followed_and_secrets_are_not_shown(self):
        self.save("x.pth", self.model().state_dict())
        self.assertIn(
            "parameters", self.torchoscope("tree", self.server.url("x.pth", "redirect"))
        )
        url = self.server.url("x.pth").replace("//", "//me:word@") + "?sig=secret#x"
        for words in (
            ["tree"],
            ["info"],
            ["check"],
            ["tree", "--json"],
            ["check", "--json"],
        ):
            said = self.torchoscope(words[0], url, *words[1:])
            self.assertNotIn("secret", said)
            self.assertNotIn("word", said)
        self.torchoscope("check", "--values", url)
        page = self.folder / "x.html"
        self.torchoscope("export", url, "-o", page)
        self.assertNotIn("secret", page.read_text())

    def test_a_recording_is_refused(self):
        (self.files / "run.scope").write_bytes(b"SQLite format 3\0" + bytes(5000))
        said = self.torchoscope("tree", self.server.url("run.scope"), status=2)
        self.assertIn("a recording cannot be read on a web server; download it", said)

    def test_code_in_a_remote_pickle_is_not_run(self):
        told = self.folder / "ran"
        (self.files / "evil.pkl").write_bytes(
            b"cposix\nsystem\n(S'touch %s'\ntR." % str(told).encode()
        )
        self.torchoscope("check", self.server.url("evil.pkl"), status=1)
        self.assertFalse(told.exists())


if __name__ == "__main__":
    unittest.main()
