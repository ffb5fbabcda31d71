"""How a run request becomes a run that is ready to begin: planned, and not tried for ever."""

from collections.abc import Callable

from volary.controller import refusals
from volary.controller.applications import interrupted_runs, state_writer
from volary.controller.leadership import context
from volary.controller.runs import ready_runs, run_kinds
from volary.controller.status import run_requests
from volary.model import errors

#: Bugs in a row after which a request is refused.
_MOST_BUGS = 3


class RequestPlanner:
    """Plans the runs of one application.

    Args:
        leader: What is shared while this process is the leader.
        writer: Knows how the application stands.
    """

    def __init__(
        self, leader: context.LeaderContext, writer: state_writer.ApplicationStateWriter
    ) -> None:
        self._leader = leader
        self._writer = writer
        #: The request whose planning met bugs, how many in a row, and what the last one was.
        self._bugs = ("", 0, "")

    async def refusal_of(self, run_request: run_requests.RunRequest) -> str:
        """Return why a request is refused before anything is planned; empty: it is not."""
        known, count, trouble = self._bugs
        if known == run_request.id and count >= _MOST_BUGS:
            return f"{trouble}; it was tried {count} times"
        return await self._writer.refusal_of(run_request)

    async def plan(
        self, run_request: run_requests.RunRequest, told: Callable[[str], None]
    ) -> ready_runs.ReadyRun:
        """Return the run of a request; `told` is given a sentence with whom it waits for.

        Raises:
            errors.UserError: It is refused: something has to be mended first.
            errors.TemporaryError: It may work later.
        """
        leader, name = self._leader, self._writer.name
        masker = ready_runs.masker(leader.dependencies, application=name)
        try:
            async with leader.planners.slot():
                planning = run_kinds.Planning(
                    self._writer.state, run_request, leader.dependencies, leader.store, masker, told
                )
                return await leader.kinds[run_request.kind].prepare(planning)
        except errors.UserError as error:
            raise errors.user_error(masker.clean(refusals.sentence(error))) from error
        except errors.TemporaryError as error:
            raise errors.TemporaryError(masker.clean(str(error))) from error
        except Exception as error:
            known, count, _ = self._bugs
            count = count + 1 if known == run_request.id else 1
            self._bugs = (run_request.id, count, interrupted_runs.sentence(error))
            raise
