#!/bin/sh
# setup.sh run|test|bench - see that what make needs is there, and install what is not.
#
# All that is needed stands in one table below; a line adds a need. What is missing
# comes from Debian in a single apt-get call (as root or with sudo), and from pip into
# build/venv. Nothing else is touched: no other Python, no setting. It says on stderr
# what it will do before it does it.
#
#   TORCHOSCOPE_NO_INSTALL=1   install nothing; name what is missing and stop
#   TORCHOSCOPE_YES=1          do not ask on a terminal (elsewhere it never asks)
#   TORCHOSCOPE_PYTHON=...     the Python to make build/venv with
#
# When everything was found, a stamp in build/ makes the next call end at once.
set -eu
cd "$(dirname "$0")/.."

case ${1:-} in
run) goals='run' ;;
test) goals='run test' ;;
bench) goals='run test bench' ;;
*)
    echo "usage: tools/setup.sh run|test|bench" >&2
    exit 2
    ;;
esac

# goal  where to look   for what                                  what brings it
needs='
run     command         gcc                                       gcc
run     header          stdio.h                                   libc6-dev
run     command         pkg-config                                pkg-config
run     command         ninja                                     ninja-build
run     command         meson                                     meson
run     library         zlib                                      zlib1g-dev
run     library         libpcre2-8                                libpcre2-dev
run     library         libutf8proc                               libutf8proc-dev
run     library         sqlite3                                   libsqlite3-dev
run     command         python3                                   python3
run     python_header   Python.h                                  python3-dev
test    library         cmocka                                    libcmocka-dev
test    header          simde/x86/avx512.h                        libsimde-dev
test    command         clang                                     clang
test    command         clang-format                              clang-format
test    clang_runtime   fuzzer                                    libclang-rt-14-dev
test    command         mandoc                                    mandoc
test    command         strace                                    strace
test    any_python      ensurepip                                 python3-venv
test    debian_python   torch                                     python3-torch
test    file            /usr/lib/*/openblas-pthread/libblas.so.3  libopenblas0-pthread
test    venv            torch                                     torch==2.13.0+cpu
test    venv            numpy                                     numpy
test    venv            safetensors                               safetensors
'
venv=build/venv/bin/python3
stamp=build/.setup-$1
key="$needs$PATH ${TORCHOSCOPE_PYTHON:-}"

say() {
    echo "torchoscope: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

# --- Looking. Never through dpkg: what somebody built by hand serves as well.

# has_module PYTHON MODULE - asks without importing it: torch would take seconds.
has_module() {
    "$1" -c 'import sys; from importlib.util import find_spec
sys.exit(find_spec(sys.argv[1]) is None)' "$2"
}

# The Python to make build/venv with: the user's own if it is fit for it, else Debian's.
venv_maker() {
    for python in "${TORCHOSCOPE_PYTHON:-python3}" /usr/bin/python3; do
        if has_module "$python" ensurepip &&
            "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

# shellcheck disable=SC2086 # a file is given as a pattern
found() {
    case $1 in
    command) command -v "$2" ;;
    header) echo "#include <$2>" | gcc -E - ;;
    library) pkg-config --exists "$2" ;;
    clang_runtime) ls "$(clang -print-runtime-dir)/libclang_rt.$2"*.a ;;
    any_python) venv_maker ;;
    python_header)
        ls "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/$2"
        ;;
    debian_python) has_module /usr/bin/python3 "$2" ;;
    venv) has_module $venv "$2" ;;
    file) ls $2 ;;
    esac >/dev/null 2>&1
}

# missing debian|venv - what brings the needs that were not found.
missing() {
    echo "$needs" | while read -r goal where what brings; do
        case " $goals " in *" ${goal:-none} "*) ;; *) continue ;; esac
        case $1:$where in
        venv:venv) ;;
        venv:* | debian:venv) continue ;;
        esac
        found "$where" "$what" || printf ' %s' "$brings"
    done
}

# --- Debian's packages

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] && return 0
    command -v sudo >/dev/null || return 1
    [ -t 0 ] || sudo -n true 2>/dev/null
}

# Another apt may hold the lists; DPkg::Lock::Timeout does not cover that lock.
apt_update() {
    say "updating the package lists"
    tries=0
    until as_root apt-get -q update >build/apt.log 2>&1; do
        grep -q 'Could not get lock' build/apt.log || return 1
        tries=$((tries + 1))
        [ $tries -lt 120 ] || return 1
        [ $tries -gt 1 ] || say "another apt is at work; waiting for it"
        sleep 5
    done
}

# shellcheck disable=SC2086 # the packages are several words
apt_install() {
    as_root apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 \
        install $1 >build/apt.log 2>&1
}

apt_lists_are_young() {
    [ -n "$(find /var/lib/apt/lists -name '*_Packages*' -mtime -7 2>/dev/null)" ]
}

ask() {
    [ -t 0 ] && [ -z "${CI:-}${TORCHOSCOPE_YES:-}" ] || return 0
    printf 'torchoscope: go ahead? [Y/n] ' >&2
    read -r answer || return 1
    case $answer in [nN]*) return 1 ;; esac
}

get_from_debian() {
    if ! command -v apt-get >/dev/null; then
        fail "this is not Debian; install the equivalents of:$1"
    elif [ -n "${TORCHOSCOPE_NO_INSTALL:-}" ] || ! can_be_root; then
        fail "ask an administrator for: apt-get install$1"
    fi
    say "will run: apt-get install --no-install-recommends$1"
    ask || fail "nothing was installed; what is missing:$1"
    apt_lists_are_young || apt_update || say "the package lists could not be updated"
    # shellcheck disable=SC2086
    count=$(apt-get -s --no-install-recommends install $1 2>&1 | grep -c '^Inst') || :
    say "installing $count packages in all; details in build/apt.log"
    apt_install "$1" || { apt_update && apt_install "$1"; } || {
        tail -n 3 build/apt.log >&2
        fail "apt-get failed; the whole story is in build/apt.log"
    }
    hash -r
    lack=$(missing debian)
    [ -z "$lack" ] || fail "still not found after installing:$lack"
}

# --- build/venv

# shellcheck disable=SC2086 # the requirements are several words
pip_install() {
    $venv -m pip install -q --no-compile --retries 1 --timeout 15 \
        --disable-pip-version-check $1 >build/pip.log 2>&1
}

# pip must never choose a torch by itself: it would bring gigabytes of CUDA. The exact
# name of a CPU build either exists within reach of the user's pip settings or does not.
get_from_pip() {
    if ! $venv -c '' 2>/dev/null; then
        maker=$(venv_maker 2>/dev/null) || return 1
        say "making build/venv with $maker"
        "$maker" -m venv --clear build/venv >build/pip.log 2>&1 || return 1
    fi
    lack=$(missing venv)
    say "will install into build/venv:$lack"
    pip_install "$lack" && return 0
    for one in $lack; do
        pip_install "$one" || say "pip does not find $one: $(tail -n 1 build/pip.log)"
    done
}

# --- All together

if [ -f "$stamp" ] && [ "$key" = "$(cat "$stamp")" ]; then
    exit 0
fi
mkdir -p build
if command -v flock >/dev/null; then
    exec 9>build/.setup-lock
    flock 9 # a second make waits here, then finds everything in place
fi

lack=$(missing debian)
[ -z "$lack" ] || get_from_debian "$lack"

lack=$(missing venv)
if [ -n "$lack" ]; then
    [ -n "${TORCHOSCOPE_NO_INSTALL:-}" ] || get_from_pip
    lack=$(missing venv)
fi
if [ -n "$lack" ]; then
    # No stamp, so that the next call looks again.
    [ -z "${CI:-}" ] || fail "build/venv lacks$lack; under CI no test may be skipped"
    say "build/venv lacks$lack: tests that need it will be skipped" \
        "(PIP_EXTRA_INDEX_URL may name PyTorch's own CPU index)"
    exit 0
fi
printf '%s' "$key" >"$stamp"
