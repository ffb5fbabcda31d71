"""Parts of sentences: lists of names that stay short, spans of time."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

MOST_NAMES = 5


def join_names(several: Sequence[str]) -> str:
    """Return ``us``, ``us and eu``, ``us, eu and asia``; more than five are counted."""
    if len(several) > MOST_NAMES:
        return f"{', '.join(several[: MOST_NAMES - 1])} and {len(several) - MOST_NAMES + 1} more"
    if len(several) < 2:
        return "".join(several)
    return f"{', '.join(several[:-1])} and {several[-1]}"


def first_of(parts: Iterable[str], most: int = MOST_NAMES, between: str = ", ") -> str:
    """Return ``us, eu and 3 more``, or ``a; b; and 3 more``: the first, how many are left out."""
    every = list(parts)
    shown = between.join(every[:most])
    if len(every) <= most:
        return shown
    return f"{shown}{'' if between == ', ' else between.rstrip()} and {len(every) - most} more"


def awaiting_approval(given: int, count: int, approvers: Sequence[str]) -> str:
    """Return how many have agreed, how many have to, and who may."""
    return (
        f"awaiting approval: {given} of {count} (approvers: {join_names(approvers) or 'anybody'})"
    )


def count(number: int, noun: str) -> str:
    """Return ``1 cluster`` or ``2 clusters``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short_commit(commit: str) -> str:
    """Return a commit as people write it."""
    return commit[:7] if len(commit) == 40 else commit


def duration(length: timedelta) -> str:
    """Return ``1h30m``, ``45s``, ``0.5s``: the largest units first, zeroes left out."""
    seconds = length.total_seconds()
    if seconds < 1:
        return f"{seconds:g}s"
    whole = round(seconds)
    parts = ((whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number)
