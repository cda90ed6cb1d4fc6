"""Watching a training, compared with the bare training, torchexplorer, wandb.watch()
offline and TensorBoard's add_histogram().

    BENCH_ROUNDS=7 BENCH_PARTS=every,log_freq,budget watch_bench.py [WORD...]
                                                 only models whose name has a WORD

Ratios to the bare training, as in record_bench.py; process time with one thread, so that
the thread that writes the history counts too. Everything is logged in every step unless
the line says otherwise. The peers are installed from PyPI into a separate folder
(BENCH_WATCH_PEERS, or build/watch_peers); the table names missing ones.
"""

import contextlib
import functools
import io
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bench  # noqa: E402
import record_bench  # noqa: E402

import record_models  # noqa: E402
import torch  # noqa: E402
import torchoscope  # noqa: E402

PEERS = Path(os.environ.get("BENCH_WATCH_PEERS", bench.ROOT / "build" / "watch_peers"))
STEPS = 3  # of a timed run
TRAINING = float(os.environ.get("BENCH_TRAINING", "20"))  # seconds, of the budget
PARTS = os.environ.get("BENCH_PARTS", "every,log_freq,budget").split(",")


def install_peers():
    if not PEERS.exists() and not os.environ.get("TORCHOSCOPE_NO_INSTALL"):
        names = "wandb, tensorboard and torchexplorer"
        print(f"installing {names} into {PEERS} ...", file=sys.stderr)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", PEERS]
        subprocess.run([*pip, "wandb", "tensorboard"], capture_output=True)
        explorer = ["torchexplorer", "loguru", "pygraphviz"]
        subprocess.run([*pip, "--no-deps", *explorer], capture_output=True)
    sys.path.append(str(PEERS))


# --- the participants: contexts that give a function to call after each step, or None


class Ours:
    """`first`: steps before the timed ones, so that the file exists."""

    def __init__(self, folder, trainer, steps=STEPS, first=1, **options):
        self.folder, self.trainer, self.options = folder, trainer, options
        self.steps, self.first = steps, first

    @contextlib.contextmanager
    def __call__(self):
        with contextlib.redirect_stderr(io.StringIO()):
            model = self.trainer.model
            with torchoscope.watch(model, dir=self.folder, **self.options) as handle:
                many(self.trainer, self.first)()
                yield handle

    def run(self, handle):
        many(self.trainer, self.steps)()
        handle._writer.flush()


def many(trainer, steps):
    def run(_=None):
        for _ in range(steps):
            trainer.step()

    return run


@contextlib.contextmanager
def tensorboard(model, folder):
    """add_histogram() of the same tensors: results and their gradients by hooks, then
        parameters and their gradients."""
    from torch.utils.tensorboard import SummaryWriter

    found, handles = {}, []

    def hook(name):
        def keep(module, args, result):
            if isinstance(result, torch.Tensor) and result.is_floating_point():
                found[f"{name}/output"] = result.detach()
                if result.requires_grad:
                    result.register_hook(
                        lambda gradient: found.update({f"{name}/grad_output": gradient})
                    )

        return keep

    for name, module in model.named_modules():
        handles.append(module.register_forward_hook(hook(name)))
    writer, at = SummaryWriter(folder), iter(range(10**9))

    def log():
        step = next(at)
        for name, value in found.items():
            writer.add_histogram(name, value, step)
        for name, value in model.named_parameters():
            writer.add_histogram(name, value.detach(), step)
            if value.grad is not None:
                writer.add_histogram(f"{name}/grad", value.grad, step)
        found.clear()

    try:
        yield log
    finally:
        writer.close()
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def wandb_watch(model, folder):
    import wandb

    settings = wandb.Settings(silent=True, console="off")
    run = wandb.init(mode="offline", dir=folder, project="bench", settings=settings)
    wandb.watch(model, log="all", log_freq=1)
    try:
        yield lambda: wandb.log({"step": 1})
    finally:
        wandb.unwatch(model)
        run.finish()


@contextlib.contextmanager
def torchexplorer_watch(model, folder):
    """Its cheapest backend, and the switches without which ResNets fail."""
    with contextlib.redirect_stdout(io.StringIO()):
        import torchexplorer

    with contextlib.suppress(ValueError):  # it raises the limit of the stack
        torchexplorer.setup()
    torchexplorer.watch(
        model,
        log_freq=1,
        backend="none",
        disable_inplace=True,
        ignore_io_grad_classes=[record_models.Basic, record_models.Bottleneck],
    )
    try:
        yield lambda: None
    finally:
        for module in model.modules():  # it has no way to stop
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
            module._backward_hooks.clear()


OTHERS = {
    "torchexplorer": torchexplorer_watch,
    "wandb.watch": wandb_watch,
    "tensorboard": tensorboard,
}


def run_other(trainer):
    def run(log):
        for _ in range(STEPS):
            trainer.step()
            log()

    return run


# --- the table


def every_step(name, trainer, table, folder):
    ours = Ours(folder, trainer, log_freq=1)
    variants = {"every step": (ours, ours.run)}
    for other, context in OTHERS.items():
        make = functools.partial(context, trainer.model, folder)
        variants[other] = (make, run_other(trainer))
    record_bench.PACKAGES.update(dict.fromkeys(OTHERS))  # peers that may fail
    goals = {"every step": 1.15 if name.startswith("ResNet-50") else 1.10}
    goals = {} if name.startswith("tiny") else goals
    found = record_bench.beside(many(trainer, STEPS), variants, time.process_time, goals)
    for variant, ratios in found.items():
        target, note = goals.get(variant), record_bench.of(ratios)
        table.line(variant, ratios, record_bench.as_ratio, target, note=note)


def some_steps(what, ours, goal, table, rounds):
    bare = many(ours.trainer, ours.steps)
    variants = {what: (ours, ours.run)}
    found = record_bench.beside(
        bare, variants, time.process_time, rounds=rounds, seconds=0
    )[what]
    note = record_bench.of(found)
    table.line(what, found, record_bench.as_ratio, goal, note=note)


def one_model(name, make, folder):
    torch.manual_seed(1)
    trainer = record_bench.Trainer(*make())
    table = bench.Table(f"Watching {name}, 1 thread, process time")
    if "every" in PARTS:
        every_step(name, trainer, table, folder)
    # Step 10 is logged, and written when step 11 begins.
    tenth = Ours(folder, trainer, 10, 2, log_freq=10)
    if "log_freq" in PARTS and not name.startswith("tiny"):
        some_steps("log_freq=10", tenth, 1.03, table, record_bench.ROUNDS)
    if "budget" in PARTS:
        budget(trainer, table, folder)
    return table.short


def budget(trainer, table, folder):
    """A whole training, with the start and end of watch()."""
    trainer.step()
    took = record_bench.timed(time.process_time, trainer.step)
    steps = max(20, int(TRAINING / took))
    whole = Ours(folder, trainer, steps, 0)
    some_steps(f"budget=0.03, {steps} steps", whole, 1.03, table, 3)


def main():
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    os.environ["WANDB_MODE"] = "offline"
    install_peers()
    print(f"torch {torch.__version__}, medians of {record_bench.ROUNDS}")
    models = {**record_models.ALL, "tiny layers, 2,000": record_models.tiny}
    short = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in models.items():
            if not words or any(word in name for word in words):
                short += one_model(name, make, folder)
    print(
        f"\n{short} figures are short of their target" if short else "\nall targets met"
    )


if __name__ == "__main__":
    main()
