"""What applying and pruning did, per object, in Flux' words."""

from dataclasses import dataclass
from enum import StrEnum

from volary.model.objects import manifest


class Action(StrEnum):
    """What happened to one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Change:
    """One object and what happened to it."""

    key: manifest.ResourceKey
    action: Action
    #: Why it was skipped, or what was changed; may be empty.
    reason: str = ""
    #: Something was written, also where it counts as unchanged: its labels and annotations are not
    #: its content.
    written: bool = False
    #: Who claimed it before; empty: nobody else.
    taken_from: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What happened to a list of objects, in the order it happened."""

    changes: tuple[Change, ...] = ()

    def count(self, action: Action) -> int:
        """Return how many objects ended with `action`."""
        return sum(change.action is action for change in self.changes)

    @property
    def summary(self) -> str:
        """``3 created, 1 configured``, leaving out zeroes; ``nothing to do`` when empty."""
        parts = [f"{self.count(action)} {action.value}" for action in Action if self.count(action)]
        return ", ".join(parts) or "nothing to do"
