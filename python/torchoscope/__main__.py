"""python -m torchoscope: the program, with the same arguments and exit status.

The program also runs this file by path for live models (src/cli/python.c). The Python
that runs it may be old, so the file must parse in any version. The folder may contain
packages of another Python, which this one must not import.
"""

import os
import sys


def main():
    by_program = not __package__
    if sys.version_info < (3, 11):
        version = "%d.%d" % sys.version_info[:2]
        text = "Python 3.11 or later is needed, and %s is %s; "
        text += "set TORCHOSCOPE_PYTHON to choose another"
        return trouble(text % (sys.executable, version))
    try:
        if by_program:
            bring_package(os.path.dirname(os.path.abspath(__file__)))
        from torchoscope import _core
    except ImportError as error:
        return trouble("%s: %s" % (sys.executable, error))
    live = _core.live("torchoscope", *sys.argv[1:])
    if live is None:
        return _core.main("torchoscope", *sys.argv[1:])
    if not by_program and not sys.flags.safe_path:
        del sys.path[0]  # the current folder: the user's code comes after torch
    from torchoscope import shell

    if live[0] == "run":
        return lambda: shell.run_script(*live[1:3])
    return shell.run(*live, by_program=by_program)


def bring_package(folder):
    """Import torchoscope, and nothing else, from this folder's parent."""
    if folder in sys.path:  # a script's own folder
        sys.path.remove(folder)
    above = os.path.dirname(folder)
    sys.path.insert(0, above)
    import torchoscope  # noqa: F401

    sys.path.remove(above)


def trouble(sentence):
    sys.stderr.write("torchoscope: %s\n" % sentence)
    return 2


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130
    if callable(status):  # a script: its exceptions are Python's to handle
        status = status()
    sys.exit(status)
