"""Repositories that are larger than anybody meant them to be."""

import time
from pathlib import Path

import pygit2
import pytest

from volary.gitops import discovery
from volary.model import server_settings, work_limits
from volary.sources.git import repositories

WEB = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: %s}\n"


async def tree_of(path: Path, directories: dict[str, dict[str, str]]) -> repositories.GitTree:
    """Commit directories with files, without a checkout."""
    opened = pygit2.init_repository(str(path), bare=True)
    blobs: dict[str, pygit2.Oid] = {}
    root = opened.TreeBuilder()
    for name, files in directories.items():
        builder = opened.TreeBuilder()
        for file, text in files.items():
            if text not in blobs:
                blobs[text] = opened.create_blob(text.encode())
            builder.insert(file, blobs[text], pygit2.enums.FileMode.BLOB)
        root.insert(name, builder.write(), pygit2.enums.FileMode.TREE)
    who = pygit2.Signature("Ann", "ann@example.com", 1_700_000_000, 0)
    made = opened.create_commit("refs/heads/main", who, who, "m", root.write(), [])
    return await repositories.Repository("big", opened).tree(str(made))


async def test_a_hundred_thousand_files_are_walked_once_and_read_when_they_matter(
    tmp_path: Path,
) -> None:
    files = {f"file-{number}": "nothing" for number in range(1000)}
    directories = {f"d{number:03}": files for number in range(100)}
    directories["shop"] = {"volary.yaml": WEB % "shop"}
    tree = await tree_of(tmp_path / "big.git", directories)
    finder = discovery.Discovery(server_settings.Repository("big", "/x"))
    began = time.process_time()

    found = finder.look(tree)

    assert [each.name for each in found.readings] == ["shop"]
    assert found.warnings == ()
    assert time.process_time() - began < 30


async def test_more_applications_than_are_taken_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_limits, "APPLICATIONS", 20)
    directories = {f"d{n:02}": {"volary.yaml": WEB % f"app-{n:02}"} for n in range(30)}
    tree = await tree_of(tmp_path / "big.git", directories)

    found = discovery.Discovery(server_settings.Repository("big", "/x")).look(tree)

    assert [each.name for each in found.readings] == [f"app-{n:02}" for n in range(20)]
    assert found.warnings == ("30 applications found, only 20 are taken",)


async def test_a_file_that_is_too_large_breaks_only_its_own_application(tmp_path: Path) -> None:
    large = WEB % "big" + "# " + "x" * discovery.LARGEST_FILE
    directories = {"big": {"volary.yaml": large}, "shop": {"volary.yaml": WEB % "shop"}}
    tree = await tree_of(tmp_path / "big.git", directories)

    broken, shop = discovery.Discovery(server_settings.Repository("big", "/x")).look(tree).readings

    assert (broken.application, shop.name) == (None, "shop")
    assert "1 MiB" in str(broken.problems[0]) or "large" in str(broken.problems[0])
