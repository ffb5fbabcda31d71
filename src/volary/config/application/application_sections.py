"""The fields of application files, as pydantic models with a description each.

Both dialects are made of the same sections; `pipecd` nests the Kubernetes part
under ``spec.plugins``, `volary` has it directly under ``spec``. The schema for
editors and the reference page are made from these models.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar, Literal

from pydantic import Field, alias_generators

from volary.config.decoding import base_sections
from volary.config.placement import change_windows, override_rules, wave_rules
from volary.config.stages import stage_entries
from volary.model import applications, drift_rules, options, routing_options
from volary.model.objects import object_health, ownership
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import rollouts


class ServiceReference(base_sections.Section, of=routing_options.ObjectReference):
    """Points at the Service that carries the traffic, or says how it is made."""

    create: applications.MadeService | None = options.option(
        "Make the Service of that `name` when the manifests have none. It selects primary's pods "
        "(with Istio those of all variants, as its subsets choose), so `variantLabel.onPods` goes "
        "with it.",
        None,
    )


class QuickSync(base_sections.Section, of=rollout_stages.SyncOptions):
    """Options of a quick sync."""

    multi_targets: list[options.ClusterName] = options.option(
        "Clusters a quick sync is limited to; empty: all.", []
    )


_WHICH_CLUSTER = "name the cluster: input.multiTargets: [{target: {name: …}}]"
#: PipeCD's old words for where objects go.
_OLD_TARGETS = {
    "platformProvider": options.Refusal("which cluster, in PipeCD v0", _WHICH_CLUSTER),
    "cloudProvider": options.Refusal("which cluster, in PipeCD v0", _WHICH_CLUSTER),
    "resourceRoutes": options.Refusal(
        "other clusters for some kinds of objects, in PipeCD v0",
        "make an application of the objects of each cluster",
    ),
}


class Kubernetes(base_sections.Section):
    """The Kubernetes part of an application."""

    refused: ClassVar[Mapping[str, options.Refusal]] = _OLD_TARGETS

    input: applications.Input = options.option("Where manifests come from.", applications.Input())
    quick_sync: QuickSync = Field(default_factory=QuickSync, description="Options of a quick sync.")
    workloads: list[routing_options.ObjectReference] = options.option(
        "Workloads that get variants; empty kind: `Deployment`. Empty list: every Deployment; "
        "when there is none, every StatefulSet. In Volary's own dialect also one `Service`: then "
        "where it leads is what is rolled out.",
        [],
    )
    service: ServiceReference = Field(
        default_factory=ServiceReference,
        description="The Service that carries the traffic; empty: the first.",
    )
    variant_label: variant.VariantLabel = options.option(
        "The label that tells variants apart.", variant.VariantLabel()
    )
    traffic_routing: routing_options.TrafficRouting = options.option(
        "How traffic is divided between variants.", routing_options.TrafficRouting()
    )
    conflicts: ownership.ConflictPolicy = options.option(
        "What happens to fields of people's tools (kubectl, k9s) and of appliers that Volary "
        "replaces (Helm, Argo CD, Flux): `takeBack`: they are Git's again; `refuse`: a run stops "
        "where they differ. Where controllers' fields differ, it always does.",
        ownership.ConflictPolicy.TAKE_BACK,
    )
    conflict_exceptions: list[options.Text] = options.option(
        "Where the opposite holds: fields by their path as messages show it, such as "
        "`.spec.replicas`, with what is below it; and field managers by name.",
        [],
    )


class Mention(base_sections.Section):
    """Who is named in the notifications of one event."""

    later: ClassVar[Mapping[str, str]] = {"email": "notifications by mail"}

    event: base_sections.Text = Field(
        description="An event as in the routes of the controller's settings, or `*` for all."
    )
    slack: list[base_sections.Text] = options.option("PipeCD's old word for slackUsers.", [])
    slack_users: list[base_sections.Text] = options.option("Ids of Slack accounts.", [])
    slack_groups: list[base_sections.Text] = options.option("Ids of Slack groups.", [])


class Notification(base_sections.Section):
    """What `volary server` says about this application."""

    mentions: list[Mention] = options.option(
        "Who is named, besides those whom the receiver names anyway.", []
    )


class OwnNotification(Notification):
    """What `volary server` says about this application, and to whom."""

    routes: list[applications.Alert] = options.option(
        "Who is told, besides those whom the settings name.", []
    )


_REFUSED = {
    "postSync": options.Refusal(
        "deployment chains", "remove it; the commits of the other applications start their runs"
    ),
    "sealedSecrets": options.Refusal(
        "encrypted secrets of PipeCD v0", "bring the Secret to the clusters another way"
    ),
}
_NOT_YET = {
    "eventWatcher": "event watching",
}


class Spec(base_sections.Section):
    """What both dialects have directly under ``spec``."""

    refused: ClassVar[Mapping[str, options.Refusal]] = _REFUSED
    later: ClassVar[Mapping[str, str]] = _NOT_YET

    description: str = options.option("What the application is.", "")
    planner: applications.Planner = options.option(
        "How the strategy is chosen.", applications.Planner()
    )
    commit_matcher: applications.CommitMatcher = options.option(
        "Commit messages that force a strategy.", applications.CommitMatcher()
    )
    pipeline: stage_entries.Pipeline = Field(
        default_factory=stage_entries.Pipeline, description="The steps of a rollout."
    )
    trigger: applications.Triggers = options.option(
        "What starts a run under `volary server`.", applications.Triggers()
    )
    notification: Notification = Field(
        default_factory=Notification, description="Who hears of it, by name."
    )
    encryption: applications.Encryption = options.option(
        "Secret values that are kept encrypted here; [how](../how-to/secrets-in-git.md).",
        applications.Encryption(),
    )
    attachment: applications.Attachment = options.option(
        "Files whose text goes into manifests or values.", applications.Attachment()
    )
    timeout: timedelta = options.option("Limit of a whole run.", timedelta(hours=6))


_BELONGS = options.Refusal(
    "its place in PipeCD v0; v1 reads it elsewhere",
    "write kind: Application, and move it under spec.plugins.kubernetes (one cluster) or"
    " spec.plugins.kubernetes_multicluster",
)


class AnalysisArguments(base_sections.Section):
    """What all analyses of the application have in common."""

    app_custom_args: dict[str, str] = options.option("`{{ .AppCustomArgs.x }}` of every query.", {})


class Plugins(base_sections.Section):
    """PipeCD's plugins; Volary takes the place of those for Kubernetes and for analyses."""

    #: Their stages are carried out; the plugins have no options.
    without_options: ClassVar[tuple[str, ...]] = ("wait", "waitapproval", "scriptrun")

    analysis: AnalysisArguments = Field(
        default_factory=AnalysisArguments, description="Of the analysis plugin."
    )

    kubernetes_multicluster: Kubernetes | None = options.option(
        "Options of the multi-cluster plugin.", None, key="kubernetes_multicluster"
    )
    kubernetes: Kubernetes | None = options.option(
        "Options of the single-cluster plugin; read the same way.", None
    )


