#!/bin/sh
# fuzz.sh SECONDS [NAME...] - let libFuzzer search for inputs that break a reader.
#
# Starts from tests/fuzz/corpus/NAME and from seeds made of the sample files, stores new
# inputs in build/fuzz/corpus/NAME and failing ones in build/fuzz/broken/. Two targets run
# at a time. To turn a failing input into a test, copy it to tests/fuzz/corpus/NAME.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
CC=clang tools/build.sh build/fuzz -Dfuzz=true -Doptimization=1

if [ $# = 0 ]; then
    for target in build/fuzz/tests/fuzz/fuzz_*; do
        [ -f "$target" ] && set -- "$@" "${target##*/fuzz_}"
    done
fi
if [ $# = 0 ]; then
    echo "torchoscope: there is no tests/fuzz/fuzz_NAME.c yet" >&2
    exit 0
fi
echo "torchoscope: $seconds s for each of: $*" >&2

# An input may take 10 s and 72 MB at once; the sanitizer needs more memory.
mkdir -p build/fuzz/broken
[ -d build/fuzz/corpus ] || python3 tests/fuzz/make_corpus.py >/dev/null
export seconds
# shellcheck disable=SC2016 # expanded by the shell that xargs starts
printf '%s\n' "$@" | xargs -P 2 -I NAME sh -c '
    name=$1
    mkdir -p "build/fuzz/corpus/$name"
    set -- "build/fuzz/corpus/$name"
    [ -d "tests/fuzz/corpus/$name" ] && set -- "$@" "tests/fuzz/corpus/$name"
    [ -f "tests/fuzz/$name.dict" ] && set -- "-dict=tests/fuzz/$name.dict" "$@"
    log=build/fuzz/$name.log
    if "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=512 -malloc_limit_mb=72 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/broken/$name-" "$@" >"$log" 2>&1; then
        ran=$(sed -n "s/^stat::number_of_executed_units: *//p" "$log")
        echo "$name: fine, $ran inputs"
    else
        tail -n 60 "$log"
        echo "$name: BROKEN, see build/fuzz/broken/ and $log"
        exit 1
    fi' sh NAME
