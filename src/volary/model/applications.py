"""What users write about an application, after defaults and checks.

Both dialects (``pipecd.dev/v1beta1`` and ``volary.dev/v1``) end up here, so
nothing behind `config` knows which one a file was written in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from volary.model import drift_rules, json, options, routing_options
from volary.model.fleet import taints
from volary.model.objects import object_health, ownership
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


_COMMIT_CHART = "commit the chart to this repository and write its directory as path"


@dataclass(frozen=True, slots=True)
class HelmChart:
    """A chart in the repository."""

    refused: ClassVar[Mapping[str, options.Refusal]] = {
        "gitRemote": options.Refusal("charts from another Git repository", _COMMIT_CHART),
        "ref": options.Refusal("charts from another Git repository", _COMMIT_CHART),
        "repository": options.Refusal("charts from a chart repository", _COMMIT_CHART),
        "name": options.Refusal("charts from a chart repository", _COMMIT_CHART),
        "version": options.Refusal("charts from a chart repository", _COMMIT_CHART),
    }
    later: ClassVar[Mapping[str, str]] = {
        "insecure": "not checking the certificate of a chart repository",
    }

    path: Annotated[
        options.Path,
        options.Form.NOT_EMPTY,
        options.Option("The chart's directory, relative to the application's directory."),
    ]


@dataclass(frozen=True, slots=True)
class HelmOptions:
    """How the chart is rendered."""

    release_name: str = options.option("Release name; empty: the application's name.", "")
    set_values: Mapping[str, str] = options.option("Values, as for helm's `--set`.", {})
    value_files: tuple[options.Path, ...] = options.option(
        "Value files in the repository, later ones win.", ()
    )
    set_files: Mapping[str, options.Path] = options.option(
        "Values read from files, as for helm's `--set-file`.", {}
    )
    api_versions: tuple[str, ...] = options.option("API versions the chart may count on.", ())
    kube_version: str = options.option("Kubernetes version the chart may count on.", "")


@dataclass(frozen=True, slots=True)
class TargetReference:
    """Names one cluster of the fleet."""

    later: ClassVar[Mapping[str, str]] = {"labels": "choosing a cluster by labels here"}

    name: Annotated[options.Text, options.Option("The cluster's name in the fleet.")]


@dataclass(frozen=True, slots=True)
class TargetInput:
    """What one cluster renders differently (PipeCD: an entry of ``input.multiTargets``)."""

    later: ClassVar[Mapping[str, str]] = {
        "kubectlVersion": "choosing a kubectl version",
        "kustomizeVersion": "choosing a kustomize version",
    }

    target: Annotated[TargetReference, options.Option("The cluster.")]
    manifests: tuple[options.Path, ...] = options.option("Instead of `input.manifests`.", ())
    kustomize_dir: options.Path = options.option(
        "The cluster's overlay; empty: the application's directory.", ""
    )
    kustomize_options: Mapping[str, str] = options.option(
        "Instead of `input.kustomizeOptions`.", {}
    )


@dataclass(frozen=True, slots=True)
class Input:
    """Where manifests come from."""

    later: ClassVar[Mapping[str, str]] = {
        "kubectlVersion": "choosing a kubectl version",
        "kustomizeVersion": "choosing a kustomize version",
        "helmVersion": "choosing a helm version",
    }
    misplaced: ClassVar[Mapping[str, str]] = {"autoRollback": "it is spec.planner.autoRollback"}

    manifests: tuple[options.Path, ...] = options.option(
        "Files relative to the application's directory, in order. Empty: every YAML and JSON file "
        "directly in it, by name.",
        (),
    )
    namespace: options.DnsLabel = options.option(
        "Forced onto every namespaced manifest; empty: as written.", ""
    )
    auto_create_namespace: bool = options.option(
        "Create the manifests' namespaces when they are missing.", False
    )
    kustomize_options: Mapping[str, str] = options.option(
        "Flags for kustomize without leading `--`; an empty value is a bare flag.", {}
    )
    helm_chart: HelmChart | None = options.option(
        "Render this chart instead of plain files or kustomize.", None
    )
    helm_options: HelmOptions = options.option("How the chart is rendered.", HelmOptions())
    objects: tuple[json.JsonObject, ...] = options.option(
        "Kubernetes objects written here, added to the others; for the few that are about the "
        "release rather than the application, such as routes.",
        (),
    )
    multi_targets: tuple[TargetInput, ...] = options.option(
        "What single clusters render differently. When it is not empty, only the clusters listed "
        "here are deployed to.",
        (),
    )


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service that is made."""

    port: Annotated[int, options.Option("Its number.", least=1, most=65535)]
    name: str = options.option("Its name.", "")
    target_port: int | str = options.option("Number or name of the pods' port; empty: `port`.", "")
    app_protocol: str = options.option("Protocol, such as `http`.", "")


