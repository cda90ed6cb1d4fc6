# flavours: both
"""watch() changes nothing: twenty steps of training give the same bits with it and
without it, however odd the training is."""

import unittest

import torch
from architectures import ARCHITECTURES

import identity_test
import torchoscope
from identity_test import all_of_it, bits, for_each_architecture, left_behind, seed
from watch_test import Watched

torch.set_num_threads(1)
STEPS = 20


def train_oddly(name, watched, folder):
    """Accumulation, a closure, evaluation in between, two optimizers one after the other:
    what came of it, by name."""
    architecture = ARCHITECTURES[name]
    seed()
    model = architecture.make_model()
    weights = list(model.parameters())
    optimizers = [
        torch.optim.SGD(weights, lr=0.05, momentum=0.9),
        torch.optim.Adam(weights, lr=0.003),
    ]
    found = {}
    handle = torchoscope.watch(model, dir=folder, log_freq=watched) if watched else None

    def backward(step):
        inputs = architecture.make_inputs()
        loss = architecture.loss(model(*inputs), *inputs)
        loss.backward()
        found[f"loss, step {step}"] = bits(loss)
        return loss

    for step in range(STEPS):
        optimizer = optimizers[step * 2 // STEPS]
        optimizer.zero_grad()
        if step % 5 == 1:
            backward(step)
        if step % 5 == 2:
            optimizer.step(lambda step=step: backward(step))
        else:
            backward(step)
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
        if step % 5 == 3:
            model.eval()
            with torch.no_grad():
                model(*architecture.make_inputs())
            model.train()
        found.update(all_of_it(model, step))
        if handle and handle._writer:
            handle._writer.flush()  # a busy disk drops steps
    if handle:
        handle.close()
    return found, model, handle


@for_each_architecture
class Identity(Watched):
    def check(self, name):
        wanted, plain, _ = train_oddly(name, None, self.folder)
        for log_freq in (1, 3):
            found, model, handle = train_oddly(name, log_freq, self.folder)
            differ = [key for key in wanted if found[key] != wanted[key]]
            self.assertEqual(differ[:5], [])
            self.assertEqual(left_behind(model), left_behind(plain))
            self.assertEqual(handle.steps, STEPS)
            history = torchoscope.open(handle.path)
            if log_freq == 1:
                self.assertEqual(history.steps, list(range(STEPS)))
                self.assertEqual(history.eval_steps(), [3, 8, 13, 18])
            else:
                self.assertLess(len(history.steps), STEPS)
        hooks = vars(identity_test.torch_module)
        for key in (key for key in hooks if key.startswith("_global_")):
            self.assertFalse(hooks[key], key)


if __name__ == "__main__":
    unittest.main()
