"""What users write about an application, after defaults and checks.

Both dialects (``pipecd.dev/v1beta1`` and ``volary.dev/v1``) end up here, so
nothing behind `config` knows which one a file was written in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from volary.model import stage, variant


class Dialect(StrEnum):
    """Whose schema a file follows."""

    PIPECD = "pipecd.dev/v1beta1"
    VOLARY = "volary.dev/v1"


@dataclass(frozen=True, slots=True)
class TargetSelector:
    """Which clusters of the fleet an application is for; both empty: every cluster."""

    names: tuple[str, ...] = ()
    match_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HelmChart:
    """A chart inside the repository; `path` is relative to the application directory."""

    path: str


@dataclass(frozen=True, slots=True)
class HelmOptions:
    """How a chart is rendered (PipeCD: ``helmOptions``)."""

    release_name: str = ""
    set_values: Mapping[str, str] = field(default_factory=dict)
    value_files: tuple[str, ...] = ()
    set_files: Mapping[str, str] = field(default_factory=dict)
    api_versions: tuple[str, ...] = ()
    kube_version: str = ""


@dataclass(frozen=True, slots=True)
class TargetInput:
    """What one cluster renders differently (PipeCD: an entry of ``input.multiTargets``)."""

    target: str
    manifests: tuple[str, ...] = ()
    kustomize_dir: str = ""
    kustomize_options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Input:
    """Where manifests come from and what happens to them on the way in."""

    #: Relative to the application directory; empty: every YAML and JSON file directly in it.
    manifests: tuple[str, ...] = ()
    #: Forced on every namespaced manifest; empty: as written.
    namespace: str = ""
    auto_create_namespace: bool = False
    kustomize_options: Mapping[str, str] = field(default_factory=dict)
    helm_chart: HelmChart | None = None
    helm_options: HelmOptions = field(default_factory=HelmOptions)
    #: Not empty: only these targets are deployed to (PipeCD: Resolve).
    multi_targets: tuple[TargetInput, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """Points at manifests of the application by kind and name; empty parts match anything."""

    kind: str = ""
    name: str = ""


class RoutingMethod(StrEnum):
    """How traffic is divided between variants."""

    POD_SELECTOR = "podselector"
    ISTIO = "istio"


@dataclass(frozen=True, slots=True)
class IstioRouting:
    """Options of the Istio router (PipeCD: ``trafficRouting.istio``)."""

    #: Names of the HTTP routes that may be changed; empty: all.
    editable_routes: tuple[str, ...] = ()
    #: The destination host that carries the variants; empty: ``service.name``.
    host: str = ""
    virtual_service: ObjectReference = field(default_factory=ObjectReference)


@dataclass(frozen=True, slots=True)
class TrafficRouting:
    """Which router moves the traffic, and its options."""

    method: RoutingMethod = RoutingMethod.POD_SELECTOR
    istio: IstioRouting = field(default_factory=IstioRouting)


@dataclass(frozen=True, slots=True)
class Planner:
    """How the strategy is chosen and whether failure rolls back."""

    always_use_pipeline: bool = False
    auto_rollback: bool = True


@dataclass(frozen=True, slots=True)
class CommitMatcher:
    """Regular expressions on the commit subject that force a strategy; empty: never."""

    quick_sync: str = ""
    pipeline: str = ""


@dataclass(frozen=True, slots=True)
class Triggers:
    """What starts a run by itself (PipeCD: ``trigger``)."""

    on_commit_disabled: bool = False
    #: Globs that add to the application directory; they do not restrict it.
    paths: tuple[str, ...] = ()
    #: Globs; a commit that touches one of them triggers nothing.
    ignores: tuple[str, ...] = ()
    on_command_disabled: bool = False
    on_out_of_sync_disabled: bool = True
    min_window: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Mention:
    """Who is named in notifications of an event (PipeCD: ``notification.mentions``)."""

    #: An event's name, or ``*`` for all.
    event: str
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Strategy:
    """A pipeline of its own for some of the clusters; its stages carry its name."""

    name: str
    #: Among the clusters that no strategy before it has taken.
    targets: TargetSelector = field(default_factory=TargetSelector)


@dataclass(frozen=True, slots=True)
class Application:
    """One application: a folder in Git with manifests and this description."""

    name: str
    dialect: Dialect = Dialect.VOLARY
    labels: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    targets: TargetSelector = field(default_factory=TargetSelector)
    input: Input = field(default_factory=Input)
    quick_sync: stage.SyncOptions = field(default_factory=stage.SyncOptions)
    #: Clusters a quick sync is limited to; empty: all (PipeCD: ``quickSync.multiTargets``).
    quick_sync_targets: tuple[str, ...] = ()
    #: Empty: every Deployment; when there is none, every StatefulSet.
    workloads: tuple[ObjectReference, ...] = ()
    service: ObjectReference = field(default_factory=ObjectReference)
    variant_label: variant.VariantLabel = field(default_factory=variant.VariantLabel)
    traffic_routing: TrafficRouting = field(default_factory=TrafficRouting)
    #: With `strategies`, those of each one after another, in their order.
    pipeline: tuple[stage.Stage, ...] = ()
    #: Empty: the pipeline is for every cluster.
    strategies: tuple[Strategy, ...] = ()
    planner: Planner = field(default_factory=Planner)
    commit_matcher: CommitMatcher = field(default_factory=CommitMatcher)
    triggers: Triggers = field(default_factory=Triggers)
    mentions: tuple[Mention, ...] = ()
    #: Limit of a whole run.
    timeout: timedelta = timedelta(hours=6)
