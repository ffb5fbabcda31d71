"""Bare mirrors of the repositories that are watched: signatures first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """What happened to a branch between two fetches."""

    branch: str
    #: Empty: the branch is new.
    old: str
    #: Empty: the branch was deleted.
    new: str
    #: The old commit is not among the new one's ancestors.
    forced: bool = False
