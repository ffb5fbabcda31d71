"""The demo's Git repository: real, temporary, two commits."""

import shutil
from pathlib import Path

import pygit2

from volary.demo import definitions

_AUTHOR = ("Demo", "demo@volary.dev")


def create(where: Path, scenario: definitions.Scenario) -> pygit2.Repository:
    """Make a repository whose first commit is the story's example."""
    shutil.copytree(definitions.example_directory(scenario), where / scenario.service)
    repository = pygit2.init_repository(str(where), initial_head="main")
    commit(repository, f"Deploy {scenario.service} v1")
    return repository


def release(repository: pygit2.Repository, where: Path, scenario: definitions.Scenario) -> None:
    """Change the version in the example's files and commit that."""
    old, new = scenario.change
    for path in sorted((where / scenario.service).rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if old in text:
            path.write_text(text.replace(old, new), encoding="utf-8")
    commit(repository, scenario.subject)


def commit(repository: pygit2.Repository, message: str) -> str:
    """Commit everything and return the commit's hash."""
    repository.index.add_all()
    repository.index.write()
    author = pygit2.Signature(*_AUTHOR)
    parents = [] if repository.head_is_unborn else [repository.head.target]
    made = repository.create_commit(
        "HEAD", author, author, message, repository.index.write_tree(), parents
    )
    return str(made)
