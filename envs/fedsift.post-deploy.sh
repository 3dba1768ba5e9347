#!/usr/bin/env bash
# Fill the active conda environment from the lock. Run in the root of the checkout.
set -euo pipefail
python -m pip install --no-deps --require-hashes -r envs/requirements.lock
python -m pip install --no-deps --no-build-isolation --editable .
