# flavours: both
"""torch's global hooks leave no trace: models that are compiled, scripted, traced,
exported, copied or pickled while a listener is active are unchanged."""

import copy
import io
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from torchoscope import forward_stats, hooks

forward_stats.install()  # as the first recording does
NEW = hasattr(torch, "compiler")


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + torch.relu(self.norm(self.first(x)))


def net():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(8, 3))


X = torch.linspace(-1, 1, 16).reshape(2, 8)


class Heard:
    """A listener that records its calls."""

    def __init__(self):
        self.before, self.after, self.errors = [], [], []
        self.keywords = []

    def __enter__(self):
        def before(module, args, kwargs=None):
            self.before.append(module)

        def after(module, args, kwargs, result):
            self.after.append(module)
            self.keywords.append(kwargs)

        def raised(module, args, error):
            self.errors.append((module, error))

        self.listener = hooks.Listener(before, after, raised)
        hooks.add(self.listener)
        return self

    def __exit__(self, *_):
        hooks.remove(self.listener)


def _ignore(*_):
    pass


class Clean(unittest.TestCase):
    def tearDown(self):
        tables = [name for name in vars(torch_module) if name.startswith("_global_")]
        self.assertGreater(len(tables), 3)
        for name in tables:
            self.assertFalse(getattr(torch_module, name), name)


class Listening(Clean):

    def test_every_call_is_heard_once_and_results_do_not_change(self):
        model = net()
        plain = model(X)
        with Heard() as heard:
            hooked = model(X)
        self.assertTrue(torch.equal(plain, hooked))
        self.assertEqual(len(heard.before), 8)
        self.assertEqual(set(heard.after), set(heard.before))
        self.assertEqual(len(heard.after), 8)

    def test_keywords_are_known_for_any_forward(self):
        class Changing(nn.Module):
            def forward(self, x):
                return x

        def with_scale(self, x, *, scale=1):
            return x * scale

        model, known = Changing(), []
        listener = hooks.Listener(lambda *call: known.append(call[2:]), _ignore, _ignore)
        hooks.add(listener)
        try:
            model(X)
            Changing.forward = with_scale
            model(X, scale=2)
            model(x=X)
            model.forward = lambda x, more: x
            model(X, more=3)
        finally:
            hooks.remove(listener)
        wanted = [({},), ({"scale": 2},), ({"x": X},), ({"more": 3},)]
        self.assertEqual(known, wanted)

    def test_base_exceptions_reach_the_user(self):
        def interrupted(*_):
            raise KeyboardInterrupt

        listener = hooks.Listener(interrupted, interrupted, interrupted)
        hooks.add(listener)
        try:
            with self.assertRaises(KeyboardInterrupt):
                net()(X)
        finally:
            hooks.remove(listener)

    def test_two_listeners_get_the_same_calls_and_stop_in_any_order(self):
        model = net()
        one, two = Heard(), Heard()
        one.__enter__()
        two.__enter__()
        model(X)
        one.__exit__()
        model(X)
        two.__exit__()
        model(X)
        self.assertEqual((len(one.after), len(two.after)), (8, 16))

    def test_a_failing_listener_does_not_affect_the_user(self):
        def fails(*_):
            raise ValueError("ours")

        listener = hooks.Listener(fails, fails, fails)
        model = net()
        hooks.add(listener)
        try:
            self.assertEqual(model(X).shape, (2, 3))
            with self.assertRaises(RuntimeError):
                model(X[:, :3])
        finally:
            hooks.remove(listener)

    def test_keywords_are_heard(self):
        class Scaled(nn.Module):
            def forward(self, x, scale=1.0):
                return x * scale

        model = Scaled()
        with Heard() as heard:
            model(X, scale=2.0)
        self.assertEqual(heard.keywords, [{"scale": 2.0}])

    @unittest.skipUnless(hooks.SEES_EXCEPTIONS, "this torch does not report exceptions")
    def test_a_forward_that_raises_is_heard_from_inside_out(self):
        model = net()
        with Heard() as heard:
            with self.assertRaises(RuntimeError) as caught:
                model(X[:, :3])
        modules = [module for module, _ in heard.errors]
        self.assertEqual(modules, [model[0].first, model[0], model])
        self.assertTrue(all(e is caught.exception for _, e in heard.errors))
        self.assertEqual(heard.after, [])

    def test_returning_none_inside_an_except_block_is_not_a_failure(self):
        class Nothing(nn.Module):
            def forward(self, x):
                return None

        model = Nothing()
        with Heard() as heard:
            try:
                raise KeyError("the user's own")
            except KeyError:
                model(X)
        self.assertEqual((heard.errors, heard.after), ([], [model]))

    def test_two_threads_are_heard(self):
        models = [net(), net()]
        with Heard() as heard:
            threads = [
                threading.Thread(target=lambda m=m: [m(X) for _ in range(50)])
                for m in models
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(heard.after), 800)
        self.assertEqual(len(heard.before), 800)

    def test_listeners_come_and_go_while_another_thread_runs(self):
        model, stop, errors = net(), threading.Event(), []

        def run():
            try:
                while not stop.is_set():
                    model(X)
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        for _ in range(100):
            with Heard():
                model(X)
        stop.set()
        thread.join()
        self.assertEqual(errors, [])


