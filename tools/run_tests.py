#!/usr/bin/env python3
"""Everything that `make test` does after setup.

    run_tests.py [WORD | --quick]

With a WORD ("unit", "Python", "tools_", "ASan"), run only the steps and Python test
files with it in their name. --quick is `make check`: the parts that a change most
likely breaks, with torch 2.13 only. Steps run one after the other, each under a
heading; the first failure ends the run. At the end it lists what took longest, what was
skipped and why; the last line counts passed, failed and skipped tests. Logs are in
build/test/.
"""

import concurrent.futures
import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test"
VENV = ROOT / "build" / "venv" / "bin" / "python3"
DEBIAN = Path("/usr/bin/python3")
FILE_SECONDS = 1800  # a test file that takes longer has hung, even on a busy machine
UNDER_DEBIAN, UNDER_ASAN = " (Debian's torch)", " (ASan)"
LOG_NAMES = {"": "", UNDER_DEBIAN: ".debian", UNDER_ASAN: ".asan"}


LOCK = threading.Lock()
TOOK = {}  # seconds, of steps and of test files
SKIPPED = {}  # {reason: {name of the test file: how many tests}}
NO_TORCH = "whole file: build/venv has no torch 2.13 (TORCHOSCOPE_TORCH_INDEX, docs/install.md)"


def own_home():
    """Settings that keep tests, and browsers and notebooks in them, out of the user's
    home."""
    home = LOGS / "home"
    home.mkdir(parents=True, exist_ok=True)
    unset = {f"XDG_{name}_HOME": None for name in ("CONFIG", "CACHE", "STATE", "DATA")}
    return {"HOME": str(home), **unset}


class Failure(Exception):
    """A failed step; its text is the message."""


class Count:
    passed = failed = skipped = 0

    def add(self, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self):
        line = f"{self.passed} passed, {self.failed} failed"
        return line + (f", {self.skipped} skipped" if self.skipped else "")


def run(*command, env=None, seconds=None, folder="."):
    """Run a command quietly; returns (exit status, output). A setting that is None is
    unset."""
    command = [str(word) for word in command]
    settings = {**os.environ, **(env or {})}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT / folder,
            env={name: value for name, value in settings.items() if value is not None},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as late:
        output = (late.output or b"").decode(errors="replace")
        return 124, f"{output}\nnot done after {seconds} s"
    return done.returncode, done.stdout.decode(errors="replace")


def must(*command, env=None):
    """Run a command that must succeed, and print its output."""
    status, output = run(*command, env=env)
    if status != 0:
        raise Failure(output)
    print(output, end="", flush=True)


# --- C


def check_format(count):
    folders = ("src", "python", "tests")
    files = [file for folder in folders for file in ROOT.glob(f"{folder}/**/*.[ch]")]
    status, output = run("clang-format", "--dry-run", "-Werror", *files)
    if status != 0:
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", output, re.M)))
        names = "\n".join(os.path.relpath(name, ROOT) for name in wrong)
        raise Failure(f"{names or output}\nnot as .clang-format says: make format")


def check_includes(count):
    must(ROOT / "tools/check_includes.py")


def plain_build(count):
    must("tools/build.sh", "build/c", "-Dwerror=true")
    (ROOT / "build/torchoscope").unlink(missing_ok=True)
    (ROOT / "build/torchoscope").symlink_to("c/torchoscope")


def plain_tests(count):
    plain_build(count)
    unit_tests("build/c", count)


def sanitized_build(count):
    must(
        "tools/build.sh",
        "build/asan",
        "-Doptimization=1",
        "-Ddebug=false",
        "-Db_sanitize=address,undefined",
        "-Dc_args=-fno-sanitize-recover=undefined",
        env={"CFLAGS": "-g1"},  # reports only need line numbers
    )


# ASan keeps the signals that cmocka would otherwise catch: its report says more.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def sanitized_tests(count):
    sanitized_build(count)
    unit_tests("build/asan", count, SANITIZERS)


# Programs, and the tests of each that need TSan: those with this word in their names.
THREADED = {
    "test_run": "threads_",
    "test_history": "threads_",
    "test_session": "",
    "test_rows": "threads_",
    "test_web": "",
}


def threaded_tests(count):
    """Threads that share a frozen model or run, under TSan."""
    must(
        "tools/build.sh",
        "build/tsan",
        "-Doptimization=1",
        "-Ddebug=false",
        "-Db_sanitize=thread",
        env={"CFLAGS": "-g1", "TARGETS": " ".join(f"src/{name}" for name in THREADED)},
    )
    for name, word in THREADED.items():
        program = ROOT / "build/tsan/src" / name
        env = {**own_home(), "TSAN_OPTIONS": "halt_on_error=1"}
        status, output = run(program, word, env=env, seconds=FILE_SECONDS)
        passed, failed = cmocka_total("PASSED", output), cmocka_total("FAILED", output)
        count.add(passed, failed, cmocka_total("SKIPPED", output))
        if status != 0:
            raise Failure("\n".join(output.splitlines()[-80:]))
        print(f"   {name} {word}: {passed} passed")


