# flavours: both
"""The project's own tools: the include check, the demos, the output of make test."""

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import scope
import torch
import torchoscope
from folder import TemporaryFolder

ROOT = Path(__file__).resolve().parents[2]

TABLE = """
| room | role | may include | the one library it owns |
| --- | --- | --- | --- |
| `src/base` | memory | - | libc, pthread |
| `src/model` | places | base | |
| `src/read` | files | base, model | zlib; libcurl in a module |
| `src/cli` | `main.c` | all of the above | |
"""


class IncludeCheck(TemporaryFolder):
    def check(self):
        command = [sys.executable, ROOT / "tools/check_includes.py", self.folder]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def refuses(self, file, text, sentence):
        self.write("ARCHITECTURE.md", TABLE)
        self.write(file, text)
        status, output = self.check()
        self.assertEqual(status, 1, output)
        self.assertIn(sentence, output)

    def test_includes_allowed_by_the_table_pass(self):
        self.write("ARCHITECTURE.md", TABLE)
        self.write("src/base/err.c", '#include "base/err_in.h"\n')
        self.write("src/read/zip.c", '#include <zlib.h>\n#include "model/build.h"\n')
        self.write("src/cli/main.c", '#include "read/read.h"\n')
        self.assertEqual(self.check(), (0, ""))

    def test_an_include_against_the_table_fails(self):
        text = '\n#include "read/read.h"\n'
        self.refuses("src/model/model.c", text, "model.c:2: model may not include read")

    def test_an_inner_header_stays_in_its_room(self):
        text = '#include "base/scan_in.h"\n'
        self.refuses("src/read/json.c", text, "for the inside of base only")

    def test_a_header_is_named_with_its_room(self):
        text = '#include "zip.h"\n'
        self.refuses("src/read/zip.c", text, "does not begin with the name of a room")

    def test_folders_of_a_room_include_each_other_as_listed(self):
        table = TABLE + "| `src/read/zip` | archives | base | |\n"
        self.write("ARCHITECTURE.md", table.replace("model | zlib", "model, read/zip | zlib"))
        self.write("src/read/zip/zip.c", '#include "read/zip/zip_in.h"\n')
        self.write("src/read/read.c", '#include "read/zip/zip_in.h"\n')
        self.write("src/cli/main.c", '#include "read/zip/zip.h"\n')
        self.write("src/read/zip/zip_test.c", '#include "read/read.h"\n')
        self.assertEqual(self.check(), (0, ""))
        self.write("src/read/zip/zip.c", '#include "read/read_in.h"\n')
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("read/zip may not include read ", output)

    def test_a_struct_tag_has_one_meaning(self):
        self.write("src/base/list.c", "struct table {\n};\n")
        text = "struct table {\n};\n"
        self.refuses("src/read/table.c", text, "the tag table has several meanings")

    def test_a_library_belongs_to_one_room(self):
        text = "#include <zlib.h>\n"
        self.refuses("src/base/inflate.c", text, "zlib does not belong to src/base")

    def test_a_room_outside_the_table_fails(self):
        self.refuses("src/attic/old.c", "", "src/attic is not in the table of rooms")

    def test_a_file_over_800_lines_fails(self):
        self.refuses("src/read/long.c", "\n" * 801, "801 lines")

    def test_a_missing_page_is_named(self):
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("ARCHITECTURE.md is missing", output)


