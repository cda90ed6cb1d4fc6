"""Live models on the command line: explore, summary, record, memory, diff, export,
ops, graph, serve and replay of model.py::make; run of a script. src/cli parses the arguments; see
docs/python.md, "The shell"."""

import contextlib
import inspect
import os
import re
import shlex
import sys
import traceback
from collections.abc import Mapping

from torchoscope import _core
from torchoscope.targets import (
    OURS,
    Trouble,
    first_line,
    load,
    shown_signature,
    user_code,
)

FINE, FINDINGS, TROUBLE, INTERRUPTED = 0, 1, 2, 130


class _NotRun(Trouble):
    """No inputs for a pass."""


def run(command, words, options, page, by_program=False):
    """Run a command and return the exit status."""
    try:
        import_torch(by_program)
        # The user's file sees argv of a script without arguments.
        target = next((word for word in words or () if "::" in word), "")
        sys.argv[:] = [target.partition("::")[0]]
        status = _COMMANDS[command](words or [], options, page)
        sys.stdout.flush()
        return status
    except Trouble as trouble:
        sys.stdout.flush()
        sys.stderr.writelines(trouble.lines)
        _say(str(trouble))
        return TROUBLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe. Avoid a second error when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE


def run_script(words, options):
    """torchoscope run: returns or raises as the script does."""
    from torchoscope import script

    wanted = {name.replace("-", "_"): value for name, value in options.items()}
    wanted["capsule"] = not wanted.pop("no_capsule", False)
    try:
        if not 0 < wanted.get("budget", 0.5) < 1:
            raise Trouble("run: --budget must be between 0 and 1")
        if wanted.get("log_freq") == 0:
            raise Trouble("run: --log-freq must be 1 or more")
        script.run(words, wanted)
    except Trouble as trouble:
        _say(str(trouble))
        return TROUBLE
    return FINE


def _say(sentence):
    print(f"torchoscope: {sentence}", file=sys.stderr, flush=True)


