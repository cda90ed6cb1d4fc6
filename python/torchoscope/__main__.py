"""python -m torchoscope: the program, with the same words and the same exit status."""

import sys

from torchoscope import _core

sys.exit(_core.main(*sys.argv))