class DemoRecord(TemporaryFolder):
    def test_it_records_one_step_that_the_program_shows(self):
        path = self.folder / "demo" / "resnet.scope"
        command = [sys.executable, ROOT / "tools/demo_record.py", path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        recording = torchoscope.open(path)
        calls = recording.calls("layer2.0.relu")
        self.assertEqual([call.number for call in calls], [0, 1])
        self.assertEqual(calls[0].outputs[0].shape, [1, 32, 8, 8])
        self.assertEqual(calls[0].outputs[0].min, 0)
        [first] = recording.calls("conv1")
        self.assertGreater(first.grad_outputs[0].std, 0)
        self.assertFalse([gap for gap in recording.gaps if gap.name])
        shown = scope.run(path)
        self.assertEqual((shown.returncode, shown.stderr), (0, b""))
        self.assertIn("layer4: Sequential".encode(), shown.stdout)


class DemoModel(TemporaryFolder):
    def test_torch_reads_a_resnet18(self):
        path = self.folder / "resnet18.pth"
        subprocess.run([sys.executable, ROOT / "tools/demo_model.py", path], check=True)
        state = torch.load(path, weights_only=True)
        parameters = [t for name, t in state.items() if not is_buffer(name)]
        self.assertEqual(len(state), 122)
        self.assertEqual(sum(t.numel() for t in parameters), 11_689_512)
        self.assertEqual(state["layer2.0.downsample.0.weight"].shape, (128, 64, 1, 1))
        self.assertEqual(state["bn1.num_batches_tracked"].dtype, torch.int64)
        self.assertEqual(state._metadata["bn1"], {"version": 2})
        self.assertTrue(all(torch.isfinite(t).all() for t in state.values()))
        self.assertGreater(min(state["layer4.1.bn2.running_var"]), 0)

    def test_two_processes_may_make_the_same_file_at_once(self):
        path = self.folder / "resnet18.pth"
        command = [sys.executable, ROOT / "tools/demo_model.py", path]
        makers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
        said = [maker.communicate()[1] for maker in makers]
        self.assertEqual([maker.returncode for maker in makers], [0, 0], said)
        self.assertEqual(list(self.folder.iterdir()), [path])


SOME_TEST = """
import unittest

class Some(unittest.TestCase):
    def test_passes(self):
        pass
    @unittest.skipIf(True, "it isn't here")
    def test_one(self):
        pass
    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i):
                self.skipTest("no part") if i else None

@unittest.skip("no class")
class Class(unittest.TestCase):
    def test_a(self):
        pass
    def test_b(self):
        pass

class Late(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("too late")
    def test_a(self):
        pass

unittest.main()
"""


class RunTests(TemporaryFolder):
    def setUp(self):
        super().setUp()
        path = ROOT / "tools" / "run_tests.py"
        spec = importlib.util.spec_from_file_location("run_tests", path)
        self.tool = importlib.util.module_from_spec(spec)
        with mock.patch.object(sys, "argv", [str(path)]):
            spec.loader.exec_module(self.tool)
        self.tool.LOGS = self.folder

    def test_skipped_tests_are_counted_and_listed_with_their_reason(self):
        self.write("some_test.py", SOME_TEST)
        file = self.folder / "some_test.py"
        done = self.tool.run_python(file, Path(sys.executable), "")
        self.assertEqual(done[:3], (2, 0, 6), done[3])
        done = self.tool.run_python(file, None, "")
        self.assertEqual(done[:3], (0, 0, 1), done[3])
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            self.tool.what_was_skipped()
        for line in ("     2  no part: some_test 2\n", "     2  no class: some_test 2\n",
                     "     1  it isn't here: some_test\n", "     1  too late: some_test\n"):
            self.assertIn(line, shown.getvalue())
        self.assertRegex(shown.getvalue(), r"  1  whole file: .* no torch 2.13 .*: some_test")

    def test_tests_have_a_separate_home_folder(self):
        code = "open(os.path.expanduser('~/mark'), 'w').close()"
        self.write("mark_test.py", SOME_TEST.replace("pass\n", f"import os; {code}\n", 1))
        with mock.patch.dict(os.environ, HOME=str(self.folder / "user")):
            (self.folder / "user").mkdir()
            done = self.tool.run_python(
                self.folder / "mark_test.py", Path(sys.executable), ""
            )
        self.assertEqual(done[1], 0, done[3])
        self.assertEqual(list((self.folder / "user").iterdir()), [])
        self.assertTrue((self.folder / "home" / "mark").exists())


def is_buffer(name):
    return name.split(".")[-1] in ("running_mean", "running_var", "num_batches_tracked")


if __name__ == "__main__":
    unittest.main()
