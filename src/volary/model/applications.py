"""What users write about an application, after defaults and checks.

Both dialects (``pipecd.dev/v1beta1`` and ``volary.dev/v1``) end up here, so
nothing behind `config` knows which one a file was written in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from volary.model import json
from volary.model.fleet import taints
from volary.model.objects import object_health
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import failover_rules, overrides, rollouts, spread_constraints


class Dialect(StrEnum):
    """Whose schema a file follows."""

    PIPECD = "pipecd.dev/v1beta1"
    VOLARY = "volary.dev/v1"
    #: A Canary; its own objects are read and never applied.
    FLAGGER = "flagger.app/v1beta1"
    #: Policies that say where the objects beside them go; they are read and never applied.
    KARMADA = "policy.karmada.io/v1alpha1"


#: Which clusters of the fleet an application is for; empty: every cluster.
TargetSelector = rollouts.ClusterSelector


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
    #: Written in the application file itself; added to the others.
    objects: tuple[json.JsonObject, ...] = ()
    #: Not empty: only these targets are deployed to (PipeCD: Resolve).
    multi_targets: tuple[TargetInput, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """Points at manifests of the application by kind and name; empty parts match anything."""

    kind: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service that is made."""

    port: int
    name: str = ""
    #: Number or name; empty: `port`.
    target_port: int | str = ""
    app_protocol: str = ""


@dataclass(frozen=True, slots=True)
class MadeService:
    """The Service that leads to the workload, when Git has none (Flagger: apex Service)."""

    ports: tuple[ServicePort, ...]
    #: Add the ports of the workload's containers, but for those of mesh proxies.
    discover_ports: bool = False
    headless: bool = False
    traffic_distribution: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


class RoutingMethod(StrEnum):
    """How traffic is divided between variants."""

    POD_SELECTOR = "podselector"
    ISTIO = "istio"
    GATEWAY_API = "gatewayapi"
    SMI = "smi"
    NGINX = "nginx"
    TRAEFIK = "traefik"


@dataclass(frozen=True, slots=True)
class VariantServices:
    """Names of the Services that lead to one variant each; empty: made from ``service.name``."""

    primary: str = ""
    canary: str = ""
    baseline: str = ""


@dataclass(frozen=True, slots=True)
class IstioRouting:
    """Options of the Istio router (PipeCD: ``trafficRouting.istio``)."""

    #: Names of the HTTP routes that may be changed; empty: all.
    editable_routes: tuple[str, ...] = ()
    #: The destination host that carries the variants; empty: ``service.name``.
    host: str = ""
    virtual_service: ObjectReference = field(default_factory=ObjectReference)
    #: Of a VirtualService that is made; empty: the mesh alone.
    gateways: tuple[str, ...] = ()
    #: Of a VirtualService that is made; empty: `host`.
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParentReference:
    """What a route is attached to: a Gateway, or a Service in a mesh."""

    name: str
    kind: str = "Gateway"
    #: Empty: the core group for a Service, else the Gateway API's.
    group: str = ""
    namespace: str = ""
    section_name: str = ""
    #: 0: any.
    port: int = 0


@dataclass(frozen=True, slots=True)
class GatewayRouting:
    """Options of the Gateway API router."""

    #: An HTTPRoute or a GRPCRoute; empty parts: an HTTPRoute, the first that fits.
    route: ObjectReference = field(default_factory=ObjectReference)
    #: Names of rules that may be changed, ``#1`` for the first; empty: all.
    editable_routes: tuple[str, ...] = ()
    #: Of a route that is made; empty: the application's Service, as in a mesh.
    gateway_refs: tuple[ParentReference, ...] = ()
    #: Of a route that is made.
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SmiRouting:
    """Options of the SMI router."""

    traffic_split: ObjectReference = field(default_factory=ObjectReference)
    #: Of a TrafficSplit that is made: ``v1alpha1`` to ``v1alpha4``.
    version: str = "v1alpha2"