class Copies(Clean):
    """Copies made while listening have no trace of it."""

    def test_a_deep_copy_is_equal_and_has_no_hooks(self):
        model = net()
        with Heard() as heard:
            twin = copy.deepcopy(model)
        self.assertFalse(twin._forward_hooks)
        self.assertTrue(torch.equal(twin(X), model(X)))
        self.assertEqual(heard.before, [])

    def test_pickle_is_byte_for_byte_the_same(self):
        model = net()
        plain = pickle.dumps(model)
        with Heard():
            model(X)
            hooked = pickle.dumps(model)
        self.assertEqual(plain, hooked)

    def test_a_model_saved_while_listening_loads_without_torchoscope(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.pt"
            with Heard():
                model(X)
                torch.save(model, path)
            code = (
                "import sys, torch, inspect\n"
                "more = {'weights_only': False} if 'weights_only' in "
                "inspect.signature(torch.load).parameters else {}\n"
                "m = torch.load(sys.argv[1], **more)\n"
                "assert 'torchoscope' not in sys.modules\n"
                "print(tuple(m(torch.ones(2, 8)).shape))\n"
            )
            env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            command = [sys.executable, "-c", code, str(path)]
            done = subprocess.run(command, env=env, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "(2, 8)", done.stderr)

    def test_scripting_and_tracing_give_the_same_code(self):
        model = net().eval()

        def both():
            traced = torch.jit.trace(model, X, check_trace=False)
            return torch.jit.script(model), traced

        script, trace = both()
        with Heard() as heard:
            script2, trace2 = both()
        self.assertEqual(script.code, script2.code)
        self.assertEqual(trace.code, trace2.code)
        for one in (script2, trace2):
            buffer = io.BytesIO()
            torch.jit.save(one, buffer)
        self.assertFalse(any(m is model[0].first for m in heard.after))

    def test_a_module_that_traces_itself_is_heard_once(self):
        class Tracing(nn.Module):
            def forward(self, x):
                if not torch.jit.is_tracing():
                    torch.jit.trace(self, x, check_trace=False)
                return x

        model = Tracing()
        with Heard() as heard:
            model(X)
            model(X)
        self.assertEqual((heard.before, heard.after), ([model] * 2, [model] * 2))

    def test_fx_sees_the_same_graph(self):
        model = net()
        plain = torch.fx.symbolic_trace(model).code
        with Heard():
            self.assertEqual(torch.fx.symbolic_trace(model).code, plain)

    @unittest.skipUnless(NEW, "no torch.export")
    def test_export_sees_the_same_graph(self):
        model = net().eval()
        plain = torch.export.export(model, (X,)).graph_module.code
        with Heard() as heard:
            self.assertEqual(torch.export.export(model, (X,)).graph_module.code, plain)
        self.assertEqual(heard.after, [])


@unittest.skipUnless(NEW, "no torch.compile")
class Compiled(Clean):
    def setUp(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    def graphs(self):
        counters = torch._dynamo.utils.counters
        return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())

    def compiled(self, model):
        return torch.compile(model, backend="eager", fullgraph=True)

    def test_compiling_while_listening_makes_one_whole_graph(self):
        model = net()
        plain = model(X)
        compiled = self.compiled(model)
        with Heard() as heard:
            self.assertTrue(torch.equal(compiled(X), plain))
            self.assertEqual(self.graphs(), (1, 0))
            compiled(X)
        compiled(X)
        self.assertEqual(self.graphs(), (1, 0))
        self.assertIn(compiled, heard.after)
        self.assertNotIn(model[0], heard.after)

    def test_listening_later_compiles_nothing_again(self):
        model = net()
        compiled = self.compiled(model)
        compiled(X)
        filters = list(warnings.filters)
        with Heard() as heard, warnings.catch_warnings(record=True) as said:
            compiled(X)
        compiled(X)
        self.assertEqual([str(one.message) for one in said], [])
        self.assertEqual(warnings.filters, filters)
        self.assertEqual(self.graphs(), (1, 0))
        self.assertIn(compiled, heard.after)

    def test_an_eager_step_is_heard_and_compiled_code_is_reused(self):
        model = net()
        compiled = self.compiled(model)
        compiled(X)
        with Heard() as heard, torch.compiler.set_stance("force_eager"):
            compiled(X)
        compiled(X)
        self.assertEqual(self.graphs(), (1, 0))
        self.assertTrue({model, model[0], model[0].first} <= set(heard.after))

    def test_watching_the_compiler_ends_with_the_last_listener(self):
        handler = torch._dynamo.callback_handler
        with Heard():
            net()(X)
            self.assertTrue(handler.start_callbacks)
        self.assertFalse(handler.start_callbacks or handler.end_callbacks)

    def in_place(self):
        model = net()
        model[0].compile(backend="eager", fullgraph=True)
        return model

    def test_a_module_compiled_in_place_is_heard_at_its_boundary(self):
        model = self.in_place()
        before = model[0]._compiled_call_impl
        with Heard() as heard:
            wrapped = hooks.wrap_compiled(model.modules())
            again = hooks.wrap_compiled(model.modules())
            model(X)
            twin = copy.deepcopy(model)
            data = pickle.dumps(model)
            hooks.unwrap_compiled(again)
            model(X)
            hooks.unwrap_compiled(wrapped)
        self.assertIs(model[0]._compiled_call_impl, before)
        self.assertIsNone(twin[0]._compiled_call_impl)
        self.assertNotIn(b"torchoscope", data)
        self.assertEqual(heard.after.count(model[0]), 2)
        self.assertNotIn(model[0].first, heard.after)
        self.assertEqual(self.graphs(), (1, 0))

    def test_a_wrapped_module_that_runs_eagerly_is_heard_once(self):
        model = self.in_place()
        with Heard() as heard:
            wrapped = hooks.wrap_compiled(model.modules())
            with torch.compiler.set_stance("force_eager"):
                model(X)
            hooks.unwrap_compiled(wrapped)
        self.assertEqual(heard.after.count(model[0]), 1)
        self.assertEqual(heard.before.count(model[0]), 1)
        self.assertEqual(heard.after.count(model[0].first), 1)

    def test_a_wrapped_module_that_raises_is_unwrapped_and_reported(self):
        model = self.in_place()
        with Heard() as heard:
            wrapped = hooks.wrap_compiled(model.modules())
            with self.assertRaises(Exception):
                model(X[:, :3])
            hooks.unwrap_compiled(wrapped)
        self.assertIn(model[0], [module for module, _ in heard.errors])
        model(X)


if __name__ == "__main__":
    unittest.main()
