#!/bin/sh
# tt-model-analysis - installed by `make install` next to the program: runs
# torchoscope.compat.model_analysis in the user's Python, the same one that the program
# uses for live models. pip creates its own script (pyproject.toml).
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")

python=${TORCHOSCOPE_PYTHON:-}
if [ -z "$python" ] && [ -x "${VIRTUAL_ENV:-}/bin/python" ]; then
    python=$VIRTUAL_ENV/bin/python
fi
python=${python:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "tt-model-analysis: $python is not Python 3.11 or later;" \
        "set TORCHOSCOPE_PYTHON to another Python" >&2
    exit 1
fi
PYTHONPATH=$root/lib/torchoscope${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
exec "$python" -P -m torchoscope.compat.model_analysis.cli "$@"
