"""The page behind proxies: below a prefix, as jupyter-server-proxy, VS Code and Colab
serve ports; under another host name; with buffered event streams. In Chromium."""

import contextlib
import http.client
import http.server
import threading
import time
import unittest
import urllib.parse

import browser
from page_panels_test import Training
from serve_test import Serving

GONE = http.client.HTTPException  # the server or the browser ended meanwhile
PREFIX = "/user/ada lovelace/proxy/8080"


class Proxy(http.server.ThreadingHTTPServer):
    """Takes the prefix off and asks `server`; keep_events: answers are passed on only when
    they are complete, so event streams never say anything. host: what it calls itself."""

    daemon_threads = True

    def __init__(self, server, host=None, keep_events=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.server, self.host, self.keep_events = server, host, keep_events
        self.asked, self.outside = [], []
        prefix = urllib.parse.quote(PREFIX)
        self.address = f"http://localhost:{self.server_address[1]}{prefix}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        proxy = self.server
        prefix = urllib.parse.quote(PREFIX)
        if self.path.startswith("/notebook"):
            far = f"http://localhost:{proxy.server_address[1]}" * self.path.endswith("far")
            page = f"{far}{prefix}/?token={proxy.server.token}#view=table"
            frame = f"<link rel=icon href='data:,'><iframe src='{page}'></iframe>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(frame)))
            self.end_headers()
            self.wfile.write(frame.encode())
            return
        if not self.path.startswith(prefix + "/"):
            proxy.outside.append(self.path)
            self.send_error(404)
            return
        path = self.path[len(prefix) :]
        proxy.asked.append(path)
        port = proxy.server.port
        link = http.client.HTTPConnection("127.0.0.1", port)
        headers = {k: v for k, v in self.headers.items() if k.lower() != "cookie"}
        headers["Host"] = proxy.host or f"localhost:{port}"
        headers["Accept-Encoding"] = "identity"
        with contextlib.closing(link), contextlib.suppress(OSError, ValueError, GONE):
            link.request("GET", path, headers=headers)
            answer = link.getresponse()
            if path.startswith("/events"):
                self.pass_on(answer, proxy.keep_events)
                return
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def pass_on(self, answer, keep):
        self.close_connection = True
        if keep:
            answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.end_headers()
        while part := answer.read1(65536):
            self.wfile.write(part)
            self.wfile.flush()


class Reach(Serving, browser.BrowserTest):
    def setUp(self):
        browser.BrowserTest.setUp(self)
        super().setUp()
        self.browser.call("POST", "/url", {"url": "about:blank"})

    def tearDown(self):
        self.browser.call("POST", "/url", {"url": "about:blank"})  # its streams end
        super().tearDown()

    def proxy(self, *words, **wanted):
        proxy = Proxy(self.serve(*words), **wanted)
        self.addCleanup(proxy.close)
        return proxy

    def open(self, proxy, fragment=""):
        address = f"{proxy.address}?token={proxy.server.token}"
        self.browser.open(address, fragment, "document.querySelector('.row, .trow')")

    def test_all_addresses_are_relative(self):
        proxy = self.proxy(self.file())
        self.open(proxy, "#view=table")
        for key in "1234567":
            self.browser.press(key)
        self.browser.run("location.hash = '#file=x.safetensors&view=details&at=w'")
        self.browser.wait("return document.querySelector('.dtgrid')")
        self.assertEqual(proxy.outside, [])
        self.assertIn("/page.js", proxy.asked)
        address = self.browser.run("return location.href")
        self.assertTrue(address.startswith(proxy.address), address)
        self.assertNotIn("token", address)
        for one in self.browser.requests():
            self.assertTrue(one.startswith((proxy.address, "data:", "about:", "blob:")), one)

    def test_another_host_name_needs_to_be_allowed(self):
        host = "hub.example.org"
        proxy = self.proxy(self.file(), "--allow-host", host, host=host)
        self.open(proxy, "#view=table")
        self.assertIsNone(self.browser.run("return document.querySelector('.fail')"))
        proxy.host = "other.example.org"
        self.browser.call("POST", "/url", {"url": "about:blank"})
        self.browser.call("POST", "/url", {"url": proxy.address})
        self.browser.wait("return document.body.textContent.includes('--allow-host NAME')")
        self.assertIn("403", "".join(self.browser.log()))

    def check_live(self, keep_events):
        training = Training(self.folder)
        self.addCleanup(training.close)
        path = training.tell(4)
        proxy = self.proxy(path, keep_events=keep_events)
        self.open(proxy, "#view=table")
        text = "document.querySelector('.status').textContent"
        before = self.browser.run(f"return {text}")
        self.assertIn("live", before)
        training.tell(9)
        self.browser.wait(f"return {text} !== {before!r}")
        self.browser.wait(f"return !{text}.includes('not connected')")
        polled = any(one.startswith("/api/news") for one in proxy.asked)
        self.assertEqual(polled, keep_events)
        self.browser.log()

    def test_a_training_is_followed_by_events(self):
        self.check_live(False)

    def test_a_training_is_followed_when_a_proxy_buffers_events(self):
        self.check_live(True)

    def test_a_frame_needs_no_cookie(self):
        """Cookies of frames get lost: the proxy passes none on, the token is a header."""
        proxy = self.proxy(self.file())
        where = urllib.parse.urljoin(proxy.address, "/notebook")
        self.browser.call("POST", "/url", {"url": where})
        inside = "document.querySelector('iframe').contentDocument"
        self.browser.wait(f"return Boolean({inside}?.querySelector('.trow'))")
        self.assertEqual(self.browser.run(f"return {inside}.cookie"), "")

    def test_a_page_of_an_allowed_host_may_frame_it(self):
        """As Colab does: frames of 127.0.0.1 are another origin than those of localhost."""
        refused = self.proxy(self.file())
        allowed = self.proxy(self.file(), "--allow-host", "127.0.0.1")
        for proxy in refused, allowed:
            where = urllib.parse.urljoin(proxy.address, "/notebook?far")
            self.browser.requests()
            self.browser.call("POST", "/url", {"url": where.replace("localhost", "127.0.0.1")})
            if proxy is allowed:
                end = time.monotonic() + browser.SECONDS
                while "/api/shelf" not in proxy.asked:
                    self.assertLess(time.monotonic(), end)
                    self.assertEqual(self.browser.log(), [])
            else:
                self.assertIn("frame-ancestors", "".join(self.browser.log()))


if __name__ == "__main__":
    unittest.main()
