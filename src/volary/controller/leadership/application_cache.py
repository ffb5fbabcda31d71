"""Applications as they were opened, for those who look at all of them again and again.

What a commit says does not change, so it is read once. Without this, every roll call would read
the files of every application.
"""

import asyncio
from collections import OrderedDict

from volary.controller.planning import projects
from volary.controller.runs import ready_runs

#: Applications at commits; with more of them than that, some are read in every round.
_MOST_APPLICATIONS = 2048


class ApplicationCache:
    """What was opened last; one for each tenure."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], projects.Project] = OrderedDict()

    async def open(
        self,
        dependencies: ready_runs.Dependencies,
        place: ready_runs.ApplicationSource,
        commit: str,
        slots: asyncio.Semaphore,
    ) -> projects.Project:
        """Return an application at a commit, which is named by its id.

        Args:
            desk: What it is opened with.
            place: Where it lives, and the clusters it is for.
            commit: No branch: what a branch says changes.
            slots: How many may read at once.

        Raises:
            errors.UserError: The commit or the file is not there, or the file has errors.
        """
        key = (repr(place), commit)
        if key not in self._known:
            async with slots:
                self._known[key] = await ready_runs.open_application(dependencies, place, commit)
        self._known.move_to_end(key)
        while len(self._known) > _MOST_APPLICATIONS:
            self._known.popitem(last=False)
        return self._known[key]
