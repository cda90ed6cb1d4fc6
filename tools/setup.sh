#!/bin/sh
# setup.sh run|test|bench - install missing dependencies of make.
# setup.sh compile - the same for `test`, without build/venv.
#
# The table below lists all dependencies; add a line to add one. Missing Debian packages are
# installed by a single apt-get call (as root or with sudo), Python packages by pip into
# build/venv. Nothing else is changed. It prints what it will do to stderr first.
#
# build/venv is a Python with the torchoscope package and a torch: that of the user's
# own Python, else one from pip, else Debian's. Without any torch, torchoscope still
# explores files, and setup succeeds.
#
#   TORCHOSCOPE_NO_INSTALL=1   fetch nothing; name what is missing and stop
#   TORCHOSCOPE_YES=1          do not ask on a terminal (elsewhere it never asks)
#   TORCHOSCOPE_PYTHON=...     the user's own Python; default python3
#   TORCHOSCOPE_TORCH_INDEX=...  a pip index, or a folder of wheels, that has
#                              torch==2.13.0+cpu; plain PyPI does not have it
#
# When everything is found, a stamp in build/ makes the next call return at once.
set -eu
cd "$(dirname "$0")/.."

case ${1:-} in
run) goals='run' version= ;; # of torch; any will do
compile | test) goals='run test' version=2.13 ;;
bench) goals='run test bench' version=2.13 ;;
*)
    echo "usage: tools/setup.sh run|compile|test|bench" >&2
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
run     command         esbuild                                   esbuild
run     library         zlib                                      zlib1g-dev
run     library         libpcre2-8                                libpcre2-dev
run     library         libutf8proc                               libutf8proc-dev
run     library         sqlite3                                   libsqlite3-dev
run     library         tinfo                                     libncurses-dev
run     library         libmicrohttpd                             libmicrohttpd-dev
run     command         python3                                   python3
run     python_header   Python.h                                  python3-dev
run     venv_maker      ensurepip                                 python3-venv
test    library         cmocka                                    libcmocka-dev
test    header          simde/x86/avx512.h                        libsimde-dev
test    command         clang                                     clang
test    command         clang-format                              clang-format
test    clang_runtime   fuzzer                                    libclang-rt-14-dev
test    file            /usr/lib/*/libcurl.so.4                   libcurl4
test    command         mandoc                                    mandoc
test    command         strace                                    strace
test    command         tmux                                      tmux
test    command         chromium                                  chromium
test    command         chromedriver                              chromium-driver
test    file            /usr/lib/*/librsvg-2.so.2                 librsvg2-2
test    debian_python   torch                                     python3-torch
test    file            /usr/lib/*/openblas-pthread/libblas.so.3  libopenblas0-pthread
test    venv_torch      2.13                                      torch==2.13.0+cpu
test    venv            numpy                                     numpy
test    venv            safetensors                               safetensors
test    venv            gguf                                      gguf
test    venv            transformers                              transformers
test    venv            nbclient                                  nbclient
test    venv            ipykernel                                 ipykernel
test    venv            torchinfo                                 torchinfo
test    venv            mypy                                      mypy
test    venv            tensorboard                               tensorboard
test    venv            lightning                                 lightning
test    venv            accelerate                                accelerate
test    venv            bitsandbytes                              bitsandbytes
test    venv            compressed_tensors                        compressed-tensors
test    venv            torchao                                   torchao
test    venv            h5py                                      h5py
test    venv            keras                                     keras
test    venv            wandb                                     wandb<0.26
test    venv            trackio                                   trackio
test    venv            onnx                                      onnx
test    venv            onnxscript                                onnxscript
test    venv            axe_playwright_python                     axe-playwright-python
'
own=${TORCHOSCOPE_PYTHON:-python3}
debian=/usr/bin/python3
venv=build/venv/bin/python3
stamp=build/.setup-$1
# Torch is large: the tests reuse the byte code compiled here.
export PYTHONPYCACHEPREFIX="$PWD/build/pycache"
index=${TORCHOSCOPE_TORCH_INDEX:-}
key="$needs$PATH $PWD ${TORCHOSCOPE_PYTHON:-} $index"

say() {
    echo "torchoscope: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

# --- Detection. Not through dpkg: a library built by hand is fine.

# has_module PYTHON MODULE - does not import it: torch would take seconds.
has_module() {
    "$1" -c 'import sys; from importlib.util import find_spec
sys.exit(find_spec(sys.argv[1]) is None)' "$2"
}

# has_torch PYTHON [VERSION] - imports it: an installed torch may be broken.
has_torch() {
    "$1" -c 'import sys, torch
sys.exit(not torch.__version__.startswith(sys.argv[1]))' "${2:-}" >/dev/null 2>&1
}

# fit PYTHON - new enough for the package, and not build/venv itself if that is active.
fit() {
    "$1" -c 'import os, sys
here = os.path.realpath(sys.prefix) == os.path.realpath("build/venv")
sys.exit(here or sys.version_info < (3, 11))' 2>/dev/null
}

# The Python to make build/venv with, if it needs its own pip.
venv_maker() {
    for python in "$own" $debian; do
        if fit "$python" && has_module "$python" ensurepip; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

python_header() {
    for python in python3 $debian; do
        if fit "$python" && [ -e "$("$python" -c 'import sysconfig
print(sysconfig.get_path("include"))')/$1" ]; then
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
    python_header) python_header "$2" ;;
    venv_maker) venv_maker || has_torch "$own" ;;
    debian_python) has_module $debian "$2" ;;
    venv) has_module $venv "$2" ;;
    venv_torch) has_torch $venv "$2" ;;
    file) ls $2 ;;
    esac >/dev/null 2>&1
}

# missing debian|torch|venv - the packages of needs that were not found.
missing() {
    echo "$needs" | while read -r goal where what brings; do
        case " $goals " in *" ${goal:-none} "*) ;; *) continue ;; esac
        case $where in
        venv) from=venv ;;
        venv_torch) from=torch ;;
        *) from=debian ;;
        esac
        [ $from = "$1" ] || continue
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
        [ $tries -gt 1 ] || say "another apt is running; waiting for it"
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
    printf 'torchoscope: continue? [Y/n] ' >&2
    read -r answer || return 1
    case $answer in [nN]*) return 1 ;; esac
}

may_install_from_debian() {
    command -v apt-get >/dev/null && [ -z "${TORCHOSCOPE_NO_INSTALL:-}" ] && can_be_root
}

# install_from_debian PACKAGES - fails if they were not installed; declined=1 if the user
# said no.
install_from_debian() {
    say "will run: apt-get install --no-install-recommends$1"
    ask || {
        declined=1
        return 1
    }
    apt_lists_are_young || apt_update || say "the package lists could not be updated"
    # shellcheck disable=SC2086
    count=$(apt-get -s --no-install-recommends install $1 2>&1 | grep -c '^Inst') || :
    say "installing $count packages in all; details in build/apt.log"
    apt_install "$1" || { apt_update && apt_install "$1"; } || {
        tail -n 3 build/apt.log >&2
        say "apt-get failed; see build/apt.log"
        return 1
    }
    hash -r
}

get_needs_from_debian() {
    if ! command -v apt-get >/dev/null; then
        fail "this is not Debian; install the equivalents of:$1"
    elif ! may_install_from_debian; then
        who='ask an administrator to run'
        [ "$(id -u)" != 0 ] || who='packages are missing; run'
        fail "$who: apt-get install --no-install-recommends$1"
    fi
    install_from_debian "$1" || fail "what is missing:$1"
    lack=$(missing debian)
    [ -z "$lack" ] || fail "still not found after installing:$lack"
}

# --- build/venv

# make_venv PYTHON - make an empty one and note what it was made with.
make_venv() {
    "$1" -m venv --clear --without-pip build/venv >build/pip.log 2>&1 || return 1
    echo "${TORCHOSCOPE_PYTHON:-}" >build/venv/.made-with
}

venv_stays() {
    $venv -c '' 2>/dev/null || return 1
    [ -z "${TORCHOSCOPE_PYTHON:-}" ] || [ -L build/venv ] ||
        [ "$TORCHOSCOPE_PYTHON" = "$(cat build/venv/.made-with 2>/dev/null)" ]
}

site_packages() {
    $venv -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# The package is imported from the build folder. A build/venv that is a link is not
# ours to change.
show_package_to_venv() {
    [ ! -L build/venv ] || return 0
    echo "$PWD/build/c/python" >"$(site_packages)/torchoscope.pth"
}

# borrow_torch PYTHON [VERSION] - make a build/venv that sees all packages of that Python.
# --system-site-packages would show the packages of the Python below a venv instead.
borrow_torch() {
    fit "$1" && has_torch "$1" "${2:-}" && make_venv "$1" || return 1
    "$1" -c 'import site
user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
for folder in site.getsitepackages() + user:
    print(f"import site; site.addsitedir({folder!r})")' >"$(site_packages)/borrowed.pth"
    say "build/venv uses the torch of $(command -v "$1") unchanged"
}

# pip_install REQUIREMENTS [OPTION VALUE] - into build/venv.
pip_install() {
    requirements=$1
    shift
    has_module $venv pip || $venv -m ensurepip >build/pip.log 2>&1 || return 1
    # shellcheck disable=SC2086 # the requirements are several words
    $venv -m pip install -q --no-compile --retries 1 --timeout 15 \
        --disable-pip-version-check "$@" $requirements >build/pip.log 2>&1
}

# why_not REQUIREMENT - prints why pip failed. A package that no index offers is optional.
# Under CI, one that is offered must install.
why_not() {
    say "pip does not find $1: $(grep . build/pip.log | tail -n 1)"
    [ -n "${CI:-}" ] || return 0
    if ! grep -q 'No matching distribution found' build/pip.log ||
        { grep -q 'Retrying (Retry' build/pip.log && # and in the end no index answered
            grep -q 'from versions: none' build/pip.log; }; then
        fail "$1 may exist, and under CI no test may be skipped for lack of it;" \
            "the whole output is in build/pip.log"
    fi
}

# pip must never choose a torch by itself: PyPI's torch==2.13.0 for Linux brings
# gigabytes of CUDA. The exact name of a CPU build either exists in the indexes of the
# user's pip settings and in TORCHOSCOPE_TORCH_INDEX, or it does not.
torch_from_pip() {
    [ -z "${TORCHOSCOPE_NO_INSTALL:-}" ] || return 1
    if ! venv_stays; then
        maker=$(venv_maker 2>/dev/null) || return 1
        say "making build/venv with $maker"
        make_venv "$maker" || return 1
    fi
    set --
    case $index in
    '') ;;
    *://*) set -- --extra-index-url "$index" ;;
    *) set -- --find-links "$index" ;;
    esac
    # Borrowed packages do not count as installed: torch needs newer ones.
    [ ! -e "$(site_packages)/borrowed.pth" ] || set -- --ignore-installed "$@"
    say "will install into build/venv: torch==2.13.0+cpu numpy"
    pip_install 'torch==2.13.0+cpu numpy' "$@" && return 0
    [ -z "$index" ] ||
        fail "TORCHOSCOPE_TORCH_INDEX=$index does not bring torch==2.13.0+cpu:" \
            "$(grep . build/pip.log | tail -n 1)"
    why_not torch==2.13.0+cpu
    return 1
}

torch_from_debian() {
    may_install_from_debian && [ -x $debian ] || return 1
    install_from_debian ' python3-torch libopenblas0-pthread' && borrow_torch $debian
}

# Make build/venv, with a torch if there is one.
get_venv() {
    venv_stays && has_torch $venv "$version" && return 0
    borrow_torch "$own" "$version" || torch_from_pip && return 0
    venv_stays && has_torch $venv && return 0
    borrow_torch "$own" || borrow_torch $debian || torch_from_debian && return 0
    if ! venv_stays; then
        maker=$(venv_maker 2>/dev/null) && make_venv "$maker" || return 0
    fi
    say "no torch was found, so model files can be explored but nothing recorded" \
        "(TORCHOSCOPE_PYTHON may name a Python that has one," \
        "TORCHOSCOPE_TORCH_INDEX a pip index of CPU builds)"
}

# Packages for the tests only. They are independent: one may be missing.
get_needs_from_pip() {
    say "will install into build/venv:$1"
    pip_install "$1" && return 0
    for one in $1; do
        pip_install "$one" || why_not "$one"
    done
}

# --- All together

if [ -f "$stamp" ] && [ "$key" = "$(cat "$stamp")" ] &&
    { [ "$1" = compile ] || [ -x $venv ]; }; then
    exit 0
fi
mkdir -p build
if command -v flock >/dev/null; then
    exec 9>build/.setup-lock
    flock 9 # a second make waits here, then finds everything in place
fi

lack=$(missing debian)
[ -z "$lack" ] || get_needs_from_debian "$lack"
if [ -n "${TORCHOSCOPE_PYTHON:-}" ] && ! fit "$TORCHOSCOPE_PYTHON"; then
    fail "TORCHOSCOPE_PYTHON=$TORCHOSCOPE_PYTHON is no Python of 3.11 or later"
fi

if [ "$1" = compile ]; then
    printf '%s' "$key" >"$stamp"
    exit 0
fi

declined=
get_venv
show_package_to_venv
no_torch=$(missing torch)
lack=$(missing venv)
# The tests that need the other packages need this torch too; a bench may not.
if [ -n "$lack" ] && [ -z "${TORCHOSCOPE_NO_INSTALL:-}" ] &&
    { [ -z "$no_torch" ] || [ "$1" = bench ]; }; then
    get_needs_from_pip "$lack"
    lack=$(missing venv)
fi
lack=$no_torch$lack
if [ -n "$lack" ]; then
    # No stamp, so that the next call looks again.
    [ -z "${CI:-}" ] || [ -z "${TORCHOSCOPE_NO_INSTALL:-}" ] ||
        fail "build/venv lacks$lack; under CI no test may be skipped"
    say "build/venv lacks$lack: tests that need it will be skipped" \
        "${no_torch:+(TORCHOSCOPE_TORCH_INDEX may name a pip index of CPU builds)}"
    exit 0
fi
[ -n "$declined" ] || has_module $venv torch || exit 0 # the next call looks again
printf '%s' "$key" >"$stamp"
