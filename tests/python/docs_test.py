"""Docstrings: every public name is told of."""

import inspect
import unittest

import torchoscope
from torchoscope.compat import rp


def members(kind):
    """The public ones that are our own."""
    for name in dir(kind):
        one = inspect.getattr_static(kind, name)
        if not name.startswith("_") and isinstance(one, (property, type(members))):
            yield name, one


class Docstrings(unittest.TestCase):
    def test_every_public_name_has_one(self):
        lack = []
        for module in (torchoscope, rp):
            for name in module.__all__:
                one = getattr(module, name)
                if not inspect.getdoc(one):
                    lack.append(name)
                if inspect.isclass(one):
                    found = members(one)
                    lack += [f"{name}.{key}" for key, m in found if not m.__doc__]
        self.assertEqual(lack, [])


if __name__ == "__main__":
    unittest.main()
