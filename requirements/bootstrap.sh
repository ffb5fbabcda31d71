#!/bin/sh
# Makes .venv (or $VENV) with the locked dependencies and volary and its sandbox: with uv when it is there, else with venv and pip.
# With the name of another lock file: adds what is locked there.
set -eu
PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}
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
    exec uv pip install -q --python "$VENV/bin/python" --require-hashes -r "$1"
  fi
  exec "$VENV/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$1"
fi

printf 'setting up %s (once, about a minute) …\n' "$VENV" >&2
if command -v uv >/dev/null 2>&1; then
  [ -x "$VENV/bin/python" ] || uv venv -q --python "$PYTHON" "$VENV"
  uv pip install -q --python "$VENV/bin/python" --require-hashes -r "$LOCK"
  uv pip install -q --python "$VENV/bin/python" --no-deps --no-build-isolation -e ./sandbox -e .
else
  "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "this Python has no venv module" "on Debian and Ubuntu: apt-get install python3-venv; or install uv"
  [ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
  "$VENV/bin/python" -m pip --version >/dev/null 2>&1 || "$VENV/bin/python" -m ensurepip >/dev/null # one made by uv has none
  "$VENV/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$LOCK"
  "$VENV/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e ./sandbox -e .
fi
touch "$VENV/.ready"
