"""Project files of a repository are those of one directory, and nothing else."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pygit2
import pytest

from volary.gitops import project_discovery
from volary.sources.git import repositories

AUTHOR = pygit2.Signature("Ana", "ana@example.com", 1_700_000_000, 60)
Look = Callable[[Mapping[str, str | bytes]], project_discovery.FoundFiles]


def link(target: str) -> str:
    return f"-> {target}"


async def look(
    directory: Path, files: Mapping[str, str | bytes], where: str = "teams"
) -> project_discovery.FoundFiles:
    """Commit files, and look for those of projects; ``-> x`` is a symbolic link to x."""
    made = pygit2.init_repository(str(directory), initial_head="main")
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        elif text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    made.index.add_all()
    made.index.write()
    commit = made.create_commit("HEAD", AUTHOR, AUTHOR, "Say", made.index.write_tree(), [])
    opened = await repositories.open_repository(str(directory))
    return project_discovery.look(await opened.tree(str(commit)), str(commit), where)


async def test_yaml_files_below_the_directory_are_found(tmp_path: Path) -> None:
    found = await look(
        tmp_path,
        {
            "teams/b.yml": "b",
            "teams/a.yaml": "a",
            "teams/more/c.yaml": "c",
            "teams/README.md": "x",
            "teams/.hidden.yaml": "x",
            "teams/.hidden/d.yaml": "x",
            "other.yaml": "x",
        },
    )

    assert found.problems == ()
    assert {file.name: file.text for file in found.files} == {
        "teams/a.yaml": "a",
        "teams/b.yml": "b",
        "teams/more/c.yaml": "c",
    }


async def test_the_root_may_be_the_directory(tmp_path: Path) -> None:
    found = await look(tmp_path, {"a.yaml": "a"}, "")

    assert [file.name for file in found.files] == ["a.yaml"]


@pytest.mark.parametrize(
    "files",
    [
        {"teams/a.yaml": link("../elsewhere/a.yaml")},
        {"teams/a.yaml": link("/etc/passwd")},
        {"teams/a.yaml": link("../../../etc/passwd")},
        {"teams/a.yaml": link("nowhere.yaml")},
        {"teams/more": link("../elsewhere")},
        {"teams/a.yaml": link("b.yaml"), "teams/b.yaml": link("../elsewhere/a.yaml")},
        {"teams": link("elsewhere")},
        {"teams/a.yaml": link("a.yaml")},
    ],
)
async def test_links_out_of_the_directory_are_refused(
    tmp_path: Path, files: dict[str, str]
) -> None:
    rest = {} if "teams" in files else {"teams/good.yaml": "good"}

    found = await look(tmp_path, {**files, **rest, "elsewhere/a.yaml": "a"})

    assert found.files == ()
    assert len(found.problems) == 1
    assert found.problems[0].hint or "circles" in found.problems[0].message


async def test_links_within_it_bring_nothing_in(tmp_path: Path) -> None:
    found = await look(
        tmp_path, {"teams/a.yaml": "a", "teams/b.yaml": link("a.yaml"), "teams/c": link("../x")}
    )

    assert [file.name for file in found.files] == ["teams/a.yaml"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"README": "x"}, "teams is not a directory of the repository"),
        ({"teams": "x"}, "teams is not a directory of the repository"),
        ({"teams/README": "x"}, "there is no project file"),
        ({"teams/a.yaml": b"\xff"}, "is not UTF-8"),
        ({"teams/a.yaml": "x" * (project_discovery.LARGEST_FILE + 1)}, "larger than 1024 KiB"),
        (
            {f"teams/{n}.yaml": "x" * project_discovery.LARGEST_FILE for n in range(9)},
            "at most 8 MiB",
        ),
        ({f"teams/{n}.yaml": "x" for n in range(1001)}, "more than 1000 project files"),
    ],
)
async def test_what_is_no_evidence_is_a_problem(
    tmp_path: Path, files: dict[str, str | bytes], message: str
) -> None:
    found = await look(tmp_path, files)

    assert found.files == ()
    assert message in str(found.problems[0])
