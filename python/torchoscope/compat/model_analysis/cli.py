"""tt-model-analysis: write unique_modules.json and pytorch_ops.json of a model."""

import argparse
import os
import sys

from torchoscope.shell import import_torch
from torchoscope.targets import Trouble, module_of, user_code

PROGRAM = "tt-model-analysis"
FINE, FAILED, INTERRUPTED = 0, 1, 130


def main(argv=None):
    """Run the command and return its exit status: 1 after an error, 2 for wrong
    arguments."""
    options = _parser().parse_args(argv)
    if argv is None:
        # The user's file sees argv of a script without arguments.
        sys.argv[:] = [options.model_path.partition("::")[0]]
    try:
        import_torch()
        analyze(options.model_path, options.inputs_path, options.dir)
        return FINE
    except Trouble as trouble:
        sys.stderr.writelines(trouble.lines)
        return _fail(str(trouble))
    except (AttributeError, OSError, RuntimeError, TypeError, ValueError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _fail(sentence):
    print(f"{PROGRAM}: {sentence}", file=sys.stderr, flush=True)
    return FAILED


def _parser():
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Write the unique modules and operations of a PyTorch model to "
        "unique_modules.json and pytorch_ops.json.",
    )
    for name, what in (("model", "the model"), ("inputs", "its inputs")):
        parser.add_argument(
            f"--{name}-path",
            required=True,
            metavar="FILE.py::FUNCTION",
            help=f"a function that returns {what}; it is called once",
        )
    parser.add_argument(
        "--dir", metavar="DIR", help="the output folder (default: ./<ModelClassName>/)"
    )
    return parser


def analyze(model_path, inputs_path, folder=None):
    """Write both files for the functions at "file.py::function", each called once."""
    load_fn = load_function_from_path(model_path)
    get_inputs = load_function_from_path(inputs_path)
    from torchoscope.compat.model_analysis import module_extractor, ops_extractor

    targets = {get_inputs: inputs_path, load_fn: model_path}
    trace = module_extractor.load_and_trace(
        load_fn, get_inputs, guard=lambda function: user_code(targets[function])
    )
    folder = folder or trace.model_class
    os.makedirs(folder, exist_ok=True)
    modules_path = os.path.join(folder, "unique_modules.json")
    ops_path = os.path.join(folder, "pytorch_ops.json")
    modules = module_extractor.modules_document(trace, load_fn)
    by_path = ops_extractor.modules_by_path(modules)
    ops = ops_extractor.ops_document(trace, by_path, modules_path, ops_path)
    module_extractor.write_json(modules, modules_path)
    module_extractor.write_json(ops, ops_path)


def load_function_from_path(path):
    """The function that "file.py::function_name" names. Raises ValueError,
    FileNotFoundError, AttributeError or TypeError, and Trouble if the file raises."""
    file, colons, name = path.partition("::")
    if not (file and colons and name.isidentifier()):
        raise ValueError(f"Expected 'file.py::function_name', got {path!r}")
    if not os.path.isfile(file):
        raise FileNotFoundError(f"File not found: {file}")
    module = module_of(path)
    try:
        function = getattr(module, name)
    except AttributeError:
        raise AttributeError(f"{file} has no function {name!r}") from None
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(f"{name!r} in {file} is {kind}, which is not callable")
    return function


if __name__ == "__main__":
    sys.exit(main())
