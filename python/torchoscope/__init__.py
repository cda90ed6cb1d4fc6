"""torchoscope: look inside any neural network."""

from torchoscope import _core

__version__ = _core.version
