"""Decides which keywords of summary(), explore(), trace() and memory() go to forward.
See docs/python.md, "Inputs". Works without torch: explore() also shows files."""

import functools
import inspect
import sys
from collections.abc import Mapping


def takes_inputs(function, is_run=None):
    """Decorates a function of a model, inputs, options and `kwargs`: other keywords are
    added to `kwargs`, and a keyword that could be meant for both is refused.

    Only a decorator sees which options were given: `mode="full"` may be the default.
    `is_run(thing)`: is it a model, so that keywords can go to its forward?"""
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    options = {one.name for one in others if one.kind is one.KEYWORD_ONLY} - {"kwargs"}

    @functools.wraps(function)
    def sorted_keywords(*args, kwargs=None, **named):
        if not args and first.name in named:
            args = (named.pop(first.name),)
        given = {name: named.pop(name) for name in options & named.keys()}
        if args and (is_run is None or is_run(args[0])):
            _refuse_double(function.__name__, args[0], kwargs, given)
        return function(*args, kwargs=_joined(kwargs, named), **given)

    more = inspect.Parameter("more", inspect.Parameter.VAR_KEYWORD)
    sorted_keywords.__signature__ = signature.replace(parameters=[first, *others, more])
    return sorted_keywords


def _refuse_double(function, model, kwargs, options):
    """With `kwargs` given, keywords are options."""
    double = options.keys() & forward_parameters(model).keys()
    if kwargs is None and double:
        name = min(double)
        raise TypeError(
            f"{name} is an option of {function}() and an argument of "
            f"{type(model).__name__}.forward(): pass kwargs={{{name!r}: ...}} for "
            f"forward, or kwargs={{}} if the option is meant"
        )


def _joined(kwargs, more):
    """All keyword arguments of forward."""
    if kwargs is not None and not isinstance(kwargs, Mapping):
        kind = type(kwargs).__name__
        raise TypeError(f"kwargs must be a dict of forward's arguments, not {kind}")
    twice = (kwargs or {}).keys() & more.keys()
    if twice:
        raise TypeError(f"{min(twice)} is given twice: in kwargs and as a keyword")
    return {**(kwargs or {}), **more}


def forward_parameters(model):
    """The parameters of forward by name, without self; {} if unknown."""
    torch = sys.modules.get("torch")
    is_module = torch is not None and isinstance(model, torch.nn.Module)
    try:
        return inspect.signature(model.forward if is_module else model).parameters
    except (TypeError, ValueError):
        return {}
