"""What the controller is given: repositories, rules, and metric providers."""

from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from volary.analysis.metering import meters
from volary.engine.runs import policies
from volary.gitops import repository_state
from volary.model import backoffs, clocks, metric_providers, server_settings
from volary.model.placement import failover_rules
from volary.sources.git import repositories


@asynccontextmanager
async def open_meter(
    providers: Iterable[metric_providers.Provider],
    *,
    clock: clocks.Clock,
    learn: Callable[[str], None],
) -> AsyncIterator[meters.Meter]:
    """Open the providers, and close their connections after the body.

    `learn` is told every secret that is read for them.
    """
    asked = tuple(providers)
    if not asked:
        yield meters.NoMeter()
        return
    # How they are asked, once there is somebody to ask.
    from volary.analysis.metering import provider_meter
    from volary.analysis.providers import provider_pool

    async with provider_pool.open_providers(asked, clock=clock, learn=learn) as opened:
        yield provider_meter.ProviderMeter(opened)


#: Takes what was seen; returns when decisions are kept.
OnSeen = Callable[[repository_state.RepositoryState], Coroutine[Any, Any, None]]
#: Looks at every repository again and again until it is cancelled.
Watch = Callable[[OnSeen], Coroutine[Any, Any, None]]


class Repositories(Protocol):
    """Opened repositories by the name in the settings."""

    async def repository(self, name: str) -> repositories.Repository:
        """Return it.

        Raises:
            errors.UserError: There is none of that name, or it was never fetched.
            errors.TemporaryError: It cannot be read now.
        """
        ...

    async def fetch_head(self, name: str) -> str:
        """Ask where the repository comes from, and return the commit its branch is at now.

        Raises:
            errors.UserError: There is none of that name, or it has no such branch.
            errors.TemporaryError: Nobody answers now.
        """
        ...

    async def find(self, name: str, revision: str) -> str:
        """Return the commit that a branch, a tag or another reference is at now.

        Raises:
            errors.UserError: There is no repository of that name, or nothing of this name in it.
            errors.TemporaryError: Nobody answers now.
        """
        ...

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        """See to it that no garbage collection takes these commits away, for a holder.

        `exclusively`: what the holder kept besides is not kept any more. A commit that is not
        there is passed over.

        Raises:
            errors.UserError: There is no repository of that name.
            errors.TemporaryError: It cannot be written now.
        """
        ...


_BACKOFF = backoffs.Backoff(timedelta(seconds=5), timedelta(minutes=2))


@dataclass(frozen=True, slots=True)
class Rules:
    """How runs are carried out."""

    supersede: server_settings.Supersede = server_settings.Supersede.QUEUE
    #: How long a release that could not begin waits until it is tried again.
    backoff: backoffs.Backoff = _BACKOFF
    #: How long a cluster may take to answer while a run is prepared.
    patience: timedelta = timedelta(seconds=15)
    #: After which time a run tries a cluster again that it waits for, unless it was seen before.
    again_after: timedelta = policies.AGAIN_AFTER
    #: Applications that are read or planned at the same time.
    planners: int = 4
    #: How often requests that came in through other processes are looked for.
    look: timedelta = timedelta(seconds=0.5)
    #: Applications whose targets the settings name: repository, and directory or file.
    listed: frozenset[tuple[str, str]] = frozenset()
    #: How often workspaces are compared with what is written, where no change was seen.
    workspace_period: timedelta = timedelta(minutes=1)
    #: How often clusters are compared with Git, where no change was seen.
    drift_period: timedelta = timedelta(minutes=3)
    #: Within which time, and after which at the earliest, what has changed is compared again.
    drift_gap: timedelta = timedelta(seconds=10)
    #: How much is moved away from lost clusters.
    failover: failover_rules.FailoverLimits = field(default_factory=failover_rules.FailoverLimits)
    #: Values that must never be seen, besides those of the manifests.
    secrets: tuple[str, ...] = field(default=(), repr=False)
