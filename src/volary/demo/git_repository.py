"""The demo's Git repositories: real and temporary."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pygit2
import yaml

from volary.demo import definitions

#: Names of application files.
_APPLICATIONS = ("volary.yaml", "app.pipecd.yaml")
_AUTHOR = ("Demo", "demo@volary.dev")


class Repository:
    """A repository without a commit, until somebody writes one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._git = pygit2.init_repository(str(path), initial_head="main")

    @property
    def head(self) -> str:
        """The newest commit."""
        return str(self._git.head.target)

    def write(self, files: Mapping[str, str], message: str) -> None:
        """Write files, by their paths, and commit that; an empty text takes a file away."""
        for name, text in files.items():
            file = self.path / name
            if not text:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        self.commit(message)

    def edit(self, changes: Mapping[str, str], message: str) -> None:
        """Replace texts in all YAML files, and commit that."""
        for file in sorted(self.path.rglob("*.yaml")):
            text = file.read_text(encoding="utf-8")
            for old, new in changes.items():
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
        self.commit(message)

    def ask_before(self, stage: str, approver: str) -> None:
        """Have every application ask somebody before a stage; commits nothing.

        One without a pipeline gets one of these two stages.
        """
        approval = {"name": "WAIT_APPROVAL", "with": {"approvers": [approver]}}
        for file in (file for name in _APPLICATIONS for file in self.path.rglob(name)):
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
            pipeline = content["spec"].setdefault("pipeline", {"stages": [{"name": stage}]})
            names = [each["name"] for each in pipeline["stages"]]
            pipeline["stages"].insert(names.index(stage), approval)
            file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def commit(self, message: str) -> None:
        """Commit everything."""
        index, author = self._git.index, pygit2.Signature(*_AUTHOR)
        index.add_all()
        index.write()
        parents = [] if self._git.head_is_unborn else [self._git.head.target]
        self._git.create_commit("HEAD", author, author, message, index.write_tree(), parents)

    def add_remote(self, bare: Path) -> None:
        """Create an empty repository to push to."""
        pygit2.init_repository(str(bare), bare=True, initial_head="main")
        self._git.remotes.create("origin", str(bare))

    def push(self) -> None:
        """Push all commits."""
        self._git.remotes["origin"].push(["refs/heads/main:refs/heads/main"])


class ExampleRepository(Repository):
    """A repository whose first commit is the example of a scenario."""

    def __init__(self, path: Path, scenario: definitions.Scenario) -> None:
        #: Of the application's files.
        self.directory = path / scenario.service
        self._scenario = scenario
        shutil.copytree(definitions.example_directory(scenario), self.directory)
        super().__init__(path)
        self.commit(f"Deploy {scenario.service} v1")

    def release(self) -> None:
        """Commit the scenario's second version."""
        old, new = self._scenario.change
        self.edit({old: new}, self._scenario.subject)
