"""How a request becomes a run that is ready to begin: planned, and not tried for ever.

Planning a commit may fail in ways that another try does not mend: it meets a bug, it takes longer
than anything may, or the process ends in the middle of it (out of memory, for instance). How often
that happened is kept with the application, before planning begins and after it. A commit that has
failed so often enough is in quarantine: it is refused, and neither another look nor a restart
tries it again. A new commit lets the application go, and so does a person who asks for a run.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from volary.controller import refusals
from volary.controller.applications import interrupted_runs, state_writer
from volary.controller.leadership import context
from volary.controller.runs import ready_runs, run_kinds
from volary.controller.status import application_statuses, run_requests
from volary.model import errors, work_limits
from volary.tenancy import restrictions

_LOG = logging.getLogger(__name__)

#: Bugs in a row after which a request is refused: another cluster, or another time, may help.
_MOST_BUGS = 3
#: The same for what took too long,
_MOST_LIMITS = 2
#: and for processes that ended meanwhile: mostly they were killed for a reason of another kind.
_MOST_ENDS = 20
#: Seconds that are taken to write down that planning was broken off, while the process stops.
_LAST_WORD = 2.0

#: Keeps how an application's planning stands.
KeepAttempt = Callable[[application_statuses.PlanningAttempt | None], Awaitable[None]]
_Attempt = application_statuses.PlanningAttempt


class RequestPlanner:
    """Plans the runs of one application.

    Args:
        leader: What is shared while this process is the leader.
        writer: Knows how the application stands.
        keep: Writes down an attempt, before planning goes on.
    """

    def __init__(
        self,
        leader: context.LeaderContext,
        writer: state_writer.ApplicationStateWriter,
        keep: KeepAttempt,
    ) -> None:
        self._leader = leader
        self._writer = writer
        self._keep = keep
        #: What this process is planning: if it is kept as under way, no other has ended with it.
        self._own = ""

    async def refusal_of(self, run_request: run_requests.RunRequest) -> str:
        """Return why a request is refused before anything is planned; empty: it is not."""
        attempt = self._attempt_at(run_request)
        if attempt.failures and attempt.failures >= attempt.most:
            name, commit = self._writer.name, attempt.commit[:7]
            _LOG.warning("application %s at %s is in quarantine: %s", name, commit, attempt.reason)
            return refusals.with_hint(
                f"{commit} is in quarantine: {attempt.reason}; it was tried {attempt.failures}"
                " times",
                f"push a commit that mends it, or `volary sync {name}` tries once more",
            )
        return await self._writer.refusal_of(run_request)

    async def plan(
        self, run_request: run_requests.RunRequest, told: Callable[[str], None]
    ) -> ready_runs.ReadyRun:
        """Return the run of a request; `told` is given a sentence with whom it waits for.

        Raises:
            restrictions.NotPermittedError: It is refused: the project does not permit it now.
            errors.UserError: It is refused: something has to be mended first.
            errors.TemporaryError: It may work later.
        """
        leader, name = self._leader, self._writer.name
        masker = ready_runs.masker(leader.dependencies, application=name)
        attempt = self._attempt_at(run_request)
        # One whose planning has ended a process is planned beside no other that has, so that not
        # both count for what one of them does.
        async with leader.planners.slot(), leader.planners.alone(is_needed=attempt.failures > 0):
            try:
                async with self._noting(attempt):
                    planning = run_kinds.Planning(
                        self._writer.state,
                        run_request,
                        leader.dependencies.acting_for(self._writer.state.record.project),
                        leader.store,
                        masker,
                        told,
                    )
                    return await leader.kinds[run_request.kind].prepare(planning)
            except errors.UserError as error:
                is_projects = isinstance(error, restrictions.NotPermittedError)
                kind = restrictions.NotPermittedError if is_projects else errors.UserError
                raise kind(errors.Problem(masker.clean(refusals.sentence(error)))) from error
            except errors.TemporaryError as error:
                raise errors.TemporaryError(masker.clean(str(error))) from error

    @contextlib.asynccontextmanager
    async def _noting(self, attempt: _Attempt) -> AsyncIterator[None]:
        """Have it kept that planning goes on during the block, and how it failed.

        Raises:
            errors.TemporaryError: It took too long, and is tried again.
        """
        before = attempt if attempt.failures else None
        self._own = attempt.request
        try:
            await self._keep(replace(attempt, under_way=True))
            yield
        except work_limits.TookTooLongError as error:
            reason = refusals.sentence(error)
            await self._keep(_failed(attempt, reason, _MOST_LIMITS))
            raise errors.TemporaryError(error.problems[0].message) from error
        except (errors.UserError, errors.TemporaryError):
            await self._keep(before)
            raise
        except asyncio.CancelledError:
            # This process stops: that is no fault of the application.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_LAST_WORD):
                    await self._keep(before)
            raise
        except Exception as error:
            if not context.is_overtaken(error):
                await self._keep(_failed(attempt, interrupted_runs.sentence(error), _MOST_BUGS))
            raise
        finally:
            self._own = ""

    def _attempt_at(self, run_request: run_requests.RunRequest) -> _Attempt:
        """Return how often the planning of a request, or of its commit, has failed so far."""
        known = self._writer.status.attempt
        if known is None or not _counts_for(known, run_request):
            return _Attempt(run_request.id, run_request.commit)
        if known.under_way and self._own != known.request:
            reason = "the process ended while it was being planned"
            known = _failed(known, reason, _MOST_ENDS)
        return replace(known, request=run_request.id)


def _failed(attempt: _Attempt, reason: str, most: int) -> _Attempt:
    """Return an attempt after one more failure."""
    return replace(
        attempt, failures=attempt.failures + 1, reason=reason, most=most, under_way=False
    )


def _counts_for(attempt: _Attempt, run_request: run_requests.RunRequest) -> bool:
    """Say whether failures of an attempt count for a request.

    Those of its own do, and those at its commit, unless a person asks for a release of it.
    """
    is_persons = not run_request.is_from_commit and run_request.kind.is_release
    is_same_commit = attempt.commit == run_request.commit
    return attempt.request == run_request.id or (is_same_commit and not is_persons)
