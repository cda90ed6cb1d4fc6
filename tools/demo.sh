#!/bin/sh
# demo.sh - shown by make run: a recorded step of a small network or, if setup found no
# torch, a model file.
set -eu
cd "$(dirname "$0")/.."
python=build/venv/bin/python

if $python -c 'import sys; from importlib.util import find_spec
sys.exit(find_spec("torch") is None)' 2>/dev/null; then
    file=build/demo/resnet.scope
    echo "torchoscope: recording a step of a small network into $file" >&2
    $python tools/demo_record.py $file
else
    file=build/demo/resnet18.pth
    if [ -z "$(find "$file" -newer tools/demo_model.py 2>/dev/null)" ]; then
        echo "torchoscope: making $file" >&2
        python3 tools/demo_model.py $file
    fi
fi
exec build/torchoscope $file