class PipecdDriftDetection(base_sections.Section):
    """What is not compared with Git."""

    ignore_fields: list[options.Text] = options.option(
        "Fields as `apiVersion:kind:namespace:name#fieldPath`, such as "
        "`apps/v1:Deployment:shop:web#spec.replicas`.",
        [],
    )


class PipecdSpec(Spec):
    """``spec`` in PipeCD's dialect."""

    refused: ClassVar[Mapping[str, options.Refusal]] = (
        _REFUSED
        | _OLD_TARGETS
        | dict.fromkeys(map(alias_generators.to_camel, Kubernetes.model_fields), _BELONGS)
    )

    name: str = options.option("Name; empty: the directory's name.", "")
    labels: dict[str, str] = options.option("Free labels.", {})
    plugins: Plugins = Field(default_factory=Plugins, description="Options by plugin.")
    drift_detection: PipecdDriftDetection = Field(
        default_factory=PipecdDriftDetection, description="What is not compared with Git."
    )


class PipecdFile(base_sections.Section):
    """An application file in PipeCD's dialect."""

    api_version: Literal["pipecd.dev/v1beta1"] = Field(description="The dialect.")
    kind: Literal["Application", "KubernetesApp"] = Field(
        description="`KubernetesApp` is PipeCD's old word for it."
    )
    spec: PipecdSpec = Field(default_factory=PipecdSpec, description="The application.")


class Metadata(base_sections.Section):
    """Name and labels of an application."""

    name: str = options.option("Name; empty: the directory's name.", "")
    labels: dict[str, str] = options.option("Free labels.", {})


class Strategy(base_sections.Section, of=applications.Strategy):
    """A pipeline for some of the clusters."""

    pipeline: stage_entries.Pipeline = Field(
        default_factory=stage_entries.Pipeline,
        description="The steps of a rollout on these clusters; empty: a `K8S_SYNC` with the "
        "options of `quickSync`.",
    )


class VolarySpec(Kubernetes, wave_rules.InWaves, Spec):
    """``spec`` in Volary's own dialect."""

    refused: ClassVar[Mapping[str, options.Refusal]] = _REFUSED | _OLD_TARGETS
    misplaced: ClassVar[Mapping[str, str]] = {
        "name": "it belongs under metadata",
        "labels": "it belongs under metadata",
        "plugins": "its fields stand directly under spec in this dialect",
    }

    project: options.DnsLabel = options.option(
        "The project that it belongs to, where several of a server's take the file.", ""
    )
    placement: override_rules.Placement = Field(
        default_factory=override_rules.Placement,
        description="What the application has different on its clusters.",
    )
    targets: rollouts.ClusterSelector = options.option(
        "Which clusters of the fleet the application is for; empty: all.",
        rollouts.ClusterSelector(),
    )
    notification: OwnNotification = Field(
        default_factory=OwnNotification, description="Who hears of it."
    )
    windows: change_windows.Windows = Field(
        default_factory=change_windows.Windows,
        description="When clusters may be changed, and when they may not.",
    )
    analysis: AnalysisArguments = Field(
        default_factory=AnalysisArguments, description="What all analyses have in common."
    )
    health: list[object_health.Rule] = options.option(
        "When objects of custom kinds are healthy; before the fleet's rules and ours.", []
    )
    drift_detection: drift_rules.DriftMode | None = options.option(
        "Whether clusters are compared with Git while no run is under way: `off`; `report` what "
        "differs; `repair` it, by a sync that prunes nothing. Empty: as the settings of the server "
        "say. [How](../how-to/drift.md).",
        None,
    )
    ignore_differences: list[drift_rules.IgnoredDifference] = options.option(
        "What is not compared with Git, as in Argo CD.", []
    )
    strategies: list[Strategy] = options.option(
        "Instead of `pipeline`: clusters by label, each with a pipeline of its own. A cluster "
        "gets the first strategy that it matches. Strategies are carried out in the order they "
        "are written: the stages of the second begin when the first has succeeded.",
        [],
    )


class VolaryFile(base_sections.Section):
    """An application file in Volary's own dialect."""

    api_version: Literal["volary.dev/v1"] = Field(description="The dialect.")
    kind: Literal["Application"] = Field(description="What the file describes.")
    metadata: Metadata = Field(default_factory=Metadata, description="Name and labels.")
    spec: VolarySpec = Field(default_factory=VolarySpec, description="The application.")
