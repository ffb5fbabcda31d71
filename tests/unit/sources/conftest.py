"""Real repositories and directories to read from."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pygit2
import pytest

from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Write = Callable[[Mapping[str, str]], Path]
AUTHOR = pygit2.Signature("Ana", "ana@example.com", 1_700_000_000, 60)


@pytest.fixture
def write_files(tmp_path: Path) -> Write:
    """Write files below a new directory; ``-> target`` as content makes a symbolic link."""

    def write(files: Mapping[str, str]) -> Path:
        root = tmp_path / "repository"
        for path, content in files.items():
            full = root / path
            full.parent.mkdir(parents=True, exist_ok=True)
            if content.startswith("-> "):
                full.symlink_to(content[3:])
            else:
                full.write_text(content)
        return root

    return write


@pytest.fixture
def directory_tree(write_files: Write) -> Callable[[Mapping[str, str]], directories.DirectoryTree]:
    """Write files and open them as a plain directory."""
    return lambda files: directories.DirectoryTree(write_files(files))


@pytest.fixture
def commit_files(write_files: Write) -> Callable[..., tuple[Path, str]]:
    """Commit files and return the repository's path with the commit's hash."""

    def commit(
        files: Mapping[str, str], message: str = "Change it\n\nBecause."
    ) -> tuple[Path, str]:
        root = write_files(files)
        repository = pygit2.init_repository(str(root), initial_head="main")
        repository.index.add_all()
        repository.index.write()
        parents = [] if repository.head_is_unborn else [repository.head.target]
        made = repository.create_commit(
            "HEAD", AUTHOR, AUTHOR, message, repository.index.write_tree(), parents
        )
        return root, str(made)

    return commit


@pytest.fixture
def renderer() -> renderers.Renderer:
    """A renderer with the kubectl that development brings along, and no helm."""
    beside = programs.find(search="")
    assert beside["kubectl"].startswith(os.path.dirname(sys.executable))
    return renderers.Renderer(programs.Settings(tools={"kubectl": beside["kubectl"]}))
