"""Writes the bill of materials of the wheel: CycloneDX, of what the lock file says.

The wheel has it in ``.dist-info/sboms`` (PEP 770), by `build_hook`. The same lock and project
make the same bytes: there is no date, no number drawn, and no address a package came from.

    python tools/write_sbom.py FILE
"""

import json
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "volary.cdx.json"
_LOCK = "requirements/dev.lock"
_PINNED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)\s*(?:;\s*(?P<marker>[^\\]+))?"
)
_REQUIREMENT = re.compile(r"^[A-Za-z0-9._-]+")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^\s+#\s+(?:via\s*)?(?P<name>[A-Za-z0-9._-]+)?")


@dataclass(frozen=True, slots=True)
class Package:
    """One package of the lock file."""

    name: str
    version: str
    #: Where it is installed; empty: everywhere.
    marker: str
    #: SHA-256 of each file it is published as.
    hashes: tuple[str, ...]
    #: Packages that need it.
    needed_by: frozenset[str]


def read_lock(text: str) -> Mapping[str, Package]:
    """Return the packages of a lock file by their names."""
    packages: dict[str, Package] = {}
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text)
    for block in blocks:
        pinned = _PINNED.match(block)
        if pinned is None:
            continue
        needed_by = {
            normalised(found["name"])
            for line in block.splitlines()[1:]
            if (found := _VIA.match(line)) and found["name"]
        }
        name = normalised(pinned["name"])
        packages[name] = Package(
            name,
            pinned["version"],
            (pinned["marker"] or "").strip(),
            tuple(_HASH.findall(block)),
            frozenset(needed_by),
        )
    return packages


def bill(project: Mapping[str, Any], packages: Mapping[str, Package]) -> dict[str, Any]:
    """Return the bill of materials of a project: what it needs, and what its extras add."""
    root = f"pkg:pypi/{project['name']}@{project['version']}"
    needs = _needs(packages)
    direct = _names(project["dependencies"])
    named = _names(name for names in project["optional-dependencies"].values() for name in names)
    # An extra may be made of others of this project, which are here by themselves.
    extras = [name for name in named if name != normalised(project["name"])]
    required = _closure(direct, needs)
    everything = _closure([*direct, *extras], needs)
    listed = [packages[name] for name in sorted(everything) if name in packages]
    references = {package.name: _reference(package) for package in listed}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": root,
            }
        },
        "components": [
            _component(package, is_required=package.name in required) for package in listed
        ],
        "dependencies": [
            _dependency(root, direct, references),
            *(
                _dependency(references[package.name], needs.get(package.name, ()), references)
                for package in listed
            ),
        ],
    }


def _component(package: Package, *, is_required: bool) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _reference(package),
        "name": package.name,
        "version": package.version,
        "scope": "required" if is_required else "optional",
        "hashes": [{"alg": "SHA-256", "content": value} for value in sorted(package.hashes)],
        "purl": _reference(package),
    }
    if package.marker:
        component["properties"] = [{"name": "volary:marker", "value": package.marker}]
    return component


def _dependency(
    reference: str, names: Iterable[str], references: Mapping[str, str]
) -> dict[str, Any]:
    needed = sorted(references[name] for name in set(names) if name in references)
    return {"ref": reference, "dependsOn": needed}


def _reference(package: Package) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def _needs(packages: Mapping[str, Package]) -> dict[str, set[str]]:
    """Return which packages each needs: the lock file says it the other way round."""
    needs: dict[str, set[str]] = {}
    for package in packages.values():
        for other in package.needed_by:
            needs.setdefault(other, set()).add(package.name)
    return needs


def _closure(names: Iterable[str], needs: Mapping[str, set[str]]) -> frozenset[str]:
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs.get(name, ())
    return frozenset(found)


def _names(requirements: Iterable[str]) -> list[str]:
    return [
        normalised(found[0]) for text in requirements if (found := _REQUIREMENT.match(text.strip()))
    ]


def normalised(name: str) -> str:
    """Return a package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def write(root: Path, file: Path) -> None:
    """Write the bill of the project whose files are at `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    made = bill(project, read_lock((root / _LOCK).read_text()))
    file.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


class Bill:
    """The file of the bill, as long as a build needs it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._directory = tempfile.mkdtemp(prefix="volary-sbom-")

    def write(self) -> Path:
        """Write it where the build looks for it."""
        file = Path(self._directory, NAME)
        write(self._root, file)
        return file

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._directory)


def main(arguments: Sequence[str]) -> None:
    """Write it to the file that is named."""
    file = Path(arguments[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    write(Path(__file__).parents[1], file)


if __name__ == "__main__":
    main(sys.argv[1:])
