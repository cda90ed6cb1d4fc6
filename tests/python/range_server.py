"""A web server for tests that serves ranges of files, correctly or not.

with range_server.Server(folder) as server:
    server.url("x.pth")        # use /stall/x.pth and similar for a misbehaving server
    server.bytes               # sent so far, without headers
    server.requests            # [(path, range, status)]
"""

import http.server
import re
import threading
import urllib.parse
from pathlib import Path


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server.owner
        parts = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).split("/")
        way = parts[1] if len(parts) > 2 else "honest"
        path = server.folder / parts[-1]
        asked = self.headers.get("Range", "")
        self.status = 200
        server.asked.set()
        try:
            getattr(self, way)(path, asked)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        server.requests.append((self.path, asked, self.status))

    def answer(self, status, body=b"", length=None, **fields):
        self.status = status
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.server.owner.bytes += len(body)
        self.wfile.write(body)

    def part(self, path, asked):
        """(first, last, total) of a range; None: it is beyond the end."""
        total = path.stat().st_size
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", asked).groups())
        return (first, min(last, total - 1), total) if first < total else None

    def version(self, path):
        stat = path.stat()
        return f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'

    def honest(self, path, asked, **fields):
        if not path.exists():
            return self.answer(404, b"none")
        fields.setdefault("ETag", self.version(path))
        if self.headers.get("If-None-Match") == fields["ETag"]:
            return self.answer(304, ETag=fields["ETag"])
        part = self.part(path, asked)
        if not part:
            return self.answer(416)
        with open(path, "rb") as file:
            file.seek(part[0])
            body = file.read(part[1] - part[0] + 1)
        said = "bytes %d-%d/%d" % part
        self.answer(206, body, **{"Content_Range": said, **fields})

    # ---- misbehaving, broken and unusual servers

    def whole(self, path, asked):
        self.answer(200, path.read_bytes(), ETag=self.version(path))

    def redirect(self, path, asked):
        self.answer(302, Location=f"/honest/{path.name}")

    def around(self, path, asked):
        self.answer(302, Location=f"/around/{path.name}")

    def elsewhere(self, path, asked):
        self.answer(302, Location=f"file://{path}")

    def refuse(self, path, asked):
        self.answer(403)

    def fail(self, path, asked):
        self.answer(503)

    def shifted(self, path, asked):
        first, last, total = self.part(path, asked)
        body = path.read_bytes()[first + 1 : last + 2]
        self.answer(206, body, Content_Range=f"bytes {first + 1}-{last + 1}/{total}")

    def short(self, path, asked):
        first, last, total = self.part(path, asked)
        body = path.read_bytes()[first:last]
        self.answer(206, body, Content_Range=f"bytes {first}-{last}/{total}")

    def more(self, path, asked):
        first, last, total = self.part(path, asked)
        body = path.read_bytes()[first : last + 1] + b"x" * 100_000
        self.answer(206, body, Content_Range=f"bytes {first}-{last}/{total}")

    def unsaid(self, path, asked):
        first, last, _ = self.part(path, asked)
        self.answer(206, path.read_bytes()[first : last + 1])

    def endless(self, path, asked):
        first, last, _ = self.part(path, asked)
        self.answer(
            206,
            path.read_bytes()[first : last + 1],
            Content_Range=f"bytes {first}-{last}/*",
        )

    def packed(self, path, asked):
        self.honest(path, asked, Content_Encoding="gzip")

    def changes(self, path, asked):
        self.honest(path, asked, ETag=f'"{len(self.server.owner.requests)}"')

    def grows(self, path, asked):
        first, last, total = self.part(path, asked)
        total += len(self.server.owner.requests)
        self.answer(
            206,
            path.read_bytes()[first : last + 1],
            Content_Range=f"bytes {first}-{last}/{total}",
        )

    def cut(self, path, asked):
        first, last, total = self.part(path, asked)
        self.answer(
            206,
            path.read_bytes()[first : (first + last) // 2],
            length=last - first + 1,
            Content_Range=f"bytes {first}-{last}/{total}",
        )
        self.close_connection = True

    def stall(self, path, asked):
        first, last, total = self.part(path, asked)
        self.answer(
            206,
            path.read_bytes()[first : first + 10],
            length=last - first + 1,
            Content_Range=f"bytes {first}-{last}/{total}",
        )
        self.server.owner.over.wait()
        self.close_connection = True

    def silent(self, path, asked):
        self.server.owner.over.wait()
        self.close_connection = True

    def old(self, path, asked):
        self.protocol_version = "HTTP/1.0"
        self.honest(path, asked)

    def garbage(self, path, asked):
        self.wfile.write(bytes(range(256)) * 10 + b"\r\n\r\n")
        self.close_connection = True


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


class Server:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.requests, self.bytes = [], 0
        self.over = threading.Event()
        self.asked = threading.Event()
        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.http.owner = self
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def url(self, name, way="honest"):
        return (
            f"http://127.0.0.1:{self.http.server_port}/{way}/{urllib.parse.quote(name)}"
        )

    def forget(self):
        self.requests, self.bytes = [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
