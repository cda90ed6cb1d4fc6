"""serve(): a page in the browser for live models, recordings and files."""

import atexit
import contextlib
import html
import importlib.util
import os
import sys
import threading
import weakref

from torchoscope import _core
from torchoscope import open as open_file
from torchoscope.notebook import Displayed
from torchoscope.shown import Shown

PORT = 8080
LOCAL = "127.0.0.1"
_TRIES = 20  # ports
_IDLE = 0.05  # seconds between two checks for requests

_open = set()  # each Server that is not closed


def serve(
    what, port=PORT, host=LOCAL, allow_hosts=(), open=False, token=None, name=None
):
    """Serve a page in the browser, from threads that never block Python.

    what         a live module, a recording, a model, a Watch, the path of a file or
                 folder, or a list of these
    port 0: any free port; a taken one: the next free one
    host         the address to listen on; by default this machine only
    allow_hosts  additional accepted host names, for proxies
    open         open the page in the browser
    token        the secret part of the address, 16 to 64 letters and digits; None: a
                 random one; False: none, on this machine only
    name         the name of a live module; by default its class

    Returns a Server. It serves until close() or the end of the process, which it does
    not keep alive. docs/python.md has the details.
    """
    things = list(what) if isinstance(what, (list, tuple)) else [what]
    if not things:
        raise ValueError("serve() needs a model, a recording or a path")
    server = Server(host, port, allow_hosts, token)
    try:
        for thing in things:
            server._add(thing, name)
        server._start(say=True)
    except BaseException:
        server.close()
        raise
    if open:
        _open_browser(server.url)
    return server


class Server(Displayed):
    """A server of a page; made by serve(). Use it as a context manager, or call close()."""

    def __init__(self, host, port, allow_hosts, token):
        if isinstance(allow_hosts, str):
            allow_hosts = [allow_hosts]
        self._core = _core.Server(host, port, _TRIES - 1, list(allow_hosts), token)
        self._wanted, self._url = port, None
        self._held = []  # live modules
        self._hook = None
        self._ended = threading.Event()
        self._steps = 0

    # --- for users

    @property
    def url(self):
        """The address of the page."""
        return self._url

    @property
    def port(self):
        """Its port, an int."""
        return self._port

    def pump(self):
        """Answer pending requests that need Python (values and attributes of live
        models). Called automatically at the end of each optimizer step, in wait(), and
        between the cells of a notebook. Returns the number of answers."""
        return self._core.pump()

    def wait(self):
        """Serve until Ctrl-C or until another thread calls close(), then close."""
        with contextlib.suppress(KeyboardInterrupt):
            while self._core.mine and not self._ended.wait(_IDLE):
                self._core.pump()
        self.close()

    def close(self):
        """End the server. Further calls do nothing."""
        _open.discard(self)
        hook, self._hook = self._hook, None
        if hook is not None:
            hook.remove()
        self._core.close()
        self._held.clear()
        self._ended.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        return False

    def __repr__(self):
        state = self._url if self._core.mine and self._url else "closed"
        return f"<torchoscope.Server {state}>"

    # --- what is served

    def _add(self, thing, name=None):
        from_file = _path_of(thing)
        if from_file is not None:
            self._core.add(from_file)
            return
        if _is_watch(thing):
            self._add_watch(thing)
            return
        live = None
        if not isinstance(thing, Shown):
            name = name or type(thing).__name__
            thing = open_file(thing)
        core = thing._now()
        if isinstance(core, _core.Run):
            live = thing._alive()
            (getattr(thing, "recording", None) or thing)._keep_code()
        self._held += [thing, live]
        if live is not None:
            live = _core.Model(live, type(live).__name__)
        self._core.add_live(name or "", core, live)

    def _add_watch(self, watch):
        """A training that is being watched, or the model until its first step ended."""
        live = _core.Model(watch._recorder._model, watch._name)
        self._held += [watch]
        path = watch.path if watch._run is not None else None
        self._core.add_live(watch._name, watch._run or live, live, path)

    def _start(self, say):
        self._core.start()
        self._port, self._url = self._core.port, self._core.address
        _open.add(self)
        if self._held:
            self._watch_steps()
            _pump_between_cells(self)
        if say:
            self._say()

    def _say(self):
        """One line with the address; another one over SSH."""
        taken = f" (port {self._wanted} is taken)" if self._is_moved() else ""
        lines = [f"{self._url}{taken}", *self._notes()]
        with contextlib.suppress(Exception):  # stderr may be closed
            for line in lines:
                print(f"torchoscope: {line}", file=sys.stderr, flush=True)

    def _is_moved(self):
        return self._wanted not in (0, self._port)

    def _notes(self):
        """Further lines to print with the address."""
        if not self._core.local:
            yield (
                "warning: other machines can reach this page; whoever has its "
                "address sees all that is served, over an unencrypted connection"
            )
        if (tunnel := self._core.tunnel) is not None:
            yield f"from your own machine: {tunnel}"

    def _watch_steps(self):
        from torchoscope import step_hooks

        weak = weakref.ref(self)

        def stepped(*_):
            server = weak()
            if server is not None:
                with contextlib.suppress(Exception):
                    server._steps += 1
                    server._core.pump(server._steps)

        self._hook = step_hooks.after(stepped)

    # --- in a notebook

    def _notebook(self):
        return link_html(self)


def link_html(server):
    """A link to the page, and the page where a proxy of Jupyter leads to it."""
    if server is None or not server._core.mine:
        return "<p>The page of torchoscope is closed.</p>"
    address = html.escape(server.url, quote=True)
    text = f'<p><a href="{address}" target="_blank">{address}</a></p>'
    if importlib.util.find_spec("jupyter_server_proxy") is None:
        return text
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/")
    query = server.url.partition("/?")[2]
    inside = html.escape(f"{prefix}proxy/{server.port}/?{query}", quote=True)
    frame = f'<iframe src="{inside}" width="100%" height="700" title="torchoscope"'
    return f"{text}{frame}></iframe>"


# --- helpers


def _is_watch(thing):
    watching = sys.modules.get("torchoscope.watching")
    return watching is not None and isinstance(thing, watching.Watch)


def _path_of(thing):
    """The path, if it is a file, or was read from one."""
    if isinstance(thing, (str, bytes, os.PathLike)):
        return thing
    if _is_watch(thing):
        return thing.path if thing._closed else None
    if isinstance(thing, Shown):
        core = thing._now()
        if isinstance(core, _core.Model):
            return None if core.live else core.show(0)["path"]
        source = getattr(thing, "_source", None)
        return source if isinstance(source, (str, bytes, os.PathLike)) else None
    return None


def _open_browser(url):
    import webbrowser

    with contextlib.suppress(Exception):
        webbrowser.open(url)


def _pump_between_cells(server):
    """The kernel of a notebook has a loop that runs between the cells."""
    from torchoscope.explorer import in_notebook

    if not in_notebook():
        return
    import asyncio

    weak = weakref.ref(server)

    def look():
        one = weak()
        if one is not None and one._core.mine:
            with contextlib.suppress(Exception):
                one._core.pump()
            loop.call_later(2 * _IDLE, look)

    with contextlib.suppress(RuntimeError):
        loop = asyncio.get_running_loop()
        loop.call_later(_IDLE, look)


@atexit.register
def _close_all():
    for server in list(_open):
        with contextlib.suppress(Exception):
            server.close()