@dataclass(frozen=True, slots=True)
class MadeService:
    """A Service that leads to primary's pods of the workload (Flagger: apex Service)."""

    ports: Annotated[tuple[ServicePort, ...], options.Option("Its ports.", least=1)]
    discover_ports: bool = options.option(
        "Add the ports of the workload's containers, but for those of mesh proxies.", False
    )
    headless: bool = options.option("Without a cluster IP.", False)
    traffic_distribution: str = options.option("`PreferClose` and the like.", "")
    labels: Mapping[str, str] = options.option("Its labels.", {})
    annotations: Mapping[str, str] = options.option("Its annotations.", {})


@dataclass(frozen=True, slots=True)
class Planner:
    """How the strategy is chosen."""

    always_use_pipeline: bool = options.option("Run the pipeline for every change.", False)
    auto_rollback: bool = options.option("Roll touched clusters back when a stage fails.", True)
    hold_on_failure: bool = options.option(
        "Under `volary server`, when a stage fails: wait for a person, who tries again (`volary "
        "retry`), goes on without a cluster (`volary skip`) or cancels, before anything is rolled "
        "back.",
        False,
    )


@dataclass(frozen=True, slots=True)
class CommitMatcher:
    """Regular expressions on the first line of the commit message."""

    quick_sync: str = options.option("A match forces a quick sync.", "")
    pipeline: str = options.option("A match forces the pipeline; checked first.", "")


@dataclass(frozen=True, slots=True)
class OnCommit:
    """Whether a new commit starts a run."""

    disabled: bool = options.option("Commits start no run.", False)
    paths: tuple[options.Text, ...] = options.option(
        "Globs relative to the root of the repository: a change of these files starts a run too, "
        "besides those in the application's directory.",
        (),
    )
    ignores: tuple[options.Text, ...] = options.option(
        "Globs: a commit that changes any of these files starts no run, whatever else it changes.",
        (),
    )


@dataclass(frozen=True, slots=True)
class OnCommand:
    """Whether a person's wish starts a run."""

    disabled: bool = options.option("`sync` is refused.", False)


@dataclass(frozen=True, slots=True)
class OnOutOfSync:
    """Whether drift starts a run, in PipeCD's dialect; elsewhere `driftDetection` says so."""

    disabled: bool = options.option(
        "`false`, in PipeCD's dialect only: clusters that are not as Git says are synced.", True
    )
    min_window: timedelta = options.option(
        "Between the beginnings of two runs for drift, at least; in every dialect.",
        timedelta(minutes=5),
    )


@dataclass(frozen=True, slots=True)
class OnChain:
    """Whether another application's run starts one."""

    disabled: bool = options.option(
        "Must stay `true`: deployment chains are not carried out yet.", True
    )


@dataclass(frozen=True, slots=True)
class Triggers:
    """What starts a run under `volary server` (PipeCD: ``trigger``)."""

    on_commit: OnCommit = options.option("New commits.", OnCommit())
    on_command: OnCommand = options.option("People's wishes.", OnCommand())
    on_out_of_sync: OnOutOfSync = options.option("Drift.", OnOutOfSync())
    on_chain: OnChain = options.option("Other applications.", OnChain())


@dataclass(frozen=True, slots=True)
class Mention:
    """Who is named in notifications of an event (PipeCD: ``notification.mentions``)."""

    #: An event's name, or ``*`` for all.
    event: str
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alert:
    """Which events of this application go to a receiver, besides what the settings say."""

    name: Annotated[options.Text, options.Option("Name of the route.")]
    receiver: Annotated[
        options.Text, options.Option("Name of a receiver in the controller's settings.")
    ]
    events: tuple[str, ...] = options.option(
        "Only these events, as in the routes of the controller's settings; empty: all of runs, "
        "none of their stages.",
        (),
    )


@dataclass(frozen=True, slots=True)
class Strategy:
    """A pipeline of its own for some of the clusters; its stages carry its name."""

    name: Annotated[
        options.DnsLabel, options.Form.NOT_EMPTY, options.Option("Shown beside its stages.")
    ]
    targets: TargetSelector = options.option(
        "Its clusters, among those that no strategy above has taken. Empty: all that are left; "
        "only the last strategy may leave it out.",
        TargetSelector(),
    )


@dataclass(frozen=True, slots=True)
class Encryption:
    """Encrypted values, and the files that they are filled into."""

    encrypted_secrets: Mapping[str, str] = options.option(
        "Values that `volary encrypt`, or PipeCD, encrypted, by name: "
        "`{{ .encryptedSecrets.NAME }}` in a target.",
        {},
    )
    decryption_targets: tuple[str, ...] = options.option(
        "Files of the application directory that are templates with these values.", ()
    )


