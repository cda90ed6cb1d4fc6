#!/bin/sh
# clean.sh [all] - remove build products below build, and list what remains there:
# downloads. With `all`, remove build itself.
set -eu
cd "$(dirname "$0")/.."
downloaded='venv peers watch_peers scanners'

say() {
    echo "torchoscope: $*" >&2
}

if [ "${1:-}" = all ]; then
    rm -rf build
    say "removed build; Debian packages installed by setup remain"
    exit 0
fi
[ -d build ] || exit 0
for path in build/* build/.[!.]*; do
    case " $downloaded " in
    *" ${path#build/} "*) ;;
    *)
        case $path in
        build/.setup-*) ;; # the results of setup remain valid
        *) rm -rf "$path" ;;
        esac
        ;;
    esac
done
for name in $downloaded; do
    [ -e "build/$name" ] || continue
    say "kept build/$name, $(du -sh "build/$name" | cut -f 1); make distclean removes it"
done
