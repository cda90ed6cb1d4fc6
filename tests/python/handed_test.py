"""Modules that return their argument while other code keeps a reference to it, in
places that the code of the caller does not show. The recorded gradients equal those of
torch's full backward hooks, or are a reported gap."""

import collections
import contextlib
import dataclasses
import functools
import threading
import unittest
import weakref

import torch
from full_hooks import compare
from torch import nn

torch.set_num_threads(1)

Named = collections.namedtuple("Named", "first second")
CACHE = {}
LIST = []
LAST = None


@dataclasses.dataclass
class Data:
    value: object


class Slots:
    __slots__ = ("value",)


class Plain:
    pass


class Fetch:
    """A property that returns what a dictionary holds."""

    def __init__(self):
        self._of = {}

    @property
    def value(self):
        return self._of["deep"]["deeper"]

    @value.setter
    def value(self, tensor):
        self._of = {"deep": {"deeper": tensor}}


def in_attribute(make):
    def keep(tensor):
        holder = make()
        holder.value = tensor
        return lambda: holder.value

    return keep


def in_named_tuple(tensor):
    one = Named(None, tensor)
    return lambda: one.second


def in_data_class(tensor):
    one = Data(tensor)
    return lambda: one.value


def in_closure(tensor):
    return lambda: tensor


def in_default(tensor):
    def get(kept=tensor):
        return kept

    return get


def in_partial(tensor):
    return functools.partial(lambda kept: kept, tensor)


def in_method(tensor):
    return tensor.__pos__


def in_global(tensor):
    global LAST
    LAST = tensor
    return lambda: LAST


def in_cache(tensor):
    CACHE["key"] = tensor
    return lambda: CACHE.pop("key")


def in_dicts(tensor):
    one = {"a": {"b": {"c": [tensor]}}}
    return lambda: one["a"]["b"]["c"][0]


def in_list(tensor):
    LIST.append(tensor)
    return LIST.pop


def in_deque(tensor):
    one = collections.deque([tensor])
    return one.pop


def in_set(tensor):
    one = {tensor}
    return one.pop


def in_generator(tensor):
    def give():
        kept = tensor
        yield None
        yield kept

    one = give()
    next(one)
    return lambda: next(one)


def in_exception(tensor):
    try:
        raise ValueError(tensor)
    except ValueError as error:
        kept = error
    return lambda: kept.args[0]


def in_traceback(tensor):
    try:
        raise ValueError
    except ValueError as error:
        kept = error.__traceback__.tb_frame
    return lambda: kept.f_locals["tensor"]


def in_cell_of_cycle(tensor):
    one = []
    one.append((one, tensor))
    return lambda: one[0][1]


def in_stack(tensor):
    stack = contextlib.ExitStack()
    stack.callback(print, tensor)
    return lambda: stack._exit_callbacks[0][1].__wrapped__ and tensor


def in_thread(tensor):
    local = threading.local()
    local.value = tensor
    return lambda: local.value


def in_another_module(tensor):
    one = nn.Module()
    one.inner = nn.Module()
    one.inner.kept = tensor
    return lambda: one.inner.kept


def in_graph_attribute(tensor):
    one = Plain()
    tensor.mine = one
    one.value = tensor
    return lambda: one.value


KEEPERS = {
    "named tuple": in_named_tuple,
    "data class": in_data_class,
    "slots": in_attribute(Slots),
    "attribute": in_attribute(Plain),
    "property": in_attribute(Fetch),
    "closure": in_closure,
    "default": in_default,
    "partial": in_partial,
    "bound method": in_method,
    "global": in_global,
    "cache of a module": in_cache,
    "dicts": in_dicts,
    "list": in_list,
    "deque": in_deque,
    "set": in_set,
    "generator": in_generator,
    "exception": in_exception,
    "traceback": in_traceback,
    "cycle": in_cell_of_cycle,
    "thread": in_thread,
    "another module": in_another_module,
    "exit stack": in_stack,
    "attribute of the tensor": in_graph_attribute,
}


class Inside(nn.Module):
    """Keeps a tensor, passes it through a module and uses what it kept."""

    def __init__(self, keep, module, how):
        super().__init__()
        self.layer, self.module = nn.Linear(4, 4), module
        self.keep, self.how = keep, how

    def forward(self, x):
        if self.how == "later":  # the second pass uses what the first one kept
            return self.again(self.again(x))
        if self.how == "temporary":
            gets = []
            y = self.module(self.pass_on(self.layer(x), gets)).tanh()
            return y + gets[0]() * 3
        h = self.layer(x)
        get = self.keep(h)
        h = self.module(h)
        return h.tanh() + get() * 3

    def pass_on(self, h, gets):
        gets.append(self.keep(h))
        return h

    def again(self, x):
        h = self.layer(x)
        get = self.keep(h)
        y = self.module(h).tanh()
        del h
        return y + get() * 3


class Below(nn.Module):
    """A module outside keeps it; a module inside uses it."""

    def __init__(self, module):
        super().__init__()
        self.module, self.get = module, None

    def forward(self, x):
        y = self.module(x).tanh()
        return y + self.get() * 3


class Above(nn.Module):
    def __init__(self, keep, module):
        super().__init__()
        self.layer, self.below, self.keep = nn.Linear(4, 4), Below(module), keep

    def forward(self, x):
        h = self.layer(x)
        self.below.__dict__["get"] = self.keep(h)
        return self.below(h)


class KeepsInside(nn.Module):
    """The module that passes its argument on keeps it."""

    def __init__(self, keep):
        super().__init__()
        self.keep, self.get = keep, None

    def forward(self, x):
        self.__dict__["get"] = self.keep(x)
        return x


