"""What a stage is given: one application, one cluster, two sources, limits, and the run around it.

Routes and endpoints propagate late, and not in one order: a mesh's control plane gathers
changes for a while, Traefik for two seconds. A variant whose pods went at once would still be
sent requests, so `RoutePropagation` keeps when routes were changed last. Only what this process
did is known: what another one did before it, it may have done just then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from volary.analysis.metering import meters
from volary.clusters.client import clients
from volary.concurrency import single_flight
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications, clocks
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, variant
from volary.stages import webhooks
from volary.stages.runtime import adoptions, rendezvouses, task_states
from volary.tenancy import guards


@dataclass(frozen=True, slots=True)
class Workspace:
    """A fresh private directory with the files of an application; it goes away after use."""

    #: For a program's own files.
    home: Path
    #: The application's directory.
    directory: Path


#: Puts the application's files at a commit into a workspace.
Checkout = Callable[[str], AbstractAsyncContextManager[Workspace]]


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """The same for all stages of a run."""

    #: Who asked for the run; empty: a commit did.
    commander: str = ""
    #: As people name it.
    repository: str = ""
    #: What the plan says about itself.
    summary: str = ""
    #: None: there are no files, so no scripts.
    checkout: Checkout | None = None


@dataclass(frozen=True, slots=True)
class Permissions:
    """What whoever runs Volary lets stages do on this machine."""

    #: Run scripts of applications.
    scripts: bool = True
    #: What webhooks may connect to.
    reach: webhooks.Reach = field(default_factory=webhooks.Reach)


@dataclass(frozen=True, slots=True)
class Options:
    """What a whole run may do."""

    #: Prune also when most of the application's objects would go.
    allow_mass_deletion: bool = False
    #: How long an image that cannot be pulled may stay so before a rollout gives up.
    image_grace: timedelta = timedelta(seconds=20)
    #: How long pods stay after the routes have left them; None: as their application says.
    drain_delay: timedelta | None = None
    permissions: Permissions = field(default_factory=Permissions)


@dataclass(slots=True)
class RoutePropagation:
    """When the routes on one cluster were changed last in this run."""

    patience: timedelta = timedelta(0)
    _changed: float | None = None
    #: Until then another process may have changed them.
    _taken_up: float | None = None

    def note(self) -> None:
        """Routes were changed just now."""
        self._changed = asyncio.get_running_loop().time()

    def take_up(self) -> None:
        """Another process may have carried out stages on the cluster until now."""
        self._taken_up = asyncio.get_running_loop().time()

    def note_earlier(self) -> None:
        """There are routes that runs change, so another process may have done it before."""
        known = [time for time in (self._changed, self._taken_up) if time is not None]
        self._changed = max(known, default=None)

    @property
    def since(self) -> timedelta | None:
        """How long ago routes were changed; None: they were not."""
        if self._changed is None:
            return None
        return timedelta(seconds=asyncio.get_running_loop().time() - self._changed)

    @property
    def left(self) -> timedelta:
        """How long it takes until every proxy may be expected to have followed."""
        if self._changed is None:
            return timedelta(0)
        passed = asyncio.get_running_loop().time() - self._changed
        return max(timedelta(0), self.patience - timedelta(seconds=passed))


#: Renders a source for the stage's target; may be called more than once.
Loader = Callable[[], Awaitable[list[manifest.Manifest]]]
#: Percent of the traffic by variant.
Shares = Mapping[variant.Variant, int]
Stages = tuple[pipelines.Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringContext:
    """What measuring on one cluster needs of a stage: nothing of the cluster itself."""

    application: applications.Application
    #: Name of the cluster in the fleet.
    target: str
    report: executor.Reporter
    clock: clocks.Clock
    #: Where metrics are kept.
    meter: meters.Meter = field(default_factory=meters.NoMeter)
    #: Stages that were begun on this cluster before, in order.
    begun: Stages = ()
    #: Clusters without this release that an analysis at the end of a wave compares with.
    not_updated: tuple[str, ...] = ()
    #: How many clusters have this stage, in all waves.
    clusters: int = 1
    #: The same stage on the other clusters.
    rendezvous: rendezvouses.Rendezvous = field(default_factory=rendezvouses.Rendezvous)
    #: Shared by all tasks of the run.
    once: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageContext(MeasuringContext):
    """One stage on one cluster, with everything it may use."""

    task: executor.TaskContext
    client: clients.Client
    #: The manifests of the new commit for this target.
    target_source: Loader
    #: Those of the last commit that succeeded; None: this is a first deployment.
    running_source: Loader | None = None
    #: How long the stage may still take on this cluster.
    timeout: timedelta = timedelta(hours=6)
    #: Namespaces Volary may work in on this cluster; empty: all.
    namespaces: tuple[str, ...] = ()
    run: RunEnvironment = field(default_factory=RunEnvironment)
    #: What this attempt remembers over a restart.
    task_state: task_states.TaskState = field(default_factory=task_states.TaskState)
    #: Of the routes on this cluster.
    propagation: RoutePropagation = field(default_factory=RoutePropagation)
    #: The objects on this cluster that were there before.
    adoption: adoptions.Adoption = field(default_factory=adoptions.Adoption)
    #: What API servers have warned of in this run, which is said once; shared by all its tasks.
    heard_warnings: set[str] = field(default_factory=set)
    #: What the application's project permits on this cluster, at the moment it is asked.
    guard: guards.Guard = guards.PERMITS_EVERYTHING

    def attempt_id(self, *, whole_fleet: bool = False) -> str:
        """Return what names this attempt to the world outside: the same after a restart.

        `whole_fleet`: whichever cluster it is done on behalf of.
        """
        target = "" if whole_fleet else self.target
        return f"{self.task.run_id}/{self.task.stage_id}/{target}/{self.task.attempt}"

    def log(self, line: str) -> None:
        """Say a line for people."""
        self.report.log(line)

    def warn(self, line: str) -> None:
        """Say a line that somebody should look at."""
        self.report.log(line, level=executor.LogLevel.WARNING)

    def progress(self, sentence: str, ready: int = 0, total: int = 0) -> None:
        """Say how far the stage is."""
        self.report.progress(state.Progress(sentence, ready=ready, total=total))

    def weights(self, sentence: str, wanted: Shares, observed: Shares) -> None:
        """Say which division of traffic is desired, and which was read back."""
        self.report.progress(
            state.Progress(
                sentence,
                wanted_weights={which.value: share for which, share in wanted.items()},
                observed_weights={which.value: share for which, share in observed.items()},
            )
        )
