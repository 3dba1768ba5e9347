#!/usr/bin/env bash
# Make or renew the virtual environment from the lock: envs/install.sh VENV
# Works with any Python >= 3.11 on PATH (or in $PYTHON). Needs nothing else; uv comes from the lock itself.
set -euo pipefail
venv=${1:?usage: envs/install.sh VENV}
root=$(cd "$(dirname "$0")/.." && pwd)
lock=$root/envs/requirements.lock
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "fedsift needs Python 3.11 or newer; $python is $("$python" -V 2>&1). Set PYTHON to a newer one." >&2
  exit 1
}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"

# uv installs the lock several times faster than pip does; its own line (with hashes) comes from the same lock.
uv_line=$(mktemp)
trap 'rm -f "$uv_line"' EXIT
awk '/^uv==/ {on=1} on {print} on && !/\\$/ {exit}' "$lock" >"$uv_line"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$uv_line"

# uv does not read pip's configuration: hand over the indexes and wheel folders that the site has set up for pip.
# Taking the best match of several indexes is safe here because the lock pins every file by hash.
setting() { "$venv/bin/python" -m pip config get "global.$1" 2>/dev/null || true; }
if [ -z "${UV_EXTRA_INDEX_URL:-}" ]; then
  extra=$(setting extra-index-url | tr '\n' ' ')
  [ -z "${extra// /}" ] || export UV_EXTRA_INDEX_URL="$extra" UV_INDEX_STRATEGY=unsafe-best-match
fi
if [ -z "${UV_DEFAULT_INDEX:-}" ]; then
  index=$(setting index-url)
  [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
fi
"$venv/bin/uv" pip sync --quiet --compile-bytecode --require-hashes --python "$venv/bin/python" "$lock"
"$venv/bin/uv" pip install --quiet --no-deps --no-build-isolation --python "$venv/bin/python" --editable "$root"
