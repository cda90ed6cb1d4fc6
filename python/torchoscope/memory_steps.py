"""Runs steps of a copy of a model to find their memory: with fake tensors, which have
shapes but no elements, or with real ones. For memory()."""

import contextlib
import copy
import inspect
import logging
import warnings

import torch

from torchoscope.recorder import record
from torchoscope.restore import modules_of, roots_of, state_guard
from torchoscope.traces import loss_of


class CannotPredict(Exception):
    """Fake tensors cannot run this model."""


class Batches:
    """The arguments of a model with another batch size: all tensors that have the size
    of the first one along `dim` get it."""

    def __init__(self, args, kwargs, dim):
        self._given, self._dim = (args, kwargs), dim
        sizes = [one.shape[dim] for one in tensors_in(self._given) if self._has(one)]
        self.size = sizes[0] if sizes else None

    def _has(self, tensor):
        return -tensor.dim() <= self._dim < tensor.dim()

    def make(self, size, convert):
        """(args, kwargs) with this batch size; convert(tensor, shape) makes tensors."""

        def change(tensor):
            shape = list(tensor.shape)
            if size and self._has(tensor) and shape[self._dim] == self.size:
                shape[self._dim] = size
            return convert(tensor, shape)

        return map_tensors(self._given, change)


def tensors_in(given):
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(given, torch.Tensor):
        yield given
    elif isinstance(given, dict):
        for one in given.values():
            yield from tensors_in(one)
    elif isinstance(given, (list, tuple)):
        for one in given:
            yield from tensors_in(one)


def map_tensors(given, change):
    """The same structure with all tensors changed; one that occurs twice stays one."""
    memo = {}

    def walk(one):
        if isinstance(one, torch.Tensor):
            if id(one) not in memo:
                memo[id(one)] = change(one)
            return memo[id(one)]
        if type(one) is dict:
            return {key: walk(value) for key, value in one.items()}
        if type(one) in (list, tuple):
            return type(one)(map(walk, one))
        return one

    return walk(given)


class Steps:
    """Training steps, or passes without gradients, of a copy of the model."""

    def __init__(self, model, batches, wanted):
        self._wanted, self._batches = wanted, batches
        self._dtype = wanted.dtype
        self._copies = {}  # id of a tensor -> its copy
        with self._world():
            self.model = self._copy(model)
            if wanted.training:
                if not any(module.training for _, module in modules_of(self.model)):
                    self._each_root("train")
                self._optimizer = self._make_optimizer(wanted.optimizer)
            else:
                self._each_root("eval")
        self._warm = False

    def _each_root(self, name):
        for root in roots_of(self.model).values():
            getattr(root, name)()

    def _world(self):
        """The context in which tensors are created."""
        return contextlib.nullcontext()

    def _convert(self, tensor, shape=None):
        """A copy of a tensor, of another shape or dtype."""
        raise NotImplementedError

    def _to_dtype(self, tensor):
        """The dtype of a copy of this tensor."""
        floating = self._dtype is not None and tensor.is_floating_point()
        return self._dtype if floating else tensor.dtype

    def _copy(self, model):
        """A copy of the model. Its parameters and buffers are put in deepcopy's memo,
        so that nothing is copied twice and ties stay."""
        memo = {}
        for _, module in modules_of(model):
            own = [*module._parameters.values(), *module._buffers.values()]
            own += [one for one in vars(module).values()]
            for one in tensors_in(own):
                if id(one) not in memo:
                    made = self._convert(one.detach())
                    if isinstance(one, torch.nn.Parameter):
                        made = torch.nn.Parameter(made, one.requires_grad)
                    memo[id(one)] = made
        self._copies = dict(memo)
        return copy.deepcopy(model, memo)

    def _make_optimizer(self, optimizer):
        params = [
            one
            for root in roots_of(self.model).values()
            for one in root.parameters()
            if one.requires_grad
        ]
        if optimizer is None or not params:
            return None
        if isinstance(optimizer, torch.optim.Optimizer):
            return self._like(optimizer)
        if isinstance(optimizer, str):
            kind = optimizer_class(optimizer)
            options = {}
            if self._wanted.foreach and "foreach" in inspect.signature(kind).parameters:
                options["foreach"] = True
            return kind(params, **options)
        return optimizer(params)

    def _like(self, optimizer):
        """An optimizer of the same class and options for the copy."""
        groups = []
        for group in optimizer.param_groups:
            own = [one for one in group["params"] if id(one) in self._copies]
            params = [self._copies[id(one)] for one in own]
            if params:
                groups.append({**group, "params": params})
        if not groups:
            kind = type(optimizer).__name__
            raise ValueError(f"optimizer: this {kind} has no parameter of the model")
        known = inspect.signature(type(optimizer)).parameters
        options = {k: v for k, v in optimizer.defaults.items() if k in known}
        if self._wanted.foreach and options.get("foreach", 0) is None:
            if not options.get("fused"):
                options["foreach"] = True
                for group in groups:
                    group["foreach"] = True
        return type(optimizer)(groups, **options)

    # --- running

    def run(self, size=None, checkpointed=()):
        """A recording of one step with this batch size; an earlier one, which creates
        the optimizer state, is not recorded. `checkpointed`: modules of self.model."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._world())
            stack.enter_context(_without_warnings())
            # Outside the recording: it copies buffers.
            stack.enter_context(state_guard(self.model))
            args, kwargs = self._batches.make(size, self._convert)
            for module in checkpointed:
                _checkpoint(stack, module)
            if not self._warm:
                self._step(args, kwargs)
                self._warm = True
            self._forget()
            recording = record(
                self.model,
                **{"mode": "guard", "gradients": False, "parameters": False},
                **{"ops": True, "name": type(self.model).__name__},
            )
            with recording:
                self._step(args, kwargs)
            self._forget()
        return recording

    def _forget(self):
        for root in roots_of(self.model).values():
            root.zero_grad(set_to_none=True)

    def _step(self, args, kwargs):
        """Keeps the result and the loss until its end, as a training loop does."""
        with torch.set_grad_enabled(self._wanted.training):
            result = self.model(*args, **kwargs)
            if not self._wanted.training:
                return
            loss, self.loss = loss_of(result, self._wanted.loss)
            if loss is None:
                raise ValueError(
                    "training: nothing in the result requires a gradient; "
                    "training=False is for inference"
                )
            loss.backward()
            if self._optimizer is not None:
                self._optimizer.step()

    def cache(self, size):
        """Bytes of keys and values that a pass of a language model returns, and the
        shape of its tokens; None if it returns none."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._world())
            stack.enter_context(_without_warnings())
            args, kwargs = self._batches.make(size, self._convert)
            stack.enter_context(state_guard(self.model))
            stack.enter_context(torch.no_grad())
            self._each_root("eval")
            result = self.model(*args, **{**kwargs, "use_cache": True})
            found = list(_cached(getattr(result, "past_key_values", None)))
        shapes = [one.shape for one in tensors_in((args, kwargs)) if one.dim() >= 2]
        if not found or not shapes:
            return None
        return sum(one.numel() * one.element_size() for one in found), shapes[0]


