#!/bin/sh
# build.sh DIR [MESON OPTION...] - configure and compile into DIR; silent if nothing
# changed. $TARGETS, if set, are the only targets that ninja builds.
#
# Meson does not detect new rooms, new fuzz targets and libraries that were installed
# later, so a list of them is stored in DIR and compared each time; options likewise.
# Without options, DIR keeps its current ones. A new DIR gets -Dwerror=true, so that make
# run and make test share one build; if the compiler warns, it is compiled again
# without. One build per DIR at a time: a second one waits.
set -eu
cd "$(dirname "$0")/.."
dir=$1
shift

mkdir -p "$dir"
if command -v flock >/dev/null; then
    exec 9>"$dir/.lock"
    flock 9
fi

configure() {
    echo "torchoscope: configuring $dir" >&2
    # Meson caches missing headers. Without this file it starts from scratch, and ninja
    # only compiles files whose command changed.
    rm -f "$dir/.parts" "$dir/meson-private/coredata.dat"
    if ! meson setup "$dir" "$@" >"$dir/configure.log" 2>&1; then
        cat "$dir/configure.log" >&2
        rm -f build/.setup-* # dependencies may have been removed: let setup look again
        exit 1
    fi
    echo "$*" >"$dir/.options"
    echo "$parts" >"$dir/.parts" # last: marks success
}

compile() {
    # shellcheck disable=SC2086 # one target is one word
    set -- ${TARGETS:-}
    case $(ninja -C "$dir" -n "$@") in
    *'no work to do'*) return 0 ;;
    esac
    echo "torchoscope: compiling $dir" >&2
    if [ -t 2 ]; then
        ninja -C "$dir" "$@" >&2 # its progress, on one line
    else
        ninja -C "$dir" --quiet "$@" >&2
    fi
}

strict=-Dwerror=true
asked=$*
# shellcheck disable=SC2046 # one option is one word
if [ $# = 0 ]; then
    set -- $(cat "$dir/.options" 2>/dev/null || echo "$strict")
fi
parts=$(ls src/*/meson.build src/*/*/meson.build python/ext/*/meson.build tests/fuzz/fuzz_*.c build/.setup-compile 2>/dev/null || :)
if [ ! -f "$dir/.parts" ] || [ "$parts" != "$(cat "$dir/.parts")" ] ||
    [ "$*" != "$(cat "$dir/.options")" ]; then
    configure "$@"
fi

if ! compile; then
    [ -z "$asked" ] && [ "$*" = "$strict" ] || exit 1
    case $(ninja -C "$dir" --quiet 2>&1) in
    *'[-Werror'*) ;;
    *) exit 1 ;;
    esac
    echo "torchoscope: this compiler warns; compiling again without -Werror" >&2
    configure -Dwerror=false
    compile
fi

# DIR/torchoscope is the program, whatever folder Meson puts it in.
if [ -f "$dir/src/torchoscope" ]; then
    ln -sfn src/torchoscope "$dir/torchoscope"
fi
