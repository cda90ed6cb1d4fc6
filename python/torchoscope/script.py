"""torchoscope run: runs a script as Python itself would, and watches the largest model
that it trains. torch is not imported before the script does so."""

import atexit
import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shlex
import sys
import types

from torchoscope.targets import Trouble, own_frames


def run(words, options):
    """Run the script `words[0]` (or "-m", module) with the arguments after it. Returns
    if the script does; its exceptions propagate, without our frames."""
    finder = Finder(options)
    if "torch" in sys.modules:
        finder.install()
    else:
        sys.meta_path.insert(0, _WhenImported("torch", finder.install, finder.missing))
    atexit.register(finder.tell)
    try:
        if words[0] == "-m":
            _run_module(words[1:])
        else:
            _run_file(words)
    except (SystemExit, Trouble):
        raise
    except BaseException:
        sys.excepthook = _without_our_frames(sys.excepthook)
        raise


def _main_module(**attributes):
    """An empty __main__, which other modules and multiprocessing find by name."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={}, **attributes)
    sys.modules["__main__"] = main
    return main.__dict__


def _run_file(words):
    path = words[0]
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    sys.argv[:] = words
    if not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    name = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", name)
    main = _main_module(__file__=name, __cached__=None, __loader__=loader)
    exec(compile(source, name, "exec", dont_inherit=True), main)


def _run_module(words):
    if not words:
        raise Trouble("run: -m needs the name of a module")
    import runpy

    sys.argv[:] = ["-m", *words[1:]]
    if not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())
    _main_module()
    runpy._run_module_as_main(words[0])


def _without_our_frames(hook):
    def excepthook(kind, error, trace):
        trace = own_frames(trace)
        hook(kind, error.with_traceback(trace), trace)

    return excepthook


class _WhenImported:
    """A finder that calls then() once, after a module was imported; or missing()."""

    def __init__(self, name, then, missing):
        self._name, self._then, self._missing = name, then, missing

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader = None if spec is None else spec.loader
        if spec is None:
            self._missing()
        if hasattr(loader, "exec_module"):
            loader.exec_module = self._executing(loader, loader.exec_module)
        return spec

    def _executing(self, loader, execute):
        def exec_module(module):
            del loader.exec_module  # the class still has it
            execute(module)
            self._then()

        return exec_module


class Finder:
    """Finds the trained model: of the outermost called modules, the one with the most
    parameters in optimizers. It is known when an optimizer has stepped; the model is
    watched from its next call on."""

    def __init__(self, options):
        self._options = dict(options)
        self._pid = os.getpid()
        self._called = {}  # id of a module -> weak reference, in the order of calls
        self._listener = self._handle = None  # hooks, while it searches
        self._chosen = self._watch = None
        self._others, self._steps = [], 0
        self._why = "the script did not import torch"

    def missing(self):
        """torch is not installed."""
        how = "set TORCHOSCOPE_PYTHON to choose another Python"
        self._why = f"{sys.executable} has no torch; {how}"

    def install(self):
        """torch was imported."""
        try:
            import weakref

            from torchoscope import hooks

            self._why = "no optimizer stepped"
            optim = sys.modules["torch.optim.optimizer"]
            stepped = getattr(optim, "register_optimizer_step_post_hook", None)
            if stepped is None:
                self._why = "this torch has no hooks for optimizers; 2.0 or later has"
                return
            self._reference = weakref.ref
            self._listener = hooks.Listener(self._before, _nothing, _nothing)
            hooks.add(self._listener)
            self._handle = stepped(self._stepped)
        except Exception as error:
            self._why = f"{type(error).__name__}: {error}"

    # --- hooks: the hub ignores their exceptions

    def _before(self, module, *_):
        if id(module) not in self._called:
            self._called[id(module)] = self._reference(module)

    def _stepped(self, *_):
        if self._chosen is not None or os.getpid() != self._pid:
            return
        with contextlib.suppress(Exception):
            self._steps += 1
            found = _trained(self._roots())
            self._why = "no module that was called has parameters of an optimizer"
            if found:
                self._chosen, *self._others = found
                self._why = "the model was not called after the first step"
                self._wait_for_call(self._chosen)

    def _roots(self):
        """Called modules that are not inside other called modules."""
        called = [weak() for weak in list(self._called.values())]
        inside = set()
        for module in called:
            if module is not None and id(module) not in inside:
                inside.update(id(one) for one in module.modules() if one is not module)
        return [one for one in called if one is not None and id(one) not in inside]

    def _wait_for_call(self, module):
        """Watch from the next call on: here torch iterates over its hooks."""
        inner = module.__dict__.get("_compiled_call_impl")

        def first_call(*args, **kwargs):
            from torchoscope import hooks

            called = hooks.called_by(sys._getframe(1), module)
            if called is not module and inner is None:
                return called._call_impl(*args, **kwargs)
            if inner is None:
                del module.__dict__["_compiled_call_impl"]
            else:
                module.__dict__["_compiled_call_impl"] = inner
            self._begin(module)
            return module(*args, **kwargs)

        module.__dict__["_compiled_call_impl"] = first_call

    def _begin(self, module):
        try:
            from torchoscope import hooks, watching

            hooks.remove(self._listener)
            self._handle.remove()
            self._called.clear()
            if watching._watched:
                self._why = "the script calls watch() itself"
            elif os.getpid() == self._pid:
                self._watch = watching.watch(_unwrapped(module), **self._options)
                self._watch._alarms.quiet = True
                self._watch.log(step=self._steps)
        except Exception as error:
            self._why = f"{type(error).__name__}: {error}"

    # --- the end

    def tell(self):
        """One line on stderr."""
        if os.getpid() != self._pid:
            return
        with contextlib.suppress(Exception):
            print(f"torchoscope: {self._line()}", file=sys.stderr, flush=True)

    def _line(self):
        handle = self._watch
        if handle is None or not os.path.exists(handle.path):
            return f"nothing was watched: {self._why}"
        path = shlex.quote(handle._target.shown(handle.path))
        text = f"{handle._alarms.verdict()}; look at it: torchoscope {path}"
        if self._others:
            names = ", ".join(dict.fromkeys(type(one).__name__ for one in self._others))
            text += f" (also trained, not watched: {names})"
        return text


def _nothing(*_):
    pass


def _trained(roots):
    """The roots with parameters of an optimizer, the largest first."""
    import gc

    kind = sys.modules["torch.optim.optimizer"].Optimizer
    found = [one for one in gc.get_objects() if issubclass(type(one), kind)]
    groups = [group for one in found for group in getattr(one, "param_groups", ())]
    owned = {id(param) for group in groups for param in group["params"]}
    sizes = []
    for root in roots:
        own = {id(one): one.numel() for one in root.parameters()}
        size = sum(numel for key, numel in own.items() if key in owned)
        if size:
            sizes.append((size, root))
    return [root for _, root in sorted(sizes, key=lambda pair: -pair[0])]


def _unwrapped(module):
    """The model inside torch.compile() and DistributedDataParallel."""
    while True:
        if "_orig_mod" in module._modules:
            module = module._modules["_orig_mod"]
        elif type(module).__name__ == "DistributedDataParallel":
            module = module.module
        else:
            return module
