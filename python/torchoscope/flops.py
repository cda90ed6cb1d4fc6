"""FLOPs of operations that are not in the core's table: formulas of the user,
registered here or with torch.utils.flop_counter."""

import operator
import sys

_formulas = {}  # "mylib::op" to its formula
_errors = {}  # "mylib::op" to the first error of its formula
_version = 0


def register_flops(op, formula):
    """Count the FLOPs of an operation by formula(*shapes, out_shape=..., **kwargs).

    `op` is a name, "mylib::op", or the operation itself. The formula gets the arguments
    of the operation with shapes instead of tensors and returns a number. None as
    formula removes the registered one. See docs/python.md.
    """
    global _version
    name = name_of(op)
    if formula is not None and not callable(formula):
        kind = type(formula).__name__
        raise TypeError(f"the formula of {name} must be a function, not {kind}")
    _formulas.pop(name, None)
    _errors.pop(name, None)
    if formula is not None:
        _formulas[name] = formula
    _version += 1


def flops_formula(op):
    """register_flops() as a decorator: @torchoscope.flops_formula("mylib::op")."""

    def register(formula):
        register_flops(op, formula)
        return formula

    return register


def name_of(op):
    """The name of an operation, without its overload: "mylib::op"."""
    schema = getattr(op, "_schema", None)  # torch.ops.mylib.op.default
    packet = getattr(op, "_qualified_op_name", None)  # torch.ops.mylib.op
    custom = getattr(op, "_qualname", None)  # torch.library.custom_op
    name = op if isinstance(op, str) else getattr(schema, "name", packet or custom)
    if not isinstance(name, str):
        raise TypeError(f'expected "namespace::operation", not {type(op).__name__}')
    space, colons, word = name.partition("::")
    if not space or not colons or not word:
        raise ValueError(f'{name!r}: expected "namespace::operation"')
    return f"{space}::{word.partition('.')[0]}"


def version():
    """Changes when formulas do: results of counter_of() can be cached until then."""
    counter = sys.modules.get("torch.utils.flop_counter")
    return _version, len(counter.flop_registry) if counter else 0


def errors():
    """The first error of each formula that raised or returned no number."""
    return dict(_errors)


def counter_of(func):
    """A function (args, kwargs, result) -> FLOPs or None (unknown), for an operation as
    dispatched by torch. None: the user has no formula for it. Never raises."""
    name = name_of(func)
    formula = _formulas.get(name)
    if formula is not None:
        return lambda args, kwargs, result: _count(
            name,
            lambda: formula(
                *_shapes(args), out_shape=_shapes(result), **_shapes(kwargs)
            ),
        )
    formula = _of_torch(func)
    if formula is not None:
        return lambda args, kwargs, result: _count(
            name, lambda: formula(*args, **kwargs, out_val=result)
        )
    return None


def _of_torch(func):
    """The formulas registered with torch.utils.flop_counter.register_flop_formula."""
    counter = sys.modules.get("torch.utils.flop_counter")
    if counter is None:
        return None
    formula = counter.flop_registry.get(getattr(func, "_overloadpacket", func))
    own = (getattr(formula, "__module__", None) or "").partition(".")[0] != "torch"
    return formula if own else None


def _count(name, formula):
    try:
        flops = operator.index(formula())
        if not 0 <= flops < 2**63:
            raise ValueError(f"it returned {flops}")
    except Exception as error:
        _errors.setdefault(name, f"{type(error).__name__}: {error}")
        return None
    return flops


def _shapes(value):
    """The same with the shape of each tensor in its place."""
    if isinstance(value, sys.modules["torch"].Tensor):
        return value.shape
    if type(value) in (list, tuple):
        return type(value)(map(_shapes, value))
    if isinstance(value, dict):
        return {key: _shapes(item) for key, item in value.items()}
    return value

