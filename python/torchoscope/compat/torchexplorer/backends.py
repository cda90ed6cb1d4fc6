"""Destinations for the rows of a logged step, and the page that shows them."""

import contextlib
import json
import os
import sys
import tempfile


class Nowhere:
    """backend="none": histograms and structure stay in the process."""

    rows = False

    def update(self, rows):
        pass


class Standalone:
    """backend="standalone": DIR/data/data.json, replaced atomically, so that a reader
    never sees a part of it."""

    rows = True

    def __init__(self, folder, verbose):
        self._path = os.path.join(os.path.abspath(folder), "data", "data.json")
        self._tell = verbose
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        if os.path.exists(self._path):  # of an earlier run
            os.remove(self._path)

    def update(self, rows):
        folder = os.path.dirname(self._path)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(rows, file)
            os.chmod(name, 0o644)
            os.replace(name, self._path)
        except BaseException:
            os.unlink(name)
            raise
        if self._tell:
            print(f"torchoscope: the data of TorchExplorer's page is in {self._path}")
            self._tell = False


class Page:
    """The page at http://localhost:5000, for this machine only and without a token, as
    TorchExplorer promises. It shows a .scope file in the same folder."""

    def __init__(self, module, folder, port, options):
        import torchoscope

        more = {"dir": folder, "port": port, "token": False, "backend": "standalone"}
        more |= {"capsule": False, "on_alarm": None}
        self._watch = torchoscope.watch(module, **options, **more)
        page = self._watch._page
        if page is not None and page.server is not None:
            page.labels = "numbers"  # Input 0, Input 1
            page.filed(self._watch)

    def close(self):
        """End the training and the page."""
        self._watch.close()

    def stay(self):
        """At the end of the process: the training ends, and on a terminal the page stays
        until Ctrl-C."""
        page = self._watch._page
        server = page.server if page is not None else None
        if server is not None:
            page.stays = True
        self._watch.close()
        if server is None:
            return
        if _is_attended():
            with contextlib.suppress(OSError):
                text = f"torchoscope: the page is at {server.url} until Ctrl-C"
                print(text, file=sys.stderr, flush=True)
            server.wait()
        server.close()


def _is_attended():
    """Does the script end on a terminal, without Ctrl-C?"""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return False
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        return False
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (AttributeError, ValueError):  # closed
        return False


class Wandb:
    """backend="wandb": a table and TorchExplorer's chart of it in the current run."""

    rows = True

    def __init__(self, number):
        try:
            import wandb
        except ImportError as error:
            text = "backend='wandb' needs wandb, which is not installed: pip install "
            text += "wandb, or use backend='standalone' or backend='none'"
            raise ImportError(text, name="wandb") from error
        self._wandb, self._name = wandb, f"explorer_chart_{number}"

    def update(self, rows):
        wandb = self._wandb
        if wandb.run is None:
            raise RuntimeError("call wandb.init() before the training")
        keys = list(rows[0])
        table = wandb.Table(columns=keys, data=[[row[k] for k in keys] for row in rows])
        chart = wandb.plot_table(
            vega_spec_name="spfrom_team/torchexplorer_v4a",
            data_table=table,
            fields={key: key for key in keys},
            string_fields={},
        )
        wandb.log({self._name: chart}, commit=False)
