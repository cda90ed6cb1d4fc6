"""watch() records operations of the first logged step with a backward: the same as
record(ops=True), wherever that changes nothing for the user."""

import os
import threading
import unittest
import unittest.mock
import warnings

import torch
from architectures import ARCHITECTURES
from torch import nn
from torch.utils.checkpoint import checkpoint

import torchoscope
from identity_test import for_each_architecture, seed
from torchoscope import op_kinds
from watch_test import Watched, small, train

torch.set_num_threads(1)
PHASES = {"forward", "backward", "optimizer"}


def setUpModule():
    if op_kinds.why_not() is not None:
        raise unittest.SkipTest(op_kinds.why_not())


def depth():
    """How many modes are on the stack of this thread."""
    return torch._C._len_torch_dispatch_stack()


def what(ops):
    return [(op.name, op.phase, op.module, op.call) for op in ops]


class Operations(Watched):
    def tearDown(self):
        self.assertEqual(depth(), 0)
        super().tearDown()

    def opened(self, handle):
        handle.close()
        return torchoscope.open(handle.path)

    def has_ops(self, history):
        try:
            return len(history.ops()) > 0
        except torchoscope.Error:
            return False


@for_each_architecture
class TheSame(Operations):
    """As those of record(ops=True), in the same step."""

    def check(self, name):
        architecture, found = ARCHITECTURES[name], []

        def step():
            optimizer.zero_grad()
            loss = architecture.loss(model(*inputs), *inputs)
            loss.backward()
            optimizer.step()

        for watched in (True, False):
            seed()
            model, inputs = architecture.make_model(), architecture.make_inputs()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            if watched:
                handle = self.watch(model)
                for _ in range(3):
                    step()
                run = self.opened(handle)
                self.assertEqual(run.steps, [0, 1, 2])
            else:
                with torchoscope.record(model, ops=True) as run:
                    step()
            found.append(what(run.ops()))
        phases = {"forward", "backward", "optimizer"}
        self.assertLessEqual(phases, {phase for _, phase, *_ in found[0]})
        self.assertEqual(*found)


class FirstStep(Operations):
    """Which step it is."""

    def test_a_warm_up_without_gradients_is_replaced(self):
        model = small()
        handle = self.watch(model)
        with torch.no_grad():
            model(torch.randn(5, 4))
            model(torch.randn(5, 4))
        first = handle.history()
        self.assertEqual({op.phase for op in first.ops()}, {"forward"})
        self.assertEqual(first.calls()[0].inputs[0].shape, [5, 4])
        train(model, 3)
        run = self.opened(handle)
        self.assertEqual({op.phase for op in run.ops()}, PHASES)
        self.assertEqual(run.calls()[0].inputs[0].shape, [3, 4])
        self.assertEqual((run.steps, run.eval_steps()), ([2, 3, 4], [0, 1]))
        self.assertEqual(len(run.series("0.weight", "grad_param")), 3)
        self.assertEqual(run.gaps, [])

    def test_passes_with_gradients_but_no_backward(self):
        model = small().eval()
        handle = self.watch(model)
        for _ in range(3):
            model(torch.randn(5, 4))
        train(model, 2)
        self.assertEqual({op.phase for op in self.opened(handle).ops()}, PHASES)

    def test_evaluation_alone_has_its_first_pass(self):
        model, entered = small(), []
        enter = op_kinds.Entered
        with unittest.mock.patch.object(
            op_kinds, "Entered", lambda mode: entered.append(1) or enter(mode)
        ):
            handle = self.watch(model)
            with torch.no_grad():
                for _ in range(5):
                    model(torch.randn(3, 4))
            run = self.opened(handle)
        self.assertEqual([op.phase for op in run.ops()].count("forward"), 5)
        self.assertEqual(entered, [1])

    def test_tries_without_a_backward_end(self):
        model, entered = small().eval(), []
        enter = op_kinds.Entered
        with unittest.mock.patch.object(
            op_kinds, "Entered", lambda mode: entered.append(1) or enter(mode)
        ):
            handle = self.watch(model)
            for _ in range(9):
                model(torch.randn(3, 4))
            self.assertTrue(self.has_ops(self.opened(handle)))
        self.assertEqual(len(entered), 4)

    def test_a_resumed_file_keeps_its_recording(self):
        handle = self.watch(small())
        with torch.no_grad():
            small()(torch.randn(3, 4))
        train(next(iter(handle._recorder._modules))[1], 1)
        handle.close()
        before = what(torchoscope.open(handle.path).ops())
        model = small()
        again = self.watch(model, resume=handle.path)
        train(model, 2)
        run = self.opened(again)
        self.assertEqual(what(run.ops()), before)
        self.assertEqual(run.steps, [0, 1, 2])

    def test_the_structure_alone_and_memory(self):
        model = small()
        handle = self.watch(model, log=[])
        train(model, 2)
        self.assertTrue(self.has_ops(self.opened(handle)))
        model = small()
        handle = self.watch(model, backend="none")
        with torch.no_grad():
            model(torch.randn(3, 4))
        train(model, 2)
        self.assertEqual({op.phase for op in handle.history().ops()}, PHASES)

    def test_only_some_steps_are_logged(self):
        model = small()
        handle = self.watch(model, log_freq=3)
        with torch.no_grad():
            model(torch.randn(5, 4))
        train(model, 7)
        self.assertEqual({op.phase for op in self.opened(handle).ops()}, PHASES)

    def test_a_replaced_model_keeps_the_first_recording(self):
        model = small()
        handle = self.watch(model)
        with torch.no_grad():
            model(torch.randn(5, 4))
        model[0] = nn.Linear(4, 8)
        train(model, 2)
        run = self.opened(handle)
        self.assertEqual({op.phase for op in run.ops()}, {"forward"})
        self.assertEqual(len(run.series("0.weight", "grad_param")), 2)