@dataclass(frozen=True, slots=True)
class NginxRouting:
    """Options of the NGINX Ingress router."""

    #: The Ingress that leads to primary; empty name: the first that leads to the Service.
    ingress: ObjectReference = field(default_factory=ObjectReference)
    annotation_prefix: str = "nginx.ingress.kubernetes.io"
    #: Of an Ingress that is made.
    class_name: str = "nginx"
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TraefikRouting:
    """Options of the Traefik router."""

    service: ObjectReference = field(default_factory=ObjectReference)


@dataclass(frozen=True, slots=True)
class TrafficRouting:
    """Which router moves the traffic, and its options."""

    method: RoutingMethod = RoutingMethod.POD_SELECTOR
    istio: IstioRouting = field(default_factory=IstioRouting)
    #: Make the route objects and the variants' Services that are missing in Git.
    create: bool = False
    services: VariantServices = field(default_factory=VariantServices)
    gateway_api: GatewayRouting = field(default_factory=GatewayRouting)
    smi: SmiRouting = field(default_factory=SmiRouting)
    nginx: NginxRouting = field(default_factory=NginxRouting)
    traefik: TraefikRouting = field(default_factory=TraefikRouting)


@dataclass(frozen=True, slots=True)
class Planner:
    """How the strategy is chosen and whether failure rolls back."""

    always_use_pipeline: bool = False
    auto_rollback: bool = True
    #: A person decides what follows a failure.
    hold_on_failure: bool = False


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
class Alert:
    """Who else is told of events of this application (Flagger: an alert)."""

    name: str
    #: A receiver of the controller's settings.
    receiver: str
    #: Names of events; empty: all of runs, none of their stages.
    events: tuple[str, ...] = ()


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
    quick_sync: rollout_stages.SyncOptions = field(default_factory=rollout_stages.SyncOptions)
    #: Clusters a quick sync is limited to; empty: all (PipeCD: ``quickSync.multiTargets``).
    quick_sync_targets: tuple[str, ...] = ()
    #: Empty: every Deployment; when there is none, every StatefulSet.
    workloads: tuple[ObjectReference, ...] = ()
    service: ObjectReference = field(default_factory=ObjectReference)
    #: None: the Service is in Git.
    made_service: MadeService | None = None
    variant_label: variant.VariantLabel = field(default_factory=variant.VariantLabel)
    traffic_routing: TrafficRouting = field(default_factory=TrafficRouting)
    #: With `strategies`, those of each one after another, in their order.
    pipeline: tuple[pipelines.Stage, ...] = ()
    #: Empty: the pipeline is for every cluster.
    strategies: tuple[Strategy, ...] = ()
    planner: Planner = field(default_factory=Planner)
    commit_matcher: CommitMatcher = field(default_factory=CommitMatcher)
    triggers: Triggers = field(default_factory=Triggers)
    mentions: tuple[Mention, ...] = ()
    alerts: tuple[Alert, ...] = ()
    #: Limit of a whole run.
    timeout: timedelta = timedelta(hours=6)
    #: How it moves over its clusters; without waves: all at once.
    waves: rollouts.Waves = field(default_factory=rollouts.Waves)
    #: Marks of clusters that do not keep it away.
    tolerations: tuple[taints.Toleration, ...] = ()
    #: What its clusters have different from each other.
    differences: overrides.Differences = field(default_factory=overrides.Differences)
    #: How many clusters, regions or the like it is on; empty: every cluster that is a target.
    spread: tuple[spread_constraints.Constraint, ...] = ()
    #: When it is moved away from a cluster; None: never by itself.
    failover: failover_rules.Failover | None = None
    #: When kinds that nobody else knows are healthy; the first that fits counts.
    health: tuple[object_health.Rule, ...] = ()

    @property
    def rolls_out_service(self) -> bool:
        """A Service is what is rolled out, not pods; PipeCD's dialect knows no such thing."""
        named = any(workload.kind == "Service" for workload in self.workloads)
        return named and self.dialect is not Dialect.PIPECD