def clang_warnings(count):
    """Each file once, with gcc's command; clang's is not needed."""
    listed = json.loads((ROOT / "build/c/compile_commands.json").read_text())
    files = {one["file"]: shlex.split(one["command"]) for one in listed}

    def look(words):
        for option in ("-o", "-MQ", "-MF"):
            at = words.index(option)
            del words[at : at + 2]
        while not words[0].startswith("-"):  # the compiler, maybe behind a cache
            del words[0]
        options = ("-fsyntax-only", "-fno-color-diagnostics")
        return run("clang", *words, *options, folder="build/c")

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        said = [text for status, text in pool.map(look, files.values()) if status != 0]
    if said:
        raise Failure("\n".join(said))


def unit_tests(folder, count, env=None):
    """Run the test programs of a build; counts cmocka's tests."""
    log = ROOT / folder / "meson-logs" / "testlog.txt"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", folder, "--no-rebuild", "--num-processes", "2"]
    command += ["--timeout-multiplier", "6"]  # the machine may be busy
    status, output = run(*command, env={**own_home(), **(env or {})})
    text = log.read_text(errors="replace") if log.exists() else output

    passed, failed = cmocka_total("PASSED", text), cmocka_total("FAILED", text)
    count.add(passed, failed, cmocka_total("SKIPPED", text))
    if status != 0:
        raise Failure(failed_parts(text))
    print(f"   {passed} passed")


def cmocka_total(word, text):
    return sum(map(int, re.findall(rf"^\[ *{word} *\] (\d+) test", text, re.M)))


def failed_parts(log):
    """Meson's log of failed programs, without passed tests."""
    log = re.sub(r"^\[ (RUN  |      OK).*\n", "", log, flags=re.M)
    log = re.sub(r"^Summary of Failures:.*", "", log, flags=re.M | re.S)
    parts = re.split(r"^=+ \d+/\d+ =+\n", log, flags=re.M)
    fine = re.compile(r"^result: +exit status 0$", re.M)
    return "".join(part for part in parts[1:] if not fine.search(part)) or log


def replay_corpus(count):
    """Inputs that fuzzing found stay fixed; each counts as a test."""
    replayed = 0
    for program in sorted(ROOT.glob("build/asan/tests/fuzz/replay_*")):
        name = program.name.removeprefix("replay_")
        inputs = ROOT / "tests/fuzz/corpus" / name
        if not program.is_file() or not inputs.is_dir():
            continue
        status, output = run(program, inputs, env=SANITIZERS, seconds=FILE_SECONDS)
        if status != 0:
            raise Failure("\n".join(output.splitlines()[-80:]))
        number = int(re.findall(r"(\d+) inputs replayed", output)[-1])
        replayed += number
        count.add(number, 0, 0)
        print(f"   {name}: {number} inputs")
    if not replayed:
        raise Failure(
            "no input was replayed: build/asan has no replay_* programs.\n"
            'Build them first: tools/run_tests.py "gcc with ASan"'
        )


def check_manual(count):
    page = ROOT / "docs/torchoscope.1"
    if page.exists():
        must("mandoc", "-T", "lint", "-W", "warning", page)


# --- Python


def has_torch(python, version):
    ask = f"import sys, torch; sys.exit(not torch.__version__.startswith('{version}'))"
    return python.exists() and run(python, "-c", ask)[0] == 0


def python_jobs():
    """The jobs: (function, file, its Python or None without torch, a label, further
    arguments)."""
    venv_torch = has_torch(VENV, "2.13")
    for file in sorted(ROOT.glob("tests/python/*_test.py")):
        text = file.read_text()
        both = "# flavours: both" in "".join(text.splitlines()[:5])
        if venv_torch or not re.search(r"^\s*(?:import|from) torch\b", text, re.M):
            yield run_python, file, VENV if VENV.exists() else DEBIAN, ""
        else:
            yield run_python, file, None, ""
        if both:
            yield run_python, file, DEBIAN, UNDER_DEBIAN
    for name, words in SANITIZED.items():
        file = ROOT / f"tests/python/{name}_test.py"
        python = VENV if venv_torch else None
        yield run_sanitized, file, python, UNDER_ASAN, words


