"""Commits that a host was asked for and does not have: remembered until a branch moves.

After a force-push what runs may be a commit that nobody has any more. Whoever looks at all
applications again and again would ask the host for it each time.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from volary.model import errors

#: After this it is asked again: a branch that nobody follows may have brought the commit back.
_LIFETIME = timedelta(minutes=10)
_MOST = 1024


@dataclass(slots=True)
class MissingCommits:
    """Those of one repository."""

    #: Why each is missing, and until when that is believed.
    _known: dict[str, tuple[errors.UserError, float]] = field(default_factory=dict)

    def check(self, commits: Iterable[str]) -> None:
        """Go on where none of the commits is known to be missing.

        Raises:
            UserError: What was raised when the host was asked.
        """
        for commit in commits:
            error, until = self._known.get(commit, (None, 0.0))
            if error is not None and asyncio.get_running_loop().time() < until:
                raise errors.UserError(*error.problems)

    def add(self, commit: str, error: errors.UserError) -> None:
        """Remember that the host does not have a commit."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[commit] = error, asyncio.get_running_loop().time() + _LIFETIME.total_seconds()

    def forget(self) -> None:
        """Ask for all of them again: a branch has moved."""
        self._known.clear()