class FakeSteps(Steps):
    """With fake tensors: nothing is computed and no memory is used."""

    def __init__(self, model, batches, wanted):
        try:
            from torch._subclasses.fake_tensor import FakeTensorMode
        except ImportError:
            raise CannotPredict("this torch has no fake tensors") from None
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        super().__init__(model, batches, wanted)

    def _world(self):
        return self._mode

    def _convert(self, tensor, shape=None):
        dtype = self._to_dtype(tensor)
        same = shape is None or list(tensor.shape) == list(shape)
        if same and dtype == tensor.dtype:
            return self._mode.from_tensor(tensor)
        with self._mode:
            made = torch.empty(
                tensor.shape if shape is None else shape,
                dtype=dtype,
                device=tensor.device,
            )
        return made.requires_grad_(tensor.requires_grad)


class RealSteps(Steps):
    """With real tensors: measured."""

    def _convert(self, tensor, shape=None):
        made = tensor.detach()
        if shape is not None and list(tensor.shape) != list(shape):
            for dim, size in enumerate(shape):
                if size != made.shape[dim]:
                    at = torch.arange(size, device=made.device) % made.shape[dim]
                    made = made.index_select(dim, at)
        made = made.to(self._to_dtype(tensor), copy=True)
        return made.requires_grad_(tensor.requires_grad)


# --- helpers


def optimizer_class(name):
    """The class of torch.optim of this name, in any case: "adamw"."""
    known = {
        key.lower(): value
        for key, value in vars(torch.optim).items()
        if isinstance(value, type)
        and issubclass(value, torch.optim.Optimizer)
        and value is not torch.optim.Optimizer
    }
    found = known.get(str(name).lower())
    if found is None:
        names = ", ".join(sorted(known))
        raise ValueError(f"optimizer: torch.optim has no {name!r}, but {names}")
    return found


def _cached(cache):
    """The tensors in a cache of keys and values: nested tuples, or an object of
    transformers."""
    layers = getattr(cache, "layers", None)
    if layers is not None:
        names = ("keys", "values")
        cache = [getattr(one, name, None) for one in layers for name in names]
    elif hasattr(cache, "key_cache"):
        cache = [cache.key_cache, cache.value_cache]
    return tensors_in(cache)


def _checkpoint(stack, module):
    """Run a module under torch.utils.checkpoint until the stack is closed."""
    from torch.utils.checkpoint import checkpoint

    forward = module.forward

    def checkpointed(*args, **kwargs):
        return checkpoint(
            forward, *args, use_reentrant=False, preserve_rng_state=False, **kwargs
        )

    module.__dict__["forward"] = checkpointed
    stack.callback(module.__dict__.pop, "forward", None)


@contextlib.contextmanager
def _without_warnings():
    """Hides warnings about operations that fake tensors cannot run."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    disabled, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = disabled