class UsesKept(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.layer, self.module = nn.Linear(4, 4), KeepsInside(keep)

    def forward(self, x):
        y = self.module(self.layer(x)).tanh()
        return y + self.module.get() * 3


def same(kind):
    if kind == "Dropout":
        return nn.Dropout(0.3)
    if kind == "Sequential":
        return nn.Sequential(nn.Identity(), nn.Sequential(nn.Identity(), nn.Dropout(0.1)))
    return nn.Identity()


class Kept(unittest.TestCase):
    def check(self, model):
        def run(model):
            torch.manual_seed(4)
            x = torch.linspace(-2, 3, 12, dtype=torch.double).reshape(3, 4)
            scale = torch.linspace(-1, 2, 12, dtype=torch.double).reshape(3, 4)
            (model(x.requires_grad_()) * scale).sum().backward()

        torch.manual_seed(1)
        found = compare(model.double().eval(), run)
        # The whole gradient of an argument is recorded, however the call got the
        # tensor.
        wrong = [line for line in found.wrong if not line.startswith("below: x has")]
        self.assertEqual(wrong, [])
        self.assertEqual(found.recording.facts.get("errors", 0), 0)
        CACHE.clear()
        LIST.clear()
        return found

    def test_tensors_kept_inside_the_model(self):
        for name, keep in KEEPERS.items():
            for how in ("plain", "temporary", "later"):
                for kind in ("Identity", "Dropout", "Sequential"):
                    with self.subTest(name, how=how, kind=kind):
                        self.check(Inside(keep, same(kind), how))

    def test_tensors_kept_outside_and_used_inside(self):
        for name, keep in KEEPERS.items():
            for kind in ("Identity", "Sequential"):
                with self.subTest(name, kind=kind):
                    self.check(Above(keep, same(kind)))

    def test_kept_by_the_module_itself(self):
        for name, keep in KEEPERS.items():
            with self.subTest(name):
                self.check(UsesKept(keep))


class Wraps(nn.Module):
    """Overrides __call__, like layers of transformers."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)

    def forward(self, x):
        return self.inner(x)


class Gives(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x, b):
        return self.kind((x * 2, b))


class Clean(nn.Module):
    """Only the code that calls the module holds the tensor."""

    def __init__(self, how):
        super().__init__()
        self.how, self.layer, self.same = how, nn.Linear(4, 4), nn.Identity()
        self.wraps = Wraps(nn.Sequential(nn.Identity(), nn.Identity()))
        self.pairs = nn.ModuleList([Gives(tuple), Gives(tuple), Gives(list)])

    def forward(self, x):
        return getattr(self, "by_" + self.how)(x).tanh() + x

    def by_position(self, x):
        x = self.layer(x)
        x = self.same(x)
        return x

    def by_keyword(self, x):
        h = self.layer(x)
        return self.same(input=h)

    def by_tuple(self, x):
        args = (self.layer(x),)
        return self.same(*args)

    def by_dict(self, x):
        return self.same(**{"input": self.layer(x)})

    def by_wrapper(self, x):
        return self.wraps(self.layer(x))

    def by_wrapper_and_keyword(self, x):
        h = self.layer(x)
        h = self.wraps(x=h)
        return h

    def by_helper(self, x):
        return self.help(self.layer(x), again=True)

    def help(self, h, again):
        h = self.same(h)
        return self.same(h) if again else None

    def by_pairs(self, x):
        b = self.layer(x)
        for pair in self.pairs:
            both = pair(x, b)
            x, b = both[0], both[1]
        return x + b

    def by_condition(self, x):
        h = self.layer(x)
        return self.same(h) if self.how else h

    def by_shortcut(self, x):
        h = self.layer(x)
        y = self.layer(h)  # its node holds h
        return y.tanh() + self.same(h)

    def by_operand(self, x):
        return self.layer(x).tanh() + self.same(self.same(self.layer(x)))


class Alone(Kept):
    test_tensors_kept_inside_the_model = None
    test_tensors_kept_outside_and_used_inside = None
    test_kept_by_the_module_itself = None

    def test_there_are_gradients(self):
        for how in [name[3:] for name in dir(Clean) if name.startswith("by_")]:
            with self.subTest(how):
                self.assertEqual(self.check(Clean(how)).gaps, [])

    def test_variables_are_not_kept_alive(self):
        """Inspecting the frames of callers keeps nothing alive."""
        found = []

        class Frees(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.same = nn.Linear(4, 4), nn.Identity()

            def forward(self, x):
                other = torch.ones(3)
                weak = weakref.ref(other)
                h = self.layer(x)
                y = self.same(h).tanh()
                del other
                found.append(weak())
                return y

        self.check(Frees())
        self.assertEqual(found, [None, None])

    def test_local_variables_of_the_user_are_unchanged(self):
        found = []

        class Looks(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.same = nn.Linear(4, 4), nn.Identity()

            def forward(self, x):
                h = self.layer(x)
                mine = locals()
                y = self.same(h).tanh()
                found.append(sorted(mine))
                return y + mine["h"] * 3

        self.check(Looks())
        for names in found:
            self.assertIn("h", names)

    def test_hooks_that_keep_arguments(self):
        kept = []
        model = Inside(in_list, nn.Identity(), "plain")

        def before(module, args):
            kept.append(args)

        def forward(x):
            kept.clear()
            h = model.module(model.layer(x))
            return h.tanh() + kept[0][0] * 3

        model.forward = forward
        model.module.register_forward_pre_hook(before)
        self.check(model)


if __name__ == "__main__":
    unittest.main()
