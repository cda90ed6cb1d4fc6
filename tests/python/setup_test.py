"""tools/setup.sh: the packages it needs, and which torch build/venv gets;
tools/build.sh: when it compiles; make clean and make install."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

from folder import TemporaryFolder

ROOT = Path(__file__).resolve().parents[2]
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
HAS_ENSUREPIP = importlib.util.find_spec("ensurepip") is not None


class Setup(TemporaryFolder):
    """Set-up with hardly any command available; nothing may be installed."""

    def run_setup(self, *more_commands, **env):
        (self.folder / "bin").mkdir()
        for command in ("dirname", "cat", "mkdir", "id", "ls", *more_commands):
            (self.folder / "bin" / command).symlink_to(shutil.which(command))
        (self.folder / "tools").mkdir()
        shutil.copy(ROOT / "tools/setup.sh", self.folder / "tools")
        return subprocess.run(
            ["/bin/sh", self.folder / "tools/setup.sh", "run"],
            env={"PATH": str(self.folder / "bin"), **env},
            capture_output=True,
            text=True,
        )

    def test_without_apt_it_lists_the_packages_to_install_and_stops(self):
        done = self.run_setup()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("install the equivalents of: gcc", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    @unittest.skipUnless(shutil.which("apt-get"), "apt-get is not installed")
    def test_with_installing_disabled_it_lists_the_packages_and_stops(self):
        done = self.run_setup("apt-get", TORCHOSCOPE_NO_INSTALL="1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        line = "run: apt-get install --no-install-recommends gcc libc6-dev"
        self.assertIn(line, done.stderr)
        self.assertEqual("administrator" in done.stderr, os.geteuid() != 0)
        self.assertEqual(done.stderr.count("\n"), 1)


class Venv(TemporaryFolder):
    """Set-up with all packages installed: which torch build/venv gets. The Pythons are
    real, their torches are fakes; apt-get is a stub, and there is no network."""

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "tools").mkdir()
        (self.folder / "wheels").mkdir()
        self.debian = self.python("debian")
        text = (ROOT / "tools/setup.sh").read_text()
        self.assertIn("debian=/usr/bin/python3", text)
        text = text.replace("debian=/usr/bin/python3", f"debian={self.debian}")
        # The Pythons made here have no headers.
        text = text.replace("run     python_header", "none    python_header")
        # Of the tests' packages, only torch and one more from pip.
        text = re.sub(r"(?m)^test +(?! |venv_torch|venv +safetensors)", "none ", text)
        self.write("tools/setup.sh", text)
        self.program("apt-get", "echo apt-get $* >>apt; exit 100")

    def program(self, name, text):
        self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        (self.folder / "bin" / name).chmod(0o755)

    def python(self, name, torch_version=None):
        """A separate Python in a folder of that name, perhaps with a torch."""
        folder = self.folder / name
        command = [sys.executable, "-m", "venv", "--without-pip", folder]
        subprocess.run(command, check=True)
        if torch_version:
            self.give_torch(folder, torch_version)
        return folder / "bin" / "python3"

    def give_torch(self, folder, version):
        site = folder.relative_to(self.folder) / f"lib/{PYTHON}/site-packages"
        self.write(f"{site}/torch/__init__.py", f'__version__ = "{version}"')

    def wheel(self, name, version):
        """Make a package for pip that has only a version."""
        info = f"{name}-{version}.dist-info"
        path = self.folder / "wheels" / f"{name}-{version}-py3-none-any.whl"
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}/__init__.py", f'__version__ = "{version}"')
            archive.writestr(f"{info}/METADATA", about)
            archive.writestr(
                f"{info}/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr(f"{info}/RECORD", "")

    def use(self, python):
        """Make it the user's python3."""
        self.program("python3", f'exec {python} "$@"')

    def set_up(self, status=0, goal="run", **env):
        """The output on stderr."""
        env = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.folder / "wheels"),
            "PYTHONNOUSERSITE": "1",
            **env,
        }
        done = subprocess.run(
            ["/bin/sh", self.folder / "tools/setup.sh", goal],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        return done.stderr

    def torch_in_venv(self):
        """Its version, or None. The package has to be on the path in either case."""
        package = self.folder / "build/c/python"
        package.mkdir(parents=True, exist_ok=True)
        script = (
            "import importlib.util as u, sys; print(sys.argv[1] in sys.path)\n"
            "print(__import__('torch').__version__ if u.find_spec('torch') else None)"
        )
        command = [self.folder / "build/venv/bin/python", "-I", "-c", script, package]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found, version = done.stdout.splitlines()
        self.assertEqual(found, "True")
        return None if version == "None" else version

    def stamped(self):
        return (self.folder / "build/.setup-run").exists()

    def test_the_torch_of_the_user_is_used_unchanged(self):
        self.wheel("torch", "2.13.0+cpu")
        self.use(self.python("own", "2.4.1"))
        said = self.set_up()
        self.assertIn("uses the torch of", said)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertEqual(self.torch_in_venv(), "2.4.1")
        self.assertTrue(self.stamped())
        self.assertEqual(self.set_up(), "")

    def test_torchoscope_python_replaces_python3(self):
        self.use(self.python("own", "2.4.1"))
        self.set_up()
        other = self.python("other", "2.9.0")
        self.set_up(TORCHOSCOPE_PYTHON=str(other))
        self.assertEqual(self.torch_in_venv(), "2.9.0")

    def test_an_invalid_torchoscope_python_is_reported(self):
        self.use(self.debian)
        said = self.set_up(status=1, TORCHOSCOPE_PYTHON="/nowhere/python")
        self.assertIn("TORCHOSCOPE_PYTHON=/nowhere/python is no Python", said)

    def test_a_torch_that_cannot_be_imported_is_ignored(self):
        own = self.python("own", "2.4.1")
        site = own.parents[1] / f"lib/{PYTHON}/site-packages"
        (site / "torch/__init__.py").write_text("raise OSError('libcuda.so')")
        self.use(own)
        self.give_torch(self.folder / "debian", "1.13.0a0")
        self.set_up(TORCHOSCOPE_NO_INSTALL="1")
        self.assertEqual(self.torch_in_venv(), "1.13.0a0")

    @unittest.skipUnless(HAS_ENSUREPIP, "this Python cannot install pip into a venv")
    def test_without_a_torch_pip_installs_the_cpu_build(self):
        self.wheel("torch", "2.13.0+cpu")
        self.wheel("torch", "2.13.0")  # as on PyPI, with CUDA
        self.wheel("numpy", "2.0.0")
        self.use(self.python("own"))
        said = self.set_up()
        self.assertIn("will install into build/venv: torch==2.13.0+cpu numpy", said)
        self.assertEqual(self.torch_in_venv(), "2.13.0+cpu")
        self.assertTrue(self.stamped())

    @unittest.skipUnless(HAS_ENSUREPIP, "this Python cannot install pip into a venv")
    def test_if_pip_has_only_cuda_debians_torch_is_used(self):
        self.wheel("torch", "2.13.0")
        self.use(self.python("own"))
        self.give_torch(self.folder / "debian", "1.13.0a0")
        said = self.set_up()
        self.assertIn("pip does not find torch==2.13.0+cpu", said)
        self.assertIn(f"uses the torch of {self.debian}", said)
        self.assertEqual(self.torch_in_venv(), "1.13.0a0")
        self.assertFalse((self.folder / "apt").exists())

    @unittest.skipUnless(HAS_ENSUREPIP, "this Python cannot install pip into a venv")
    @unittest.skipUnless(os.geteuid() == 0, "apt-get is called as root only")
    def test_without_any_torch_files_can_still_be_explored(self):
        self.use(self.python("own"))
        said = self.set_up()
        self.assertIn("install python3-torch", (self.folder / "apt").read_text())
        self.assertEqual(said.count("nothing recorded"), 1, said)
        self.assertIsNone(self.torch_in_venv())
        self.assertFalse(self.stamped(), "the next call has to look again")

    @unittest.skipUnless(HAS_ENSUREPIP, "this Python cannot install pip into a venv")
    def test_the_tests_run_without_a_cpu_build_if_none_is_available(self):
        self.wheel("torch", "2.13.0")
        self.wheel("safetensors", "0.6.0")
        self.use(self.python("own"))
        self.give_torch(self.folder / "debian", "1.13.0a0")
        said = self.set_up(goal="test", CI="1")
        self.assertIn("No matching distribution found for torch==2.13.0+cpu", said)
        self.assertIn("tests that need it will be skipped (TORCHOSCOPE_TORCH", said)
        self.assertNotIn("install into build/venv: safetensors", said)
        self.assertEqual(self.torch_in_venv(), "1.13.0a0")
        self.assertFalse((self.folder / "build/.setup-test").exists())

    @unittest.skipUnless(HAS_ENSUREPIP, "this Python cannot install pip into a venv")
    def test_under_ci_a_missing_cpu_build_is_an_error(self):
        self.wheel("torch", "2.13.0+cpu")
        self.wheel("numpy", "2.0.0")
        (self.folder / "wheels/torch-2.13.0+cpu-py3-none-any.whl").write_text("cut")
        self.use(self.python("own"))
        self.give_torch(self.folder / "debian", "1.13.0a0")
        said = self.set_up(status=1, goal="test", CI="1")
        self.assertIn("under CI no test may be skipped for lack of it", said)
        # No index answers.
        self.wheel("torch", "2.13.0+cpu")
        away = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_INDEX": ""}
        said = self.set_up(status=1, goal="test", CI="1", PIP_FIND_LINKS="", **away)
        self.assertIn("under CI no test may be skipped for lack of it", said)

    @unittest.skipUnless(HAS_ENSUREPIP, "this Python cannot install pip into a venv")
    def test_the_cpu_build_comes_from_the_given_index(self):
        self.wheel("torch", "2.13.0+cpu")
        self.wheel("numpy", "2.0.0")
        wheels, other = self.folder / "wheels", self.folder / "other"
        self.use(self.python("own"))
        self.give_torch(self.folder / "debian", "1.13.0a0")
        env = {"PIP_FIND_LINKS": "", "goal": "test"}
        self.set_up(TORCHOSCOPE_NO_INSTALL="1")
        self.assertEqual(self.torch_in_venv(), "1.13.0a0")
        # An index without a torch is an error, not a reason to skip.
        other.mkdir()
        said = self.set_up(status=1, TORCHOSCOPE_TORCH_INDEX=str(other), **env)
        self.assertIn(f"TORCHOSCOPE_TORCH_INDEX={other} does not bring torch", said)
        # The venv that borrows Debian's torch gets its own.
        said = self.set_up(TORCHOSCOPE_TORCH_INDEX=str(wheels), **env)
        self.assertEqual(self.torch_in_venv(), "2.13.0+cpu")
        self.assertIn("lacks safetensors: tests that need it will be skipped", said)
        # An index like PyTorch's.
        shutil.rmtree(self.folder / "build/venv")
        for path in wheels.glob("*.whl"):
            name = path.name.partition("-")[0]
            link = f'<a href="{path.as_uri()}">{path.name}</a>'
            self.write(f"simple/{name}/index.html", f"<!DOCTYPE html><body>{link}</body>")
        env.update(PIP_NO_INDEX="", PIP_INDEX_URL=other.as_uri())
        simple = (self.folder / "simple").as_uri()
        self.set_up(TORCHOSCOPE_TORCH_INDEX=simple, **env)
        self.assertEqual(self.torch_in_venv(), "2.13.0+cpu")

    def test_with_installing_disabled_it_calls_neither_pip_nor_apt(self):
        self.wheel("torch", "2.13.0+cpu")
        self.use(self.python("own"))
        said = self.set_up(TORCHOSCOPE_NO_INSTALL="1")
        self.assertIn("no torch was found", said)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIsNone(self.torch_in_venv())
        self.assertFalse((self.folder / "apt").exists())

    def test_a_deleted_venv_is_made_again(self):
        self.use(self.python("own", "2.4.1"))
        self.set_up()
        shutil.rmtree(self.folder / "build/venv")
        self.set_up()
        self.assertEqual(self.torch_in_venv(), "2.4.1")


MESON = """
project('small', 'c', default_options: ['warning_level=2'])
here = '-I' + meson.project_source_root()
if meson.get_compiler('c').has_header('later.h', args: here)
  add_project_arguments(here, '-DLATER', language: 'c')
endif
executable('small', 'main.c')
"""
MAIN = """
#ifdef LATER
#include <later.h>
#endif
int main(void)
{
    %s
    return 0;
}
"""


@unittest.skipUnless(shutil.which("meson") and shutil.which("gcc"), "needs Meson and gcc")
class Build(TemporaryFolder):
    """tools/build.sh with a small program."""

    def setUp(self):
        super().setUp()
        (self.folder / "tools").mkdir()
        shutil.copy(ROOT / "tools/build.sh", self.folder / "tools")
        self.write("meson.build", MESON)
        self.write("main.c", MAIN % "")

    def build(self, *options, status=0):
        """Its output on stderr."""
        command = ["/bin/sh", self.folder / "tools/build.sh", "build/c", *options]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_make_run_and_make_test_share_one_build(self):
        self.assertIn("compiling build/c", self.build())
        self.assertEqual(self.build("-Dwerror=true"), "")
        self.assertEqual(self.build(), "")
        # Set-up installed a test dependency: it is found although an earlier search
        # failed.
        self.write("later.h", "#error found later")
        self.assertEqual(self.build(), "")
        self.write("build/.setup-compile", "")
        self.assertIn("found later", self.build(status=1))

    def test_compiler_warnings_do_not_fail_a_plain_build(self):
        self.write("main.c", MAIN % "int unused;")
        said = self.build()
        self.assertIn("[-Werror=unused-variable]", said)
        self.assertIn("this compiler warns; compiling again", said)
        self.assertTrue((self.folder / "build/c/small").exists())
        self.assertEqual(self.build(), "")
        self.assertIn("[-Werror=unused-variable]", self.build("-Dwerror=true", status=1))

    def test_an_error_is_printed_once(self):
        self.write("main.c", MAIN % "return unknown;")
        self.assertNotIn("compiling again", self.build(status=1))
        self.write("main.c", MAIN % "")
        self.assertNotIn("configuring", self.build("-Dwerror=true"))


class Clean(TemporaryFolder):
    def setUp(self):
        super().setUp()
        (self.folder / "tools").mkdir()
        shutil.copy(ROOT / "tools/clean.sh", self.folder / "tools")
        for name in ("c/a.o", "samples/b.pth", ".setup-run", "venv/bin/python3", "pip.log"):
            self.write(f"build/{name}", "")

    def clean(self, *words):
        command = ["/bin/sh", self.folder / "tools/clean.sh", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_it_keeps_downloads_and_reports_that(self):
        self.assertRegex(self.clean(), "^torchoscope: kept build/venv, .*distclean")
        left = {one.name for one in (self.folder / "build").iterdir()}
        self.assertEqual(left, {"venv", ".setup-run"})
        self.assertTrue((self.folder / "build/venv/bin/python3").exists())

    def test_if_the_venv_is_a_link_only_the_link_is_removed(self):
        (self.folder / "build/venv").rename(self.folder / "other")
        (self.folder / "build/venv").symlink_to(self.folder / "other")
        self.assertIn("Debian packages", self.clean("all"))
        self.assertFalse((self.folder / "build").exists())
        self.assertTrue((self.folder / "other/bin/python3").exists())
        self.assertEqual(self.clean(), "")


@unittest.skipUnless((ROOT / "build/c/meson-info").is_dir(), "make test builds this")
class Install(TemporaryFolder):
    def test_the_whole_package_is_installed_and_stripped(self):
        command = [ROOT / "tools/install.sh", self.folder]
        subprocess.run(command, check=True, capture_output=True)
        # The files that Meson puts into the wheel.
        page = (ROOT / "build/c/meson-info/intro-installed.json").read_text()
        wanted = {path.split("/torchoscope/", 1)[1] for path in json.loads(page).values()
                  if "-packages/torchoscope/" in path}
        self.assertGreater(len(wanted), 20)
        package = self.folder / "lib/torchoscope/torchoscope"
        found = {str(path.relative_to(package)) for path in package.rglob("*")
                 if path.is_file()}
        self.assertEqual(found, wanted)
        for path in (package / "_core.abi3.so", self.folder / "bin/torchoscope"):
            said = subprocess.run(["readelf", "-S", path], capture_output=True, text=True)
            self.assertIn(".text", said.stdout)
            self.assertNotIn(".debug_info", said.stdout)
        for words in ([self.folder / "bin/torchoscope", "--version"],
                      [self.folder / "bin/tt-model-analysis", "--help"],
                      [sys.executable, "-c", "import torchoscope.compat.rp"]):
            env = {**os.environ, "PYTHONPATH": str(package.parent)}
            done = subprocess.run(words, env=env, cwd=self.folder, capture_output=True)
            if words[0] != sys.executable or b"No module named 'torch'" not in done.stderr:
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
