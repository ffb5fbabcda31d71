"""The wheel says what it is made of."""

import json
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import write_sbom
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("sbom") / "bill.json"
    write_sbom.write(ROOT, file)
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_a_wheel_has_the_bill_inside(
    tmp_path: Path, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOLARY_WEB", "none")
    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])

    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if "/sboms/" in name]
        inside = json.loads(archive.read(name))

    assert name.endswith(".dist-info/sboms/volary.cdx.json")
    assert inside == made


def test_every_dependency_is_there_with_version_and_hashes(made: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    components = {component["name"]: component for component in made["components"]}

    direct = write_sbom._names(project["dependencies"])

    assert set(direct) <= set(components)
    assert {components[name]["scope"] for name in direct} == {"required"}
    assert components["asyncpg"]["scope"] == "optional", "an extra"
    assert {"yarl", "starlette", "cffi"} <= set(components), "what dependencies need"
    assert not {"pytest", "mypy", "ruff", "hypothesis"} & set(components), "what developers need"
    for component in components.values():
        assert component["version"]
        assert component["hashes"], component["name"]
        assert component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"


def test_the_graph_leads_from_the_project_to_every_required_component(
    made: dict[str, Any],
) -> None:
    needs = {entry["ref"]: entry["dependsOn"] for entry in made["dependencies"]}
    waiting, reached = [made["metadata"]["component"]["bom-ref"]], set[str]()
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting += needs[reference]

    required = {one["bom-ref"] for one in made["components"] if one["scope"] == "required"}
    assert reached == {*required, made["metadata"]["component"]["bom-ref"]}


def test_the_same_lock_makes_the_same_bytes_without_a_place_or_a_date(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one", "two")]
    for file in files:
        write_sbom.write(ROOT, file)

    one, two = (file.read_bytes() for file in files)

    assert one == two
    addresses = [line for line in one.decode().splitlines() if "://" in line]
    assert [line for line in addresses if "cyclonedx.org/schema" not in line] == []
    assert b"timestamp" not in one
    assert b"serialNumber" not in one


def test_a_lock_is_read_as_uv_writes_it() -> None:
    text = (
        f"a==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{'0' * 64}\n    # via\n"
        "    #   B_c\n    #   volary (pyproject.toml)\n"
        f"b-c==2 \\\n    --hash=sha256:{'1' * 64}\n    # via volary (pyproject.toml:dev)\n"
    )

    found = write_sbom.read_lock(text)

    assert found["a"] == write_sbom.Package(
        "a", "1.0", "sys_platform == 'win32'", ("0" * 64,), frozenset({"b-c", "volary"})
    )
    assert found["b-c"].needed_by == {"volary"}