def run_python(file, python, label, words=(), env=None):
    """(passed, failed, skipped, text to show) of one test file under one Python; of the
    classes and tests that are named, or of all."""
    if python is None:
        SKIPPED.setdefault(NO_TORCH, {})[file.stem + label] = 1
        return 0, 0, 1, "skipped: no CPU torch 2.13"
    env = {
        **own_home(),
        "TORCHOSCOPE": str(ROOT / "build/torchoscope"),
        "TORCHOSCOPE_ASAN": str(ROOT / "build/asan/torchoscope"),
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16",
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
        # Byte-compiled once for all, because torch is large. Nothing else is written
    # here.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(ROOT / "build/pycache"),
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": f"{ROOT}/tests/python:{ROOT}/build/c/python",
        **(env or {}),
    }
    start = time.monotonic()
    status, text = run(python, file, "-v", *words, env=env, seconds=FILE_SECONDS)
    (LOGS / f"{file.stem}{LOG_NAMES[label]}.log").write_text(text)
    ran = sum(map(int, re.findall(r"^Ran (\d+) tests?", text, re.M)))
    last = "".join(re.findall(r"^(?:OK|FAILED)(?: \(.*\))?$", text, re.M)[-1:])
    skipped = sum(map(int, re.findall(r"skipped=(\d+)", last)))
    bad = sum(map(int, re.findall(r"(?:failures|errors|successes)=(\d+)", last)))
    not_run = note_skipped(text, skipped, file.stem + label)
    if status == 0 and not ran and not skipped:
        status, text = 1, text + "no test ran: does the file end in unittest.main()?"
    if status != 0:
        bad = max(bad, 1)
        text = re.sub(r"^.* \.\.\. ok\n", "", text, flags=re.M)
        return max(0, ran - bad - not_run), bad, skipped, text
    took = f"{time.monotonic() - start:.1f} s"
    passed = max(0, ran - not_run)
    more = f", {skipped} skipped" if skipped else ""
    return passed, 0, skipped, f"{passed} passed{more}, {took}"


def note_skipped(text, count, name):
    """Notes the reason of each skipped test. How many of them unittest counts as run:
    not the parts of a test, which are indented, nor a class that set-up skips."""
    lines = re.findall(r"""^(  |setUp)?.*\bskipped (['"])(.*)\2$""", text, re.M)
    reasons = [reason for _, _, reason in lines]
    with LOCK:
        for reason in (reasons + ["no reason given"] * count)[:count]:
            files = SKIPPED.setdefault(reason, {})
            files[name] = files.get(name, 0) + 1
    return sum(not part for part, _, _ in lines)


# Long ones run first, so that none of them runs alone at the end.
LONG = "damage explore identity scenarios tui random_keys setup diff notebook".split()


def mostly_waits(file):
    """A test that mostly waits: for a terminal, for a browser."""
    return bool(re.search(r"^import .*\b(terminal|browser)\b", file.read_text(), re.M))


def run_job(job, count, broken):
    function, file, *rest = job
    start = time.monotonic()
    passed, failed, skipped, text = function(file, *rest)
    name = file.name + rest[1]
    TOOK[name] = time.monotonic() - start
    with LOCK:
        count.add(passed, failed, skipped)
        if failed:
            broken.append(f"--- {name}\n{text}")
            text = "FAILED"
        print(f"   {name}: {text}", flush=True)


def python_tests(count):
    """Two at a time, and two more of those that mostly wait."""
    jobs = [job for job in python_jobs() if is_wanted(job)]
    jobs.sort(key=lambda job: job[1].stem.removesuffix("_test") not in LONG)
    for old in LOGS.glob("leaks.*"):
        old.unlink()
    broken = []
    with (
        concurrent.futures.ThreadPoolExecutor(max_workers=2) as working,
        concurrent.futures.ThreadPoolExecutor(max_workers=2) as waiting,
    ):
        futures = [
            (waiting if mostly_waits(job[1]) else working).submit(
                run_job, job, count, broken
            )
            for job in jobs
        ]
        for future in futures:
            future.result()
    if broken:
        raise Failure("\n".join(broken))


# Python tests that also run under ASan: whole files or some of their tests.
SANITIZED = {
    "live": ["Special", "Numbers", "Lifetime"],
    "record": [],
    "core": [],
    "attributes": ["Attributes", "Code.test_of_classes_here_and_of_torch"],
    "pseudo": ["Live.test_keys_of_all_kinds_in_a_live_model"],
    "grads": [],
    "grads_views": [],
    "replicas": [],
    "handed": ["Alone"],
    "full_hooks": ["Small"],
    "stress": ["Threads", "Fork", "Left"],
    "flops": ["Asking"],
    "identity": ["Identity.test_resnet", "Gradients.test_moe", "Gradients.test_lstm"],
    "watch_options": ["Attach", "Memory", "Resumed"],
    "watch_device": ["Judged", "Same.test_exact"],
}
OUR_SOURCE = re.compile(
    r" (?:\S*\.\./|%s/)(?:src/(?!libsan)|python/)\S+\.[ch]:\d+" % ROOT
)


