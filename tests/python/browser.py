"""For the tests: Chromium, driven by raw WebDriver over urllib.

    class Page(browser.BrowserTest):
        def test_it(self):
            self.browser.open(path)          # waits for document.body.dataset.ready
            self.assertEqual(self.browser.run("return document.title"), "...")
"""

import base64
import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-features=BackForwardCache",  # pages that were left keep connections
    "--hide-scrollbars=false",
]
SECONDS = 300  # after this it counts as hung
AVAILABLE = bool(shutil.which("chromium") and shutil.which("chromedriver"))
try:
    socket.getaddrinfo("localhost", None)  # chromedriver asks for the browser there
    WHY = "needs chromium"
except OSError:
    AVAILABLE, WHY = False, "needs the host name localhost (/etc/hosts)"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004"}
KEYS |= {"Backspace": "\ue003", "Shift": "\ue008"}
KEYS |= {"End": "\ue010", "Home": "\ue011"}
KEYS |= {"Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}


class Browser:
    """One browser with one page."""

    def __init__(self, *flags):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            self.begin(flags)
        except BaseException:
            self.end()
            raise

    def begin(self, flags):
        port = None
        while port is None:
            line = self.driver.stdout.readline()
            if not line:
                raise RuntimeError("chromedriver did not start")
            port = re.search(r"on port ([1-9]\d*)", line)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.base = f"http://127.0.0.1:{port[1]}"
        options = {
            "binary": shutil.which("chromium"),
            "args": [*FLAGS, *flags, f"--user-data-dir={self.folder.name}"],
        }
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{made['sessionId']}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with self.opener.open(request, timeout=SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.end()

    def end(self):
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.folder.cleanup()

    def open(self, path, fragment="", ready="document.body.dataset.ready"):
        """Load a file or an http address; waits until its script is ready."""
        address = str(path)
        if not address.startswith("http"):
            address = Path(path).absolute().as_uri()
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": address + fragment})
        self.wait(f"return {ready}")

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": arguments})

    def wait(self, script):
        end = time.monotonic() + SECONDS
        while not self.run(script):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}")
            time.sleep(0.01)

    def size(self, width, height=900):
        """Of what the page sees."""
        command = "Emulation.setDeviceMetricsOverride"
        sizes = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.devtools(command, {**sizes, "mobile": False})

    def devtools(self, command, parameters):
        body = {"cmd": command, "params": parameters}
        return self.call("POST", "/goog/cdp/execute", body)

    def alive(self, kind, count="this.length"):
        """The result of a script whose `this` is the list of live objects of a
        class."""
        for _ in range(3):
            self.devtools("HeapProfiler.collectGarbage", {})
        wanted = {"expression": f"{kind}.prototype", "objectGroup": "alive"}
        prototype = self.devtools("Runtime.evaluate", wanted)["result"]["objectId"]
        wanted = {"prototypeObjectId": prototype, "objectGroup": "alive"}
        found = self.devtools("Runtime.queryObjects", wanted)["objects"]["objectId"]
        wanted = {"objectId": found, "returnByValue": True,
                  "functionDeclaration": f"function() {{return {count}}}"}
        value = self.devtools("Runtime.callFunctionOn", wanted)["result"]["value"]
        self.devtools("Runtime.releaseObjectGroup", {"objectGroup": "alive"})
        return value

    def prefer(self, scheme, motion="no-preference", media=""):
        """Emulate settings of the system: theme "light" or "dark"; motion "reduce";
        media
"print" shows the page as on paper."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]
        wanted = {"media": media, "features": features}
        self.devtools("Emulation.setEmulatedMedia", wanted)

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}]
            actions += [{"type": "keyUp", "value": value}]
        source = {"type": "key", "id": "keys", "actions": actions}
        self.call("POST", "/actions", {"actions": [source]})

    def mouse(self, *steps, kind="mouse"):
        """("move", x, y), ("down",), ("up",) or ("pause", milliseconds), one after the
        other; kind "touch" is a finger."""
        names = {"move": "pointerMove", "down": "pointerDown", "up": "pointerUp"}
        actions = []
        for name, *at in steps:
            action = {"type": names.get(name, name)}
            if name == "move":
                action |= {"x": round(at[0]), "y": round(at[1]), "duration": 0}
            elif name == "pause":
                action["duration"] = at[0]
            else:
                action["button"] = 0
            actions.append(action)
        source = {"type": "pointer", "id": kind, "actions": actions}
        source["parameters"] = {"pointerType": kind}
        self.call("POST", "/actions", {"actions": [source]})

    def click(self, x, y, times=1):
        self.mouse(("move", x, y), *[("down",), ("up",)] * times)

    def wheel(self, x, y, by):
        scroll = {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0}
        scroll |= {"deltaY": by, "duration": 0, "origin": "viewport"}
        source = {"type": "wheel", "id": "wheel", "actions": [scroll]}
        self.call("POST", "/actions", {"actions": [source]})

    def screenshot(self, path=None, whole=False):
        """A PNG of the visible part, or of the whole page."""
        if whole:
            height = self.run("return document.documentElement.scrollHeight")
            self.size(self.run("return innerWidth"), height)
        png = base64.b64decode(self.call("GET", "/screenshot"))
        if path:
            Path(path).write_bytes(png)
        return png

    def pdf(self):
        return base64.b64decode(self.call("POST", "/print", {}))

    def log(self):
        """Warnings and errors of the console since the last call."""
        told = self.call("POST", "/se/log", {"type": "browser"})
        return [one["message"] for one in told if one["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """The addresses requested since the last call."""
        told = self.call("POST", "/se/log", {"type": "performance"})
        events = [json.loads(one["message"])["message"] for one in told]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]


@unittest.skipUnless(AVAILABLE, WHY)
class BrowserTest(unittest.TestCase):
    """One browser for all tests of a class; the console must stay empty."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.log()
        self.browser.requests()
        self.browser.size(1280)
        self.browser.prefer("light")

    def check_kept(self, choose, load, is_kept):
        """A choice survives a reload of the page. Another process stores it, and loses
        it if
the page is closed too soon; then choose again."""
        end = time.monotonic() + SECONDS
        load()
        while not is_kept() and time.monotonic() < end:
            choose()
            self.browser.wait("return localStorage.length > 0")
            time.sleep(0.5)
            load()
        self.assertTrue(is_kept(), "the choice is kept")

    def tearDown(self):
        self.assertEqual(self.browser.log(), [])