@dataclass(frozen=True, slots=True)
class Attachment:
    """Files whose text is filled into other files."""

    sources: Mapping[str, str] = options.option(
        "Files of the application directory, by name: `{{ .attachment.NAME }}` in a target.", {}
    )
    targets: tuple[str, ...] = options.option(
        "Files of the application directory that are templates with these texts.", ()
    )


@dataclass(frozen=True, slots=True)
class Application:
    """One application: a folder in Git with manifests and this description."""

    name: str
    dialect: Dialect = Dialect.VOLARY
    labels: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    #: The project that it wants to belong to; empty: whichever takes its file.
    project: str = ""
    targets: TargetSelector = field(default_factory=TargetSelector)
    input: Input = field(default_factory=Input)
    quick_sync: rollout_stages.SyncOptions = field(default_factory=rollout_stages.SyncOptions)
    #: Clusters a quick sync is limited to; empty: all (PipeCD: ``quickSync.multiTargets``).
    quick_sync_targets: tuple[str, ...] = ()
    #: Empty: every Deployment; when there is none, every StatefulSet.
    workloads: tuple[routing_options.ObjectReference, ...] = ()
    service: routing_options.ObjectReference = field(
        default_factory=routing_options.ObjectReference
    )
    #: None: the Service is in Git.
    made_service: MadeService | None = None
    variant_label: variant.VariantLabel = field(default_factory=variant.VariantLabel)
    traffic_routing: routing_options.TrafficRouting = field(
        default_factory=routing_options.TrafficRouting
    )
    #: With `strategies`, those of each one after another, in their order.
    pipeline: tuple[pipelines.Stage, ...] = ()
    #: Empty: the pipeline is for every cluster.
    strategies: tuple[Strategy, ...] = ()
    planner: Planner = field(default_factory=Planner)
    commit_matcher: CommitMatcher = field(default_factory=CommitMatcher)
    triggers: Triggers = field(default_factory=Triggers)
    #: What is done where its clusters are not as Git says.
    drift: drift_rules.DriftRules = field(default_factory=drift_rules.DriftRules)
    mentions: tuple[Mention, ...] = ()
    alerts: tuple[Alert, ...] = ()
    #: Secret values that are filled into its files, and files that are.
    encryption: Encryption = field(default_factory=Encryption)
    attachment: Attachment = field(default_factory=Attachment)
    #: Limit of a whole run.
    timeout: timedelta = timedelta(hours=6)
    #: How it moves over its clusters; without waves: all at once.
    waves: rollouts.Waves = field(default_factory=rollouts.Waves)
    #: Taints of clusters that it tolerates.
    tolerations: tuple[taints.Toleration, ...] = ()
    #: What its clusters have different from each other.
    differences: overrides.Differences = field(default_factory=overrides.Differences)
    #: How many clusters, regions or the like it is on; empty: every cluster that is a target.
    spread: tuple[spread_constraints.Constraint, ...] = ()
    #: When it is moved away from a cluster; None: never by itself.
    failover: failover_rules.Failover | None = None
    #: When kinds that nobody else knows are healthy; the first that fits counts.
    health: tuple[object_health.Rule, ...] = ()
    #: Whose fields are taken when its objects are applied.
    conflicts: ownership.Conflicts = field(default_factory=ownership.Conflicts)
    #: Where it is described.
    origin: ownership.Origin = field(default_factory=ownership.Origin)
    #: What its file calls it, where it goes by another name here; empty: `name`.
    declared: str = ""
    #: Whose its objects are in the cluster that is spoken of; None: nobody has asked it yet.
    known_owner: ownership.Owner | None = None
    #: Sentences about it may say who else has something: not where teams share a server that are
    #: to see each other's applications by no name.
    names_others: bool = True

    @property
    def declared_name(self) -> str:
        """What its file calls it: the name that its objects carry."""
        return self.declared or self.name

    @property
    def owner(self) -> ownership.Owner:
        """Whose its objects are; without a cluster, as in one that does not know it yet."""
        if self.known_owner is not None:
            return self.known_owner
        name = self.declared_name
        made = ownership.make_id(name, self.origin, self.input.namespace)
        return ownership.Owner(name, made)

    @property
    def rolls_out_service(self) -> bool:
        """A Service is what is rolled out, not pods; PipeCD's dialect knows no such thing."""
        named = any(workload.kind == "Service" for workload in self.workloads)
        return named and self.dialect is not Dialect.PIPECD
