"""Interfaces of other tools, on top of torchoscope: see docs/python.md."""
