#!/bin/sh
# install.sh ROOT - put the program, its manual page, its completions and the Python
# package below ROOT. The package works in every Python from 3.11 on, so it gets a separate
# folder, for PYTHONPATH.
set -eu
cd "$(dirname "$0")/.."
root=$1

# put MODE FILE PLACE - missing files are skipped.
put() {
    [ -e "$2" ] || return 0
    echo "$root/$3" >&2
    install -D -m "$1" "$2" "$root/$3"
}

# put_binary MODE FILE PLACE - without debug symbols.
put_binary() {
    put "$@"
    [ ! -e "$2" ] || ! command -v strip >/dev/null || strip "$root/$3"
}

put_binary 755 build/torchoscope bin/torchoscope
# The module that `serve` loads on first use.
put_binary 644 build/c/src/torchoscope-http.so lib/torchoscope/torchoscope-http.so
put 644 docs/torchoscope.1 share/man/man1/torchoscope.1
put 644 completions/torchoscope.bash share/bash-completion/completions/torchoscope
put 644 completions/_torchoscope share/zsh/site-functions/_torchoscope
put 644 completions/torchoscope.fish share/fish/vendor_completions.d/torchoscope.fish

if [ -e build/c/python/torchoscope/_core.abi3.so ]; then
    package=lib/torchoscope/torchoscope
    put_binary 644 build/c/python/torchoscope/_core.abi3.so $package/_core.abi3.so
    (cd python/torchoscope && find . -name '*.py' -o -name '*.pyi' -o -name py.typed) |
        sort | while read -r file; do
        put 644 "python/torchoscope/$file" "$package/${file#./}"
    done
    put 755 tools/tt-model-analysis.sh bin/tt-model-analysis
    echo "to import torchoscope: PYTHONPATH=$root/lib/torchoscope" >&2
fi
