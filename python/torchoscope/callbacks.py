"""Callbacks for trainers of other packages, which watch the trained model.

    from torchoscope.callbacks import LightningWatch
    trainer = Trainer(callbacks=[LightningWatch(backend="tensorboard")])
    trainer.fit(module)

    from torchoscope.callbacks import TrainerWatch
    trainer = transformers.Trainer(model, callbacks=[TrainerWatch()], ...)
    trainer.train()

All options are those of torchoscope.watch(). Both classes are created on first use,
because they inherit from classes of these packages."""

import importlib
import importlib.util
import numbers
import sys

import torch

__all__ = ["LightningWatch", "TrainerWatch"]

_LIGHTNINGS = ("lightning.pytorch", "pytorch_lightning")


class _Watching:
    """The common part of both. `handle` is the Watch, or None."""

    def __init__(self, **options):
        self._options = options
        self.handle = None

    def close(self):
        """End watching. Called at the end of the trainer."""
        if self.handle is not None:
            self.handle.close()

    def _begin(self, model, step):
        from torchoscope import watch

        self.handle = watch(model, **self._options)
        self.handle.log(step=step + 1)  # the number of the next step

    def _log(self, step, scalars):
        if self.handle is not None:
            self.handle.log(step=step, **scalars)


def _numbers(found):
    """The values that can be logged: numbers, and tensors with one element. Two names
    are reserved for Watch.log()."""

    def is_number(value):
        if isinstance(value, torch.Tensor):
            return value.numel() == 1
        return isinstance(value, numbers.Real)

    return {
        str(name): float(value)
        for name, value in found.items()
        if is_number(value) and name not in ("self", "step")
    }


class _Lightning(_Watching):
    """Watches a training by Lightning. Takes the options of watch(); logs what the
    module logs, with the trainer's global_step."""

    def on_train_start(self, trainer, module):
        """Starts here because the sanity check is not part of the training."""
        self._names = {"batch": set(), "validation": set(), "epoch": set()}
        self._options["capsule"] = False  # replay() would call forward, not a step
        self._begin(module, trainer.global_step)

    def _metrics(self, when, found):
        """The new values: the trainer keeps all values ever logged."""
        other = set().union(*(self._names[one] for one in self._names if one != when))
        new = {name: value for name, value in found.items() if name not in other}
        self._names[when].update(new)
        return _numbers(new)

    # A module's steps may call its parts instead of the module itself, so batches are
    # the passes.

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        """A pass begins."""
        self._pass("_begins", module, (), {})

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        """A step ended, unless gradients are being accumulated."""
        self._pass("_ends", module, None)
        step = trainer.global_step
        often = max(1, int(trainer.log_every_n_steps or 1))
        logs = trainer.logged_metrics if step % often == 0 else {}
        self._log(step, self._metrics("batch", logs))

    def on_validation_batch_start(self, trainer, module, *_):
        """A pass of evaluation begins."""
        self._pass("_begins", module, (), {})

    def on_validation_batch_end(self, trainer, module, *_):
        """A pass of evaluation ended."""
        self._pass("_ends", module, None)

    def _pass(self, what, *args):
        if self.handle is not None:
            self.handle._guard(getattr(self.handle._budget, what), *args)

    def on_validation_epoch_end(self, trainer, module):
        """The metrics of validation are known."""
        if self.handle is not None and not trainer.sanity_checking:
            found = self._metrics("validation", trainer.callback_metrics)
            self._log(trainer.global_step, found)

    def on_train_epoch_end(self, trainer, module):
        """The metrics of the epoch are known."""
        self._log(trainer.global_step, self._metrics("epoch", trainer.callback_metrics))

    def on_train_end(self, trainer, module):
        """The training ended."""
        self.close()

    def on_exception(self, trainer, module, exception):
        """The training was interrupted."""
        self.close()

    def teardown(self, trainer, module, stage):
        """The trainer ended, whatever it ran."""
        self.close()


class _Transformers(_Watching):
    """Watches a training by transformers.Trainer. Takes the options of watch(); logs
    what the trainer logs, as train/loss, eval/loss, ..., with its global_step."""

    def on_train_begin(self, args, state, control, model=None, **_):
        """The model is ready."""
        self.close()
        self._begin(model, state.global_step)

    def on_step_end(self, args, state, control, **_):
        """The optimizer stepped."""
        self._log(state.global_step, {})

    def on_log(self, args, state, control, logs=None, **_):
        """The trainer logs; metrics of evaluation have a prefix already."""
        found = {"train/" + key: value for key, value in (logs or {}).items()}
        for key in list(found):
            if key.startswith("train/eval_"):
                found["eval/" + key[len("train/eval_") :]] = found.pop(key)
        self._log(state.global_step, _numbers(found))

    def on_train_end(self, args, state, control, **_):
        """The training ended."""
        self.close()


def _bases_of_lightning():
    """Two packages have the same classes: prefers imported ones, else an installed
    one."""
    used = [name for name in _LIGHTNINGS if name in sys.modules]
    for name in used or _LIGHTNINGS:
        if used or importlib.util.find_spec(name.partition(".")[0]):
            yield importlib.import_module(name).Callback
            if not used:
                return


def _make(name):
    if name == "TrainerWatch":
        ours, bases = (
            _Transformers,
            [importlib.import_module("transformers").TrainerCallback],
        )
    else:
        ours, bases = _Lightning, list(dict.fromkeys(_bases_of_lightning()))
    if not bases:
        raise ImportError(
            "LightningWatch needs the package lightning: pip install lightning"
        )
    return type(name, (ours, *bases), {"__module__": __name__, "__doc__": ours.__doc__})


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _make(name)
    return made
