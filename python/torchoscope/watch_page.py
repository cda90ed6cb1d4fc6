"""The page of a training in the browser: watch(backend="standalone")."""

import contextlib
import os
import sys

from torchoscope import _core, serving
from torchoscope.watch_ranks import find_rank


class Wanted:
    """The options of watch() about serving."""

    def __init__(self, words, port, host, allow_hosts, token):
        self.on = "standalone" in words
        self._args = host, port, tuple(allow_hosts), token
        usual = (serving.LOCAL, serving.PORT, (), None)
        if not self.on and self._args != usual:
            text = "port, host, allow_hosts and token are for backend='standalone'"
            raise ValueError(text)

    def server(self):
        """A Server that is not started; None: not requested, or another rank serves."""
        if not self.on or find_rank()[0] > 0:
            return None
        return serving.Server(*self._args)


class Page:
    """A server that follows a Watch. Its errors never reach the training."""

    labels = None  # see _core.Server
    stays = False  # after the end of the training

    def __init__(self, server):
        self._server, self._number = server, None

    @property
    def url(self):
        return self._server.url if self._server is not None else None

    @property
    def server(self):
        return self._server

    def begin(self, handle):
        """Serves the model until the first step exists."""
        try:
            model = handle._recorder._model
            live = _core.Model(model, handle._name)
            core = self._server._core
            self._number = core.add_live(handle._name, live, None, None, self.labels)
            self._server._start(say=True)
        except Exception as problem:
            self.close()
            with contextlib.suppress(Exception):  # stderr may be closed
                text = f"torchoscope: no page: {problem}; training continues"
                print(text, file=sys.stderr, flush=True)

    def filed(self, handle):
        """The first step ended: the file exists."""
        if self._server is None:
            return
        path, run, model = None, handle._run, handle._recorder._model
        live = _core.Model(model, handle._name)
        if run is not None:
            path = handle.path
            if handle._target.ranks and handle._group is None:
                path = os.path.dirname(path)
        args = handle._name, run or live, live, path, self.labels
        self._server._core.renew(self._number, *args)

    def pump(self, step):
        """A step ended."""
        if self._server is not None:
            self._server._core.pump(step)

    def close(self):
        """The training ended."""
        if self._server is None or self.stays:
            return
        server, self._server = self._server, None
        with contextlib.suppress(Exception):
            server.close()