def import_torch(by_program=False):
    """Import torch, and print which one it is if `by_program`."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise Trouble(f"{sys.executable}: torch: {error}") from None
        hint = "set TORCHOSCOPE_PYTHON to choose another Python"
        raise Trouble(f"{sys.executable} has no torch; {hint}") from None
    except Exception as error:
        raise Trouble(f"{sys.executable}: torch: {first_line(error)}") from None
    if by_program:
        _say(f"with {sys.executable}, torch {torch.__version__}")


# --- commands


def _summary(words, options, page):
    target = _one(words, "TARGET")
    model, found, error = _look(target, options, _quiet_if(page["json"] or page["csv"]))
    _write(_as_text(found, options, page))
    return _tell(target, model, found, error)


def _explore(words, options, page):
    """The explorer on a terminal; otherwise, or with --json or --csv, the output of
    summary."""
    if "diff" in options:
        if len(words) != 1:
            raise Trouble("usage: torchoscope explore LEFT --diff RIGHT")
        return _explore_diff(words[0], options["diff"], options, page)
    prints = options.get("print") is not None
    if page["json"] or page["csv"] or not (prints or sys.stdout.isatty()):
        return _summary(words, options, page)
    from torchoscope.explorer import live_core, on_terminal

    target = _one(words, "TARGET")
    model, found, error = _look(target, options, _quiet_if(prints))

    def again():
        found, error = _pass(model, target, options)
        if found.recording is None:
            raise error or Trouble(_not_run(model))
        return found._now(), live_core(model)

    look = _look_of(options, page)
    if "columns" in options:
        look.setdefault("labels", f"name,type,args,{options['columns']}")
    record = again if found.recording else None
    screen = on_terminal(found, model, record, **look)
    if prints or not screen:
        _write(screen or _as_text(found, options, page))
    return _tell(target, model, found, error)


def _explore_diff(left, right, options, page):
    from torchoscope import terminal

    things = [_thing(word) for word in (left, right)]
    sides = [_side(thing, word) for thing, word in zip(things, (left, right))]
    look = _look_of(options, page)
    structure = options.get("structure", False)
    prints, screen = options.get("print") is not None, False
    if prints or sys.stdout.isatty():
        screen = terminal.show(sides[0], beside=sides[1], structure=structure, **look)
    if not screen:
        command = f"torchoscope diff {shlex.quote(left)} {shlex.quote(right)}"
        raise Trouble(f"--diff is for the explorer; {command} prints what differs")
    if prints:
        _write(screen)
    return FINE


def _look_of(options, page):
    look = dict(page["view"])
    if options.get("print") is not None:
        look["columns"], look["rows"] = _size(options["print"])
    colour = None if page["colour"] else "never"
    return {**look, "ascii": page["ascii"], "colour": colour}


def _size(text):
    """Parses "120x36", or "" for the default."""
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text or "80x24")
    size = tuple(map(int, found.groups())) if found else (0, 0)
    if not all(0 < n <= 2000 for n in size):
        raise Trouble(f'--print is a size like 120x36, not "{text}"')
    return size


def _record(words, options, page):
    target = _one(words, "TARGET")
    model, found, error = _look(target, options, contextlib.nullcontext())
    if found.recording is None:
        raise Trouble(f"{target}: {_not_run(model)}")
    path = options.get("output") or f"{type(model).__name__}.scope"
    with _writing(path):
        found.recording.save(path)
    calls = len(found.recording.calls())
    _say(f"wrote {path}, {calls} calls; look at it: torchoscope {shlex.quote(path)}")
    return _tell(target, model, found, error)


def _memory(words, options, page):
    from torchoscope.memories import memory

    target = _one(words, "TARGET")
    if page["csv"]:
        raise Trouble("memory: there is no --csv; --json has all figures")
    names = ("batch", "dtype", "device", "limit", "margin", "measure")
    wanted = {name: options[name] for name in names if name in options}
    wanted["batch_dim"] = options.get("batch-dim", 0)
    wanted["training"] = not options.get("infer")
    optimizer = options.get("optimizer", "adam")
    wanted["optimizer"] = None if optimizer.lower() == "none" else optimizer
    with _quiet_if(page["json"]):
        model = _model(target)
        args, kwargs = _inputs(options.get("inputs", ()))
        try:
            found = memory(model, *args, kwargs=kwargs, **wanted)
        except (TypeError, ValueError, RuntimeError) as error:
            text = f"{first_line(error)}{_where(error)}; {_wants(model)}"
            raise Trouble(f"{target}: {text}") from None
    _write(found.to_json() if page["json"] else str(found))
    return FINDINGS if found.largest_batch == 0 else FINE


def _export(words, options, page):
    target = _one(words, "TARGET", "-o OUTPUT")
    path = options.get("output")
    if path is None:
        raise Trouble("usage: torchoscope export TARGET -o OUTPUT")
    if page["json"] or page["csv"]:
        raise Trouble("export: use -o NAME.json or -o NAME.csv")
    form = options.get("form") or _form_of(path)
    _check_form(form, path)
    names = ("columns", "depth", "filter", "title", "theme")
    wanted = {name: options[name] for name in names if name in options}
    to_output = path == "-"
    model, found, error = _look(target, options, _quiet_if(to_output))
    wanted = found._in_full(wanted)
    with _writing(path), _sentence("export"):
        if to_output:
            _write(found._core.export(form, **wanted))
        else:
            found._core.write(path, form=form, **wanted)
    return _tell(target, model, found, error)


def _diff(words, options, page):
    if len(words) != 2:
        raise Trouble("usage: torchoscope diff LEFT RIGHT")
    if page["csv"]:
        raise Trouble("diff: --csv is not supported; use --json")
    form = "json" if page["json"] else "markdown" if options.get("md") else "text"
    if options.get("progress"):
        raise Trouble("diff: --progress is for two files; this reads a live model")
    names = ("structure", "rtol", "atol", "tolerance", "all")
    wanted = {name: options[name] for name in names if name in options}
    wanted |= {name: page[name] for name in ("width", "ascii", "colour")}
    with _quiet_if(form != "text" or options.get("quiet")):
        things = [_thing(word) for word in words]  # keeps them alive
    left, right = (_side(thing, word) for thing, word in zip(things, words))
    found = _core.diff(left, right, **wanted)
    if not options.get("quiet"):
        _write(found[form])
    return FINE if found["equal"] else FINDINGS


def _thing(word):
    """A live model, or an open file."""
    if "::" in word and not os.path.exists(word):
        return _model(word)
    from torchoscope import open as open_file

    try:
        return open_file(word)
    except (OSError, ValueError, _core.Error) as error:
        raise Trouble(str(error)) from None


def _side(thing, word):
    ours = type(thing).__module__.partition(".")[0] == "torchoscope"
    return thing._now() if ours else _core.Model(thing, word)


# Formats of recordings only: a model alone cannot be written so.
_OF_RUNS = ("history.json", "ops.json", "trace.json")


def _form_of(path):
    name = os.path.basename(path).lower()
    for form in _OF_RUNS:
        if name.endswith(f".{form}"):
            return form
    return os.path.splitext(name)[1].lstrip(".")


def _check_form(form, path):
    """Check the format before the model runs, which may take minutes."""
    import torch

    if not form:
        raise Trouble(f"export: the suffix of {path} is not a known format; set it with --form")
    if form == "ops.json":
        how = "torchoscope ops TARGET --json writes the operations of a live model"
        raise Trouble(f"export: ops.json is for recordings; {how}")
    if form == "history.json":
        how = "torchoscope.watch() writes them"
        raise Trouble(f"export: history.json is for training runs; {how}")
    if form not in _OF_RUNS:
        with _sentence("export"):
            _core.Model(torch.nn.Identity(), "").export(form)


def _ops(words, options, page):
    """Record one pass, and let the program list the operations of that recording."""
    target = _one(words, "TARGET")
    if options.get("unique"):
        return _unique(target, options, page)
    if "dir" in options:
        raise Trouble("ops: --dir is for --unique")
    with _quiet_if(page["json"] or page["csv"]):
        model = _model(target)
        recording, error = _trace(model, target, options)
    return _of_recording("ops", recording, _ops_words(options, page), target, model, error)


def _of_recording(command, recording, words, target, model, error):
    """Let the program run a command for a recording."""
    import tempfile  # not at the top: the user may have a random.py

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{type(model).__name__}.scope")
        with _writing(path):
            recording.save(path)
        sys.stdout.flush()
        status = _core.main("torchoscope", command, path, *words)
    if error is not None:
        raise _raised(target, model, error)
    return status


def _graph(words, options, page):
    """Record one pass, and let the program draw that recording."""
    if page["json"] or page["csv"]:
        raise Trouble("graph: use -o NAME.json")
    if "diff" in options:
        if len(words) != 1:
            raise Trouble("usage: torchoscope graph OLD --diff NEW [-o OUTPUT]")
        return _graph_diff([words[0], options["diff"]], options)
    target = _one(words, "TARGET")
    with _quiet_if(options.get("output") == "-"):
        model = _model(target)
        backward = True if options.get("color") == "grad" else None
        recording, error = _trace(model, target, options, backward)
    given = _given(options, ("inputs", "train"))
    return _of_recording("graph", recording, given, target, model, error)


def _given(options, without):
    """The options as words of a command line."""
    words = []
    for name, value in options.items():
        if name not in without:
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


def _graph_diff(targets, options):
    """Two networks, of which at least one is a model: record a pass of it."""
    import tempfile  # not at the top: the user may have a random.py

    failed = None
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, target in enumerate(targets):
            if "::" not in target or os.path.exists(target):
                paths.append(target)
                continue
            with _quiet_if(options.get("output") == "-"):
                model = _model(target)
                backward = True if options.get("color") == "grad" else None
                recording, error = _trace(model, target, options, backward)
            # The picture names the two by the ends of these paths.
            side = os.path.join(folder, ("old", "new")[number])
            os.mkdir(side)
            paths.append(os.path.join(side, f"{os.path.basename(target)}.scope"))
            recording.save(paths[-1])
            if error is not None and failed is None:
                failed = _raised(target, model, error)
        words = _given(options, ("inputs", "train", "diff"))
        sys.stdout.flush()
        words = ["graph", paths[0], "--diff", paths[1], *words]
        status = _core.main("torchoscope", *words)
    if failed is not None:
        raise failed
    return status


def _trace(model, target, options, backward=None):
    """(Recording with operations, exception of the pass or None). With --train also a
    backward."""
    from torchoscope.inputs import Inputs
    from torchoscope.restore import roots_of
    from torchoscope.traces import warm_trace

    args, kwargs = _inputs(options.get("inputs", ()))
    train = options.get("train", False)
    with user_code(target):
        if Inputs(model, args, kwargs).is_empty:
            raise _NotRun(f"{target}: {_not_run(model)}")
        if train:
            for root in roots_of(model).values():
                root.train()
        try:
            backward = train if backward is None else backward
            return warm_trace(model, args, kwargs, backward=backward), None
        except Exception as error:
            if not hasattr(error, "recording"):
                raise
            return error.recording, error


def _serve(words, options, page):
    """Files, and live models of which a pass was recorded if there are inputs for it."""
    import signal

    from torchoscope import serving

    if page["json"] or page["csv"]:
        raise Trouble("serve: --json and --csv are not supported")
    port, host = options.get("port", serving.PORT), options.get("host", serving.LOCAL)
    if port > 65535:
        raise Trouble("serve: --port is a number from 0 to 65535; 0: any free one")
    with contextlib.redirect_stdout(sys.stderr):  # stdout has only the address
        things = [(*_served(word, options), word) for word in words]
    with _reading("serve"):
        server = serving.Server(host, port, options.get("allow-host", ()), None)
        for thing, _, word in things:  # the models live as long as this list
            server._add(thing, word)
        server._start(say=False)
    for one in (signal.SIGINT, signal.SIGTERM):  # also before wait()
        signal.signal(one, lambda *_: server._ended.set())
    if server._is_moved():
        _say(f"port {port} is taken; this is port {server.port}")
    _write(server.url)
    sys.stdout.flush()
    for note in server._notes():
        _say(note)
    if options.get("open"):
        serving._open_browser(server.url)
    server.wait()
    return FINE


def _served(word, options):
    """(the thing to serve, the live model or None): a path, a recording of one pass, or
    a model that was not run."""
    if "::" not in word or os.path.exists(word):
        return word, None
    model = _model(word)
    try:
        recording, error = _trace(model, word, options)
    except _NotRun as why:
        _say(str(why))
        return model, model
    if error is not None:
        _say(str(_raised(word, model, error)))
    return recording, model


def _ops_words(options, page):
    """The options of ops that are passed to the program."""
    words = []
    for name in ("sort", "top", "phase", "allow-ops"):
        if name in options:
            words += [f"--{name}", str(options[name])]
    words += [f"--{name}" for name in ("json", "csv", "ascii") if page[name]]
    return words


def _unique(target, options, page):
    """unique_modules.json and pytorch_ops.json, as tt-model-analysis writes them."""
    for name in ("sort", "top", "phase", "allow-ops", "train"):
        if name in options:
            raise Trouble(f"ops: --{name} does not go with --unique")
    if page["json"] or page["csv"]:
        raise Trouble("ops: --unique writes its files to --dir; it takes no --json, --csv")
    inputs = options.get("inputs", ())
    if len(inputs) != 1 or "::" not in inputs[0]:
        raise Trouble("ops: --unique needs --inputs FILE.py::FUNCTION, once")
    from torchoscope.compat.model_analysis import cli

    words = ["--model-path", target, "--inputs-path", inputs[0]]
    return cli.main(words + (["--dir", options["dir"]] if "dir" in options else []))


def _replay(words, options, page):
    """Run the step of a capsule again; status 1: a value is not finite again."""
    from torchoscope.replaying import replay

    if len(words) != 2 or "::" in words[0]:
        raise Trouble("usage: torchoscope replay CAPSULE TARGET [-o FILE]")
    if page["json"] or page["csv"]:
        raise Trouble("replay: it prints text only; -o saves the recording")
    path, target = words
    model = _model(target)
    with _reading(path):
        found = replay(path, model)
    _write(str(found))
    if "output" in options:
        with _writing(options["output"]):
            found.recording.save(options["output"])
        _say(f"wrote {options['output']}")
    return FINDINGS if found.reproduced else FINE


@contextlib.contextmanager
def _reading(path):
    try:
        yield
    except (OSError, ValueError, _core.Error) as error:
        text = str(error)
        raise Trouble(text if text.startswith(path) else f"{path}: {text}") from None


_COMMANDS = {
    "explore": _explore,
    "summary": _summary,
    "record": _record,
    "memory": _memory,
    "diff": _diff,
    "export": _export,
    "ops": _ops,
    "graph": _graph,
    "replay": _replay,
    "serve": _serve,
}


def _one(words, *names):
    if len(words) != 1:
        raise Trouble(f"one model at a time: {' '.join(names)}")
    if "::" not in words[0]:
        raise Trouble(f"{words[0]}: code in a file is not run; write FILE.py::NAME")
    return words[0]


# --- one pass


def _look(target, options, quiet):
    """(model, Summary of one pass, exception of the pass or None)"""
    from torchoscope.restore import roots_of

    with quiet:
        model = _model(target)
        if options.get("train"):
            with user_code(target):
                for root in roots_of(model).values():
                    root.train()
        found, error = _pass(model, target, options)
    return model, found, error


def _pass(model, target, options):
    """(Summary, exception of the pass or None)"""
    from torchoscope.summaries import look

    args, kwargs = _inputs(options.get("inputs", ()))
    with user_code(target):
        return look(
            model,
            args,
            kwargs,
            mode=options.get("mode", "full"),
            backward=options.get("train", False),
            keep=options.get("keep"),
            warmup=False if options.get("no-warmup") else None,
        )


def _model(target):
    from torchoscope.restore import roots_of

    model = load(target)
    if not roots_of(model):
        kind = type(model).__name__
        article = "an" if kind[0] in "AEIOUaeiou" else "a"
        text = f"it gives {article} {kind}, and no torch.nn.Module in it"
        raise Trouble(f"{target}: {text}")
    return model


def _wants(model):
    """'Net.forward takes (x, mask=None)'"""
    call = getattr(model, "forward", model)
    name = f"{type(model).__name__}.forward"
    try:
        return f"{name} takes {shown_signature(inspect.signature(call))}"
    except (TypeError, ValueError):
        return f"what {name} takes is not known"


def _inputs(words):
    """(args, kwargs) for forward."""
    from torchoscope.inputs import parse_shape

    args, kwargs = [], {}
    for word in words:
        if "::" in word:
            given = load(word)
            if isinstance(given, Mapping):
                kwargs.update(given)
            elif type(given) is tuple and not all(type(one) is int for one in given):
                args.extend(given)
            else:
                args.append(given)
            continue
        with _sentence("--inputs"):
            shape = parse_shape(word)
        if shape is None:
            how = "write 1x3x224x224, 8x128:int64 or FILE.py::FUNCTION"
            raise Trouble(f"--inputs {word}: {how}")
        args.append(word)
    return args, kwargs


# --- output


def _as_text(found, options, page):
    if page["json"]:
        return found._core.json("tree")
    if page["csv"]:
        return found._core.export("csv")
    names = ("columns", "depth")
    wanted = {name: options[name] for name in names if name in options}
    wanted |= {"ascii": page["ascii"], "colour": page["colour"]}
    with _sentence("--columns"):
        return found.tree(width=page["width"] or None, **wanted)


def _tell(target, model, found, error):
    """Report errors of the pass and return the exit status. The output has already been
    written, even if the pass failed."""
    if error is not None:
        raise _raised(target, model, error)
    if found.recording is None:
        sys.stdout.flush()
        _say(f"{target}: {_not_run(model)}")
        return FINE
    run = found.json.get("run", {})
    return FINDINGS if "producer" in run or "raised" in run else FINE


def _raised(target, model, error):
    notes = [f"{note}\n" for note in getattr(error, "__notes__", ())]
    text = f"{first_line(error)}{_where(error)}; {_wants(model)}"
    return Trouble(f"{target}: {text}", notes)


def _not_run(model):
    return f"it was not run; {_wants(model)}, which --inputs can give"


def _where(error):
    """' (net.py:12)': the innermost line of the user's code."""
    import torch

    others = (OURS, os.path.dirname(torch.__file__), "<")
    lines = [
        f"{os.path.basename(frame.f_code.co_filename)}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(others)
    ]
    return f" ({lines[-1]})" if lines else ""


def _write(text):
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _quiet_if(data):
    """Redirects prints of the user's code to stderr if stdout carries data."""
    return contextlib.redirect_stdout(sys.stderr) if data else contextlib.nullcontext()


@contextlib.contextmanager
def _sentence(about):
    try:
        yield
    except (ValueError, KeyError, _core.Error) as error:
        raise Trouble(f"{about}: {error.args[0]}") from None


@contextlib.contextmanager
def _writing(path):
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, RuntimeError) as error:
        why = str(getattr(error, "strerror", None) or error)
        named = why if why.startswith(path) else f"{path}: {why}"
        raise Trouble(named) from None
