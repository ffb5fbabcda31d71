#!/bin/sh
# Makes .venv with the locked dependencies and volary and its sandbox: with uv when it is there, else with venv and pip.
# With the name of another lock file: adds what is locked there.
set -eu
PYTHON=${PYTHON:-python3}
LOCK=requirements/dev.lock

fail() {
  printf 'error: %s\n\nhint: %s\n' "$1" "$2" >&2
  exit 2
}

command -v "$PYTHON" >/dev/null 2>&1 || fail "$PYTHON was not found" "install Python 3.11 or newer, or name one: make PYTHON=python3.12 …"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$("$PYTHON" --version) is too old" "Volary needs Python 3.11 or newer; name one: make PYTHON=python3.12 …"

if [ $# -gt 0 ]; then
  if command -v uv >/dev/null 2>&1; then
    exec uv pip install -q --python .venv/bin/python --require-hashes -r "$1"
  fi
  exec .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$1"
fi

printf 'setting up .venv (once, about a minute) …\n' >&2
if command -v uv >/dev/null 2>&1; then
  [ -x .venv/bin/python ] || uv venv -q --python "$PYTHON" .venv
  uv pip install -q --python .venv/bin/python --require-hashes -r "$LOCK"
  uv pip install -q --python .venv/bin/python --no-deps --no-build-isolation -e ./sandbox -e .
else
  "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "this Python has no venv module" "on Debian and Ubuntu: apt-get install python3-venv; or install uv"
  [ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
  .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null # a .venv made by uv has none
  .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$LOCK"
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e ./sandbox -e .
fi
touch .venv/.ready
