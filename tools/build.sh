#!/bin/sh
# build.sh DIR [MESON OPTION...] - configure and compile into DIR; silent if nothing is
# new.
#
# Meson does not notice a room or a fuzz target that was added, so the list of them is
# kept in DIR and looked at each time; the same goes for the options. With none given, a
# DIR keeps those it has. One build at a time for each DIR: a second one waits.
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
    if [ -f "$dir/build.ninja" ]; then
        set -- --reconfigure "$@"
    fi
    if ! meson setup "$dir" "$@" >"$dir/configure.log" 2>&1; then
        cat "$dir/configure.log" >&2
        rm -f build/.setup-* # what set-up found may be gone: let it look again
        exit 1
    fi
}

# shellcheck disable=SC2046 # one option is one word
if [ $# = 0 ] && [ -f "$dir/.options" ]; then
    set -- $(cat "$dir/.options")
fi
parts=$(ls src/*/meson.build tests/fuzz/fuzz_*.c 2>/dev/null || :)
if [ ! -f "$dir/.parts" ] || [ "$parts" != "$(cat "$dir/.parts")" ] ||
    [ "$*" != "$(cat "$dir/.options")" ]; then
    echo "torchoscope: configuring $dir" >&2
    configure "$@"
    echo "$*" >"$dir/.options"
    echo "$parts" >"$dir/.parts" # last: it says that all of this went well
fi

case $(ninja -C "$dir" -n) in
*'no work to do'*) ;;
*)
    echo "torchoscope: compiling $dir" >&2
    if [ -t 2 ]; then
        ninja -C "$dir" >&2 # its progress, on one line
    else
        ninja -C "$dir" --quiet >&2
    fi
    ;;
esac

# The program stands at DIR/torchoscope, whatever folder Meson puts it in.
if [ -f "$dir/src/torchoscope" ]; then
    ln -sfn src/torchoscope "$dir/torchoscope"
fi
