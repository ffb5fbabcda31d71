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
class Decision:
    """Whether to start, with the sentence that says why or why not."""

    starts: bool
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
        return Decision(False, "commits do not trigger this application")
    if not head.previous:
        return Decision(True, "it is the first commit seen of this application")
    if head.previous == head.commit:
        return Decision(False, "this commit was handled before")
    return _touches(options, head)


def _touches(options: applications.Triggers, head: Head) -> Decision:
    ignored = globs.any_match(options.on_commit.ignores, head.changed)
    if ignored:
        return Decision(False, f"{ignored} is among the ignored paths")
    watched = globs.any_match(options.on_commit.paths, head.changed)
    if watched:
        return Decision(True, f"{watched} changed")
    below = f"{head.directory}/" if head.directory else ""
    touched = next((path for path in head.changed if path.startswith(below)), "")
    if touched:
        return Decision(True, f"{touched} changed")
    return Decision(False, "the commit does not touch the application")


def on_command(options: applications.Triggers, by: str) -> Decision:
    """Decide about a person's wish (PipeCD: ON_COMMAND)."""
    if options.on_command.disabled:
        return Decision(False, "commands do not trigger this application")
    return Decision(True, f"{by} asked for it")