class Odd(Operations):
    """Trainings that are not one forward, one backward and one step."""

    def phases(self, handle):
        return [op.phase for op in self.opened(handle).ops()]

    def test_accumulation_and_a_closure(self):
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for _ in range(2):
            for _ in range(3):
                model(torch.randn(3, 4)).sum().backward()
            optimizer.step()
        run = self.opened(handle)
        self.assertEqual(len(run.ops(name="addmm", phase="forward")), 6)
        model = small()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
        handle = self.watch(model)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(3, 4)).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        found = self.phases(handle)
        self.assertLessEqual(PHASES, set(found))

    def test_checkpoints(self):
        class Saved(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = small()

            def forward(self, x):
                return checkpoint(self.inner, x, use_reentrant=False)

        model = Saved()
        handle = self.watch(model)
        train(model, 2)
        self.assertIn("recompute", self.phases(handle))

    def test_a_scaler_that_skips(self):
        model = small()
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(model)
        for step in range(3):
            optimizer.zero_grad()
            scaler.scale(model(torch.randn(3, 4)).sum()).backward()
            if step == 0:
                model[0].weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        run = self.opened(handle)
        self.assertEqual(handle.alarms(), [])
        self.assertEqual(run.steps, [0, 1, 2])
        self.assertIn("backward", {op.phase for op in run.ops()})

    def test_two_watches(self):
        models = small(), small()
        optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
        handles = [self.watch(one) for one in models]
        for _ in range(2):
            models[1](models[0](torch.randn(3, 4)).repeat(1, 2)).sum().backward()
            for optimizer in optimizers:
                optimizer.step()
        for handle in handles:
            run = self.opened(handle)
            self.assertEqual({op.phase for op in run.ops()}, PHASES)
            inside = [op for op in run.ops(name="addmm") if op.module is not None]
            self.assertEqual(len(inside), 2)

    def test_several_models_as_one(self):
        models = [small(), small()]
        optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
        handle = self.watch(models)
        for _ in range(4):
            for model, optimizer in zip(models, optimizers):
                optimizer.zero_grad()
                model(torch.randn(3, 4)).sum().backward()
                optimizer.step()
        run = self.opened(handle)
        self.assertEqual(len(run.ops(name="addmm", phase="forward")), 4)
        self.assertEqual(len({call.name.split(".")[0] for call in run.calls()}), 2)

    def test_forward_raises(self):
        class Raises(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.wrong = nn.Linear(4, 4), True

            def forward(self, x):
                x = self.first(x)
                if self.wrong:
                    raise ValueError("wrong")
                return x

        model = Raises()
        handle = self.watch(model)
        with self.assertRaises(ValueError):
            model(torch.randn(3, 4))
        self.assertEqual(depth(), 0)
        model.wrong = False
        train(model, 2)
        run = self.opened(handle)
        self.assertEqual({op.phase for op in run.ops()}, PHASES)
        self.assertEqual([bool(call.error) for call in run.calls("")], [True, False])

        model.wrong = True
        handle = self.watch(model)
        with self.assertRaises(ValueError), handle:
            model(torch.randn(3, 4))
        self.assertEqual(depth(), 0)

    def test_backward_raises_and_the_watch_is_closed(self):
        def fail(gradient):
            raise ValueError("wrong")

        model = small()
        handle = self.watch(model)
        made = model(torch.randn(3, 4))
        made.register_hook(fail)
        with self.assertRaises(ValueError):
            made.sum().backward()
        run = self.opened(handle)
        self.assertEqual(depth(), 0)
        self.assertLessEqual({"forward"}, {op.phase for op in run.ops()})

    def test_a_step_that_never_ends(self):
        model = small()
        handle = self.watch(model)
        made = model(torch.randn(3, 4))
        x = torch.zeros(())
        for _ in range(17000):
            x.neg()
        n = handle._recorder._core.n_ops
        self.assertLess(n, 16500)
        self.assertGreater(n, 16300)
        made.sum().backward()
        model(torch.randn(3, 4))
        self.assertGreater(handle._recorder._core.n_ops, n + 5)
        handle.close()

    def test_other_threads_leave_their_modes(self):
        model, seen = small(), []
        handle = self.watch(model)

        def work():
            train(model, 2)
            seen.append(depth())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(seen, [0])
        self.assertEqual({op.phase for op in self.opened(handle).ops()}, PHASES)

    def test_the_limit_follows_that_of_the_file(self):
        model = small()
        handle = self.watch(model, limit="1MB")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(60):
            model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
        run = self.opened(handle)
        self.assertEqual(len(run.ops()), 10**6 // 1600)
        self.assertGreater(run.ops().lost, 100)

    def test_our_own_operations_are_not_there(self):
        def alarmed(alarm):
            torch.ones(3).cumprod(0)

        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = self.watch(
            model,
            on_alarm=alarmed,
            time_log=("sum", lambda *_: torch.ones(3).cumsum(0).sum().item()),
        )
        loss = model(torch.randn(3, 4)).sum() * float("nan")
        loss.backward()
        optimizer.step()
        names = {op.name for op in self.opened(handle).ops()}
        self.assertFalse(names & {"aten::cumsum", "aten::cumprod", "aten::clone"})
        self.assertNotIn("aten::_local_scalar_dense", names)
        self.assertEqual(len(handle.alarms()), 1)

    def test_a_budget_does_not_count_it_as_a_step(self):
        model = small()
        handle = self.watch(model, log_freq=None, budget=0.5)
        told = []
        rule, real = handle._budget._rule, handle._budget._rule.report
        rule.report = lambda mode, user, own, size: told.append(own) or real(
            mode, user, own, size
        )
        train(model, 1)
        core = handle._recorder._core
        ops_ns, cost = core.ops_ns, core.cost_ns
        self.assertGreater(ops_ns, 0)
        train(model, 1)
        self.assertLess(told[0], cost + 8000)
        self.assertGreaterEqual(cost + core.n_ops * core.op_ns, ops_ns)


class Attached(Operations):
    def test_a_tensor_that_is_attached_is_an_operation_that_reads_it(self):
        class Attaching(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)

            def forward(self, x):
                x = torchoscope.attach(self.first(x).tanh(), self, "latent")
                return self.last(x)

        model = nn.Sequential(Attaching(), nn.ReLU())
        handle = self.watch(model)
        train(model, 2)
        run = self.opened(handle)
        (op,) = run.ops(name="torchoscope::attach")
        self.assertEqual((op.module, op.phase), ("0", "forward"))
        self.assertEqual(op.attributes, {"name": "latent"})
        (value,) = op.inputs
        self.assertEqual((value.shape, value.producer.name), ((3, 4), "aten::tanh"))
        self.assertEqual((op.outputs, op.written, op.ns), ([], [], 0))
        self.assertIn(os.path.basename(__file__), op.line)
        self.assertEqual(len(run.series("0", "output", path="latent")), 2)
        svg = torchoscope.graph(run).svg
        self.assertRegex(svg, r'data-kind="attached"[^>]*>(?s:.*?)latent')


class Alarms(Operations):
    def test_a_nan_in_the_first_step_is_found_as_ever(self):
        class Bad(nn.Module):
            def forward(self, x):
                return x.log()

        model = nn.Sequential(nn.Linear(4, 4), Bad(), nn.Linear(4, 2))
        handle = self.watch(model, on_alarm=None)
        train(model, 3)
        run = self.opened(handle)
        names = [(one["kind"], one["step"], one["name"]) for one in run.alarms()]
        self.assertEqual(names[0], ("nan", 0, "1"))
        self.assertEqual({op.phase for op in run.ops()}, PHASES)


class Compiled(Operations):
    """No graph, break or recompilation more than without watch(), and the same bits."""

    def run_once(self, kind, watched, when, backend):
        from torch._dynamo.utils import counters

        torch._dynamo.reset()
        counters.clear()
        seed()
        model, compiled = nn.Sequential(small(), nn.Linear(2, 4), nn.Tanh()), {}
        call, loss_of = model, lambda y: (y.square() * 2).mean()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = optimizer.step
        handle = self.watch(model) if watched and when == "before" else None

        def compile(function):
            return torch.compile(function, backend=backend)

        if kind == "model":
            call = compile(model)
        elif kind == "part":
            model[0] = compile(model[0])
        elif kind == "in place":
            model[0].compile(backend=backend)
        elif kind == "loss":
            loss_of = compile(loss_of)
        elif kind == "pass":
            inner, call = loss_of, lambda x: x
            loss_of = compile(lambda x: inner(model(x)))
        elif kind == "optimizer":
            step = compile(lambda: optimizer.step())
        losses = []
        for i in range(5):
            if watched and when == "after" and i == 1:
                handle = self.watch(model)
            optimizer.zero_grad()
            loss = loss_of(call(torch.randn(3, 4)))
            loss.backward()
            step()
            losses.append(loss.item())
        compiled["losses"] = losses
        compiled["graphs"] = counters["stats"].get("unique_graphs", 0)
        compiled["breaks"] = sum(counters["graph_break"].values())
        compiled["recompiled"] = sum(counters["recompiles"].values())
        return compiled, handle

    def check(self, kind, ops, backends=("eager", "aot_eager")):
        for backend in backends:
            for when in ("before", "after"):
                with self.subTest(backend=backend, when=when), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    plain, _ = self.run_once(kind, False, when, backend)
                    found, handle = self.run_once(kind, True, when, backend)
                    run = self.opened(handle)
                    self.assertEqual(depth(), 0)
                    if kind == "optimizer":  # torch's own hook breaks graphs, too
                        self.assertLessEqual(found.pop("breaks"), plain.pop("breaks"))
                    self.assertEqual(found, plain)
                    if ops is not None:
                        self.assertEqual(self.has_ops(run), ops)

    def test_the_model(self):
        self.check("model", False)

    def test_a_part_of_it(self):
        self.check("part", False)

    def test_a_part_in_place(self):
        self.check("in place", False)

    def test_its_loss(self):
        self.check("loss", True)

    def test_a_pass(self):
        self.check("pass", False)

    def test_the_optimizer(self):
        self.check("optimizer", True, ["eager"])

    def test_what_was_cut_is_said(self):
        _, handle = self.run_once("loss", True, "before", "eager")
        run = self.opened(handle)
        self.assertEqual({op.phase for op in run.ops()}, {"forward"})
        self.assertIn("compiled", [gap.kind for gap in run.gaps])

    def test_nothing_was_compiled(self):
        self.check("nothing", True, ["eager"])


if __name__ == "__main__":
    unittest.main()
