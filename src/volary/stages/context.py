"""What a stage is given: one application, one cluster, two sources, limits, a reporter."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from volary.clusters import client as clients
from volary.engine import executor, state
from volary.model import application as applications
from volary.model import clock as clocks
from volary.model import manifest, stage, variant
from volary.stages import assembly as assemblies
from volary.stages import circumstances, meters
from volary.stages import memory as memories
from volary.stages import once as onces
from volary.stages import settling as settlings

#: Renders a source for the stage's target; may be called more than once.
Loader = Callable[[], Awaitable[list[manifest.Manifest]]]
#: Percent of the traffic by variant.
Shares = Mapping[variant.Variant, int]
Stages = tuple[stage.Stage, ...]


@dataclass(frozen=True, slots=True)
class StageContext:
    """One stage on one cluster, with everything it may use."""

    application: applications.Application
    stage: stage.Stage
    #: Name of the cluster in the fleet.
    target: str
    client: clients.Client
    #: The new commit and its manifests for this target.
    commit: str
    target_source: Loader
    report: executor.Reporter
    #: The last commit that succeeded; empty: a first deployment, which has no running source.
    running_commit: str = ""
    running_source: Loader | None = None
    #: How long the stage may still take on this cluster.
    timeout: timedelta = timedelta(hours=6)
    stop: executor.StopFlag = field(default_factory=executor.StopFlag)
    #: Namespaces Volary may work in on this cluster; empty: all.
    namespaces: tuple[str, ...] = ()
    #: Prune also when most of the application's objects would go.
    allow_mass_deletion: bool = False
    #: How long an image that cannot be pulled may stay so before the wait gives up.
    image_grace: timedelta = timedelta(seconds=20)

    #: Stages that were begun on this cluster before, in order.
    begun: Stages = ()
    #: No stage follows on this cluster.
    is_last: bool = False
    #: None: times are not known (a stage that is tried by itself).
    clock: clocks.Clock | None = None
    task: circumstances.Task = field(default_factory=circumstances.Task)
    run: circumstances.Circumstances = field(default_factory=circumstances.Circumstances)
    #: Shared by all tasks of the run.
    once: onces.Once = field(default_factory=onces.Once)
    permissions: circumstances.Permissions = field(default_factory=circumstances.Permissions)
    #: What this attempt remembers over a restart.
    memory: memories.TaskMemory = field(default_factory=memories.TaskMemory)
    #: Where metrics are kept.
    meter: meters.Meter = field(default_factory=meters.NoMeter)
    #: The same stage on the other clusters.
    assembly: assemblies.Assembly = field(default_factory=assemblies.Assembly)
    #: Clusters without this release that an analysis at the end of a wave compares with.
    not_updated: tuple[str, ...] = ()
    #: Of the routes on this cluster.
    settling: settlings.Settling = field(default_factory=settlings.Settling)

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
        """Say which traffic is wanted, and which was read back."""
        self.report.progress(
            state.Progress(
                sentence,
                wanted_weights={which.value: share for which, share in wanted.items()},
                observed_weights={which.value: share for which, share in observed.items()},
            )
        )