@functools.lru_cache
def sanitizer_libraries():
    """Libraries to preload. Torch throws C++ exceptions, which ASan must intercept from
    the start: hence libstdc++."""
    names = ("libasan.so", "libstdc++.so.6")
    found = [run("gcc", f"-print-file-name={name}")[1].strip() for name in names]
    return " ".join(found)


def run_sanitized(file, python, label, words):
    """Runs the extension in a Python with torch. Both leak memory at exit, so only
    allocations by our code count: one of the first frames is ours. Suppressions would
    match any frame, and every stack ends in Python."""
    if not (ROOT / "build/asan/python").is_dir():  # else an installed package is tested
        return 0, 1, 0, 'build/asan is missing: tools/run_tests.py "gcc with ASan"'
    log = LOGS / f"leaks.{file.stem}"
    options = f"detect_leaks=1:exitcode=0:log_path={log}"
    env = {
        "LD_PRELOAD": sanitizer_libraries(),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": options,
        "LSAN_OPTIONS": "exitcode=0",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={log}",
        "PYTHONPATH": f"{ROOT}/tests/python:{ROOT}/build/asan/python",
    }
    passed, failed, skipped, text = run_python(file, python, label, words, env)
    reports = [one.read_text(errors="replace") for one in LOGS.glob(f"{log.name}.*")]
    records = [part for one in reports for part in re.split(r"\n\n+", one)]
    ours = [part for part in records if is_our_fault(part)]
    if ours:
        return passed, max(failed, 1), skipped, "\n\n".join([text, *ours[:5]])
    return passed, failed, skipped, text


def is_our_fault(record):
    if " leak of " not in record:
        return bool(re.search(r"ERROR: AddressSanitizer|runtime error:", record))
    frames = re.findall(r"^ *#[0-3] .*", record, re.M)
    return any(map(OUR_SOURCE.search, frames))


STEPS = [
    ("format", check_format),
    ("includes and sizes", check_includes),
    ("gcc, warnings are errors", plain_build),
    ("unit tests", plain_tests),
    ("gcc with ASan and UBSan", sanitized_build),
    ("unit tests under ASan and UBSan, with leaks", sanitized_tests),
    ("threads under TSan", threaded_tests),
    ("clang, warnings are errors", clang_warnings),
    ("manual page", check_manual),
    ("fuzz corpus under ASan and UBSan", replay_corpus),
    ("Python tests", python_tests),
]
ONLY = "".join(sys.argv[1:2])
QUICK_STEPS = (check_format, check_includes, plain_tests, check_manual, python_tests)
# Quick tests with much coverage: screens, keys, the program, models, recordings.
QUICK_FILES = "main files screens keys cli check docs gallery export model attributes"
QUICK_FILES += " core record record_calls forward_stats kinds gaps hooks grads"


def is_wanted(job):
    """Is a test file among the requested ones?"""
    name, label = job[1].name, job[3]
    if ONLY == "--quick":
        return not label and name.removesuffix("_test.py") in QUICK_FILES.split()
    return ONLY in "Python tests" or ONLY in name + label


def what_took_longest():
    for name, seconds in sorted(TOOK.items(), key=lambda one: -one[1])[:10]:
        print(f"   {seconds:6.1f} s  {name}")


def what_was_skipped():
    """Most common reasons first."""
    if SKIPPED:
        print("== what was skipped, and why", flush=True)
    for reason, files in sorted(SKIPPED.items(), key=lambda one: -sum(one[1].values())):
        where = [f"{name} {n}" if n > 1 else name for name, n in sorted(files.items())]
        print(f"   {sum(files.values()):3}  {reason}: {', '.join(where)}")


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(LOGS / "home", ignore_errors=True)
    # In the background of a script SIGINT is ignored, and tests could not send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    count = Count()
    for name, step in STEPS:
        if ONLY == "--quick":
            if step not in QUICK_STEPS:
                continue
        elif ONLY not in name and step is not python_tests:
            continue
        print(f"== {name}", flush=True)
        start = time.monotonic()
        try:
            step(count)
        except Failure as failure:
            print(failure, flush=True)
            count.failed = max(1, count.failed)
            break
        finally:
            TOOK[f"== {name}"] = time.monotonic() - start
    print("== what took longest", flush=True)
    what_took_longest()
    what_was_skipped()
    print(count)
    sys.exit(1 if count.failed else 0)


if __name__ == "__main__":
    main()
