"""Whether what happened is a reason to start a run (PipeCD: 7.2), pure.

Unlike PipeCD, a command or a drift check never swallows a commit that is still waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from volary.config.text import globs
from volary.model import applications


class Kind(StrEnum):
    """What asked for the run."""

    COMMIT = "commit"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A reason to start a run."""

    kind: Kind
    #: One sentence.
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to start, with the sentence that says why or why not."""

    trigger: Trigger | None
    reason: str


@dataclass(frozen=True, slots=True)
class Head:
    """What a branch points to, as seen from one application."""

    commit: str
    #: The last commit that was decided about for this application; empty: none.
    previous: str
    #: Paths that differ between the two, renamed ones under both names.
    changed: Sequence[str]
    #: The application directory, relative to the root; empty: the root.
    directory: str


def on_commit(options: applications.Triggers, head: Head) -> Decision:
    """Decide about a branch's head (PipeCD: ON_COMMIT)."""
    if options.on_commit.disabled:
        return _no("commits do not trigger this application")
    if not head.previous:
        return _yes(Kind.COMMIT, "it is the first commit seen of this application")
    if head.previous == head.commit:
        return _no("this commit was handled before")
    return _touches(options, head)


def _touches(options: applications.Triggers, head: Head) -> Decision:
    ignored = globs.any_match(options.on_commit.ignores, head.changed)
    if ignored:
        return _no(f"{ignored} is among the ignored paths")
    watched = globs.any_match(options.on_commit.paths, head.changed)
    if watched:
        return _yes(Kind.COMMIT, f"{watched} changed")
    below = f"{head.directory}/" if head.directory else ""
    touched = next((path for path in head.changed if path.startswith(below)), "")
    if touched:
        return _yes(Kind.COMMIT, f"{touched} changed")
    return _no("the commit does not touch the application")


def on_command(options: applications.Triggers, by: str) -> Decision:
    """Decide about a person's wish (PipeCD: ON_COMMAND)."""
    if options.on_command.disabled:
        return _no("commands do not trigger this application")
    return _yes(Kind.COMMAND, f"{by} asked for it")


def _yes(kind: Kind, reason: str) -> Decision:
    return Decision(Trigger(kind, reason), reason)


def _no(reason: str) -> Decision:
    return Decision(None, reason)
