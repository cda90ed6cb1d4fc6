"""Loads targets of the command line: model.py::make, package.module::make(3).

A target consists of names, attributes and at most one call with literal arguments;
nothing is evaluated. Tracebacks of the user's code omit torchoscope's frames.
"""

import ast
import contextlib
import difflib
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import traceback

OURS = os.path.dirname(os.path.abspath(__file__))


class Trouble(Exception):
    """An error message for the user, and lines to print before it."""

    def __init__(self, sentence, lines=()):
        super().__init__(sentence)
        self.lines = lines


def load(target):
    """The object that the target names, or the result if it is a function."""
    place, _, expression = target.partition("::")
    names, arguments = _parsed(target, expression)
    found = module_of(target)
    for name in names:
        found = _member(target, place, found, name)
    if arguments is None and not _is_called(found):
        return found
    args, kwargs = arguments or _no_arguments(found)
    _check_call(target, found, args, kwargs)
    with user_code(target):
        return found(*args, **kwargs)


def _is_called(found):
    import torch

    # Models are callable too, but are not called here.
    ready = isinstance(found, (torch.nn.Module, torch.Tensor))
    return callable(found) and not ready


def _no_arguments(found):
    """Default arguments: for a model class of transformers, its default config."""
    kind = getattr(found, "config_class", None)
    if inspect.isclass(found) and inspect.isclass(kind):
        return (kind(),), {}
    return (), {}


# --- parsing


def _parsed(target, expression):
    """(names, None) or (names, (args, kwargs)) of `a.b` or `a.b(3, deep=True)`."""
    how = f"{target}: write FILE.py::NAME or FILE.py::NAME(plain values)"
    if not expression.strip():
        raise Trouble(f"{target} names nothing in it; write {target}NAME")
    try:
        node = ast.parse(expression.strip(), mode="eval").body
        arguments = None
        if isinstance(node, ast.Call):
            args = tuple(ast.literal_eval(one) for one in node.args)
            kwargs = {one.arg: ast.literal_eval(one.value) for one in node.keywords}
            if None in kwargs:
                raise ValueError("**")
            arguments, node = (args, kwargs), node.func
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        return [node.id, *reversed(names)], arguments
    except (SyntaxError, ValueError, AttributeError, MemoryError, RecursionError):
        raise Trouble(how) from None


# --- modules

_loaded = {}  # real path -> module


def module_of(target):
    """The module that the target's file or package name stands for."""
    place = target.partition("::")[0]
    if place.endswith(".py") or os.sep in place:
        return _of_file(target, place)
    _search_first(os.getcwd())
    try:
        with user_code(target, but=ModuleNotFoundError):
            return importlib.import_module(place)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if f"{place}.".startswith(f"{missing}."):
            hint = f"; write {place}.py::" if os.path.exists(f"{place}.py") else ""
            text = f"{sys.executable} has no module {missing!r}{hint}"
            raise Trouble(text) from None
        raise _as_error(target, error) from None
    except (TypeError, ValueError):
        raise Trouble(f"{target}: {place!r} is neither a file nor a module") from None


def _of_file(target, path):
    real = os.path.realpath(path)
    if real in _loaded:
        return _loaded[real]
    if not os.path.isfile(path):
        why = "it is a folder" if os.path.isdir(path) else "no such file"
        raise Trouble(f"{path}: {why}")
    _search_first(os.path.dirname(real))
    name = _free_name(os.path.splitext(os.path.basename(path))[0])
    spec = importlib.util.spec_from_file_location(
        name, real, loader=importlib.machinery.SourceFileLoader(name, real)
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look there
    with user_code(target):
        spec.loader.exec_module(module)
    _loaded[real] = module
    return module


def _free_name(stem):
    """A module name that is not in use: a file random.py must not replace Python's."""
    name = "".join(c if c.isalnum() else "_" for c in stem)
    while name in sys.modules or name in sys.stdlib_module_names:
        name += "_"
    return name


def _search_first(folder):
    """Put a folder first in sys.path, as Python does for a script in it."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _member(target, place, holder, name):
    with user_code(target, but=AttributeError), contextlib.suppress(AttributeError):
        return getattr(holder, name)
    known = [one for one in dir(holder) if not one.startswith("_")]
    near = difflib.get_close_matches(name, known, 1)
    text = f"{target}: there is no {name!r}"
    if near:
        raise Trouble(f"{text}; did you mean {near[0]}?")
    own = [one for one in known if _is_from(getattr(holder, one, None), holder)]
    raise Trouble(f"{text}; there are {', '.join(own[:8])}" if own else text)


def _is_from(found, holder):
    name = getattr(found, "__module__", None)
    return callable(found) and name == getattr(holder, "__name__", "")


def _check_call(target, found, args, kwargs):
    if not callable(found):
        kind = type(found).__name__
        raise Trouble(f"{target}: it is a {kind}, which cannot be called")
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = target.partition("(")[0]
        text = f"{name} takes {shown_signature(signature)}: {error}"
        if not args and not kwargs:
            text += f"; write '{name}(...)' with plain values"
        raise Trouble(text) from None


def shown_signature(signature):
    """Its parameters, without annotations."""
    empty = inspect.Parameter.empty
    short = [one.replace(annotation=empty) for one in signature.parameters.values()]
    text = str(inspect.Signature(short))
    return text if len(text) <= 300 else text[:300] + "…)"


# --- the user's code


@contextlib.contextmanager
def user_code(target, but=()):
    """Reports exceptions of the block as errors in the user's code."""
    try:
        yield
    except (KeyboardInterrupt, Trouble):
        raise
    except but:
        raise
    except SystemExit as error:
        raise Trouble(f"{target}: it called sys.exit({error.code!r})") from None
    except BaseException as error:
        raise _as_error(target, error) from None


def _as_error(target, error):
    lines = traceback.format_exception(type(error), error, own_frames(error.__traceback__))
    return Trouble(f"{target}: {first_line(error)}", lines)


def own_frames(trace):
    """The traceback without the frames that lead to the user's code."""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((OURS + os.sep, "<frozen importlib", "<frozen runpy")):
            if name != importlib.__file__:
                break
        trace = trace.tb_next
    return trace


def first_line(error):
    """'ValueError: no such width'"""
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name
