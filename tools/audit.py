"""Asks a database of vulnerabilities (OSV) about every package of the lock file.

    python tools/audit.py [LOCK…]

Ends with 1 when one is known to be vulnerable. Where no database can be reached it says so, and
ends with 0: that nobody could be asked is no fault of the commit.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import write_sbom

_SERVICE = os.environ.get("VOLARY_AUDIT_SERVICE", "https://api.osv.dev")
_LOCKS = ("requirements/dev.lock", "requirements/clients.lock")
#: Seconds; packages of one question.
_PATIENCE, _MOST = 30, 500


class UnreachableError(Exception):
    """There is no database to ask."""


def main(arguments: Sequence[str], service: str = _SERVICE) -> int:
    """Ask; returns the exit code."""
    packages = {
        (package.name, package.version)
        for lock in arguments or _LOCKS
        for package in write_sbom.read_lock(Path(lock).read_text()).values()
    }
    try:
        found = list(vulnerabilities(sorted(packages), service))
    except UnreachableError as error:
        sys.stdout.write(f"nothing was audited: no database can be reached ({error})\n")
        return 0
    for name, version, known in found:
        sys.stdout.write(f"{name} {version}: {', '.join(known)}\n")
    sys.stdout.write(f"{len(packages)} packages, {len(found)} with known vulnerabilities\n")
    return 1 if found else 0


def vulnerabilities(
    packages: Sequence[tuple[str, str]], service: str
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the packages with known vulnerabilities, and what these are called.

    Raises:
        UnreachableError: The database cannot be asked, or answers something else.
    """
    for start in range(0, len(packages), _MOST):
        asked = packages[start : start + _MOST]
        answers = _ask(asked, service)
        for (name, version), answer in zip(asked, answers, strict=True):
            if known := [one["id"] for one in answer.get("vulns") or ()]:
                yield name, version, known


def _ask(
    packages: Sequence[tuple[str, str]], service: str
) -> list[dict[str, list[dict[str, str]]]]:
    queries = [
        {"package": {"ecosystem": "PyPI", "name": name}, "version": version}
        for name, version in packages
    ]
    request = urllib.request.Request(
        f"{service}/v1/querybatch",
        json.dumps({"queries": queries}).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            results: list[dict[str, list[dict[str, str]]]] = json.load(answer)["results"]
    except (urllib.error.URLError, OSError, ValueError, KeyError, TypeError) as error:
        raise UnreachableError(getattr(error, "reason", None) or type(error).__name__) from error
    if len(results) != len(packages):
        raise UnreachableError("it answered about other packages")
    return results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
