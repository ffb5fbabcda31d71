"""The fields of a Canary, as pydantic models; named as Flagger names them."""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.dialects import drafts
from volary.config.stages import stage_sections
from volary.model import options
from volary.model.pipeline import traffic, webhook

API_VERSION = "flagger.app/v1beta1"

#: An empty type is the same as none.
HookType = Annotated[
    webhook.WebhookType,
    pydantic.BeforeValidator(lambda text: text or webhook.WebhookType.ROLLOUT),
]
Percent = Annotated[int, Field(ge=0, le=100)]


class Reference(base_sections.Section):
    """Names an object of the cluster."""

    api_version: str = options.option("Group and version.", "")
    kind: str = options.option("Kind.", "")
    name: base_sections.Text = Field(description="Name.")


class DistantReference(Reference):
    """Names an object that may be in another namespace."""

    namespace: str = options.option("Namespace; empty: the Canary's.", "")


class ScalerReplicas(base_sections.Section):
    """Bounds of the scaler that Flagger makes for its copy."""

    min_replicas: int | None = options.option("Least.", None)
    max_replicas: int | None = options.option("Most.", None)


class Autoscaler(Reference):
    """The scaler of the target."""

    primary_scaler_queries: dict[str, str] = options.option(
        "Queries of the scaler of Flagger's copy.", {}
    )
    primary_scaler_replicas: ScalerReplicas | None = options.option(
        "Bounds of the scaler of Flagger's copy.", None
    )


class Metadata(base_sections.Section):
    """Labels and annotations for a Service that Flagger makes."""

    labels: dict[str, str] = options.option("Labels.", {})
    annotations: dict[str, str] = options.option("Annotations.", {})


class Unmanaged(base_sections.Section):
    """Keys of labels and annotations that others write."""

    labels: list[str] = options.option("Keys of labels.", [])
    annotations: list[str] = options.option("Keys of annotations.", [])


class Rewrite(base_sections.Section):
    """How the request is changed on its way."""

    uri: str = options.option("Path.", "")
    authority: str = options.option("Host.", "")
    type: Literal["", "ReplaceFullPath", "ReplacePrefixMatch"] = options.option(
        "What of the path.", ""
    )


class HeaderChanges(base_sections.Section):
    """Changes to the headers of a request or of its answer."""

    add: dict[str, str] = options.option("Values by name, beside others.", {})
    replaced: dict[str, str] = options.option("Values by name.", {}, key="set")
    remove: list[str] = options.option("Names.", [])


class Headers(base_sections.Section):
    """Changes to headers."""

    request: HeaderChanges | None = options.option("Of requests.", None)
    response: HeaderChanges | None = options.option("Of answers.", None)


class Service(base_sections.Section):
    """The Services and the routes that Flagger makes."""

    port: Annotated[int, Field(ge=1, le=65535)] = Field(description="Port.")
    name: str = options.option("Name; empty: the target's.", "")
    port_name: str = options.option("Name of the port.", "http")
    target_port: int | str = options.option("Port of the pods; empty: `port`.", "")
    app_protocol: str = options.option("Protocol of the port.", "")
    traffic_distribution: str = options.option("Of the Services.", "")
    port_discovery: bool = options.option("Add the ports of all containers.", False)
    headless: bool = options.option("Without cluster IP.", False)
    timeout: str = options.option("Of a request.", "")
    backend_timeout: str = options.option("Of a request to a backend.", "")
    hosts: list[str] = options.option("Hosts of the route.", [])
    gateways: list[str] = options.option("Istio's gateways.", [])
    gateway_refs: list[dict[str, Any]] = options.option("Parents of the HTTPRoute.", [])
    delegation: bool = options.option("Make a delegate VirtualService.", False)
    match: list[dict[str, Any]] = options.option("Requests that the route is for.", [])
    rewrite: Rewrite | None = options.option("How requests are changed.", None)
    retries: dict[str, Any] | None = options.option("Of failed requests.", None)
    headers: Headers | None = options.option("Changes to headers.", None)
    cors_policy: dict[str, Any] | None = options.option("CORS.", None)
    traffic_policy: dict[str, Any] | None = options.option("Of Istio's DestinationRules.", None)
    mirror: list[dict[str, Any]] = options.option("Where requests are copied to.", [])
    mesh_name: str = options.option("App Mesh.", "")
    backends: list[str] = options.option("App Mesh.", [])
    apex: Metadata | None = options.option("Of the Service itself.", None)
    primary: Metadata | None = options.option("Of primary's Service.", None)
    canary: Metadata | None = options.option("Of canary's Service.", None)
    unmanaged_metadata: Unmanaged | None = options.option("Keys that Flagger leaves alone.", None)


class Range(base_sections.Section):
    """Inclusive bounds."""

    min: float | None = options.option("Least.", None)
    max: float | None = options.option("Most.", None)


class Metric(base_sections.Section):
    """One check."""

    name: base_sections.Text = Field(description="Built in, or free with a template.")
    interval: str = options.option("What the query looks back on.", "")
    threshold_range: Range | None = options.option("Values that pass.", None)
    threshold: float | None = options.option("The old form of the range.", None)
    query: str = options.option("The old form of a template.", "")
    template_ref: DistantReference | None = options.option("The MetricTemplate.", None)
    template_variables: dict[str, str] = options.option("Values for its placeholders.", {})


class Webhook(base_sections.Section):
    """An address that is asked or told."""

    name: base_sections.Text = Field(description="Name.")
    type: HookType = options.option("When it is called.", webhook.WebhookType.ROLLOUT)
    url: base_sections.Text = Field(description="Address.")
    timeout: str = options.option("How long an answer may take.", "")
    retries: int = options.option("Of a call.", 0)
    disable_tls: bool = options.option("Do not verify the certificate.", False, key="disableTLS")
    mute_alert: bool = options.option("Do not say refusals.", False)
    metadata: dict[str, str] = options.option("Sent along.", {})


class Alert(base_sections.Section):
    """Who is told about the release."""

    name: base_sections.Text = Field(description="Name.")
    severity: str = options.option("info, warn or error.", "")
    provider_ref: DistantReference = Field(description="The AlertProvider.")


class Match(base_sections.Section):
    """Requests that go to canary in an A/B test."""

    headers: dict[str, stage_sections.TextMatch] = options.option("By header.", {})
    query_params: dict[str, stage_sections.TextMatch] = options.option("By parameter.", {})
    source_labels: dict[str, str] = options.option("By pods that ask.", {})


class Analysis(base_sections.Section):
    """How the new version is tried."""

    interval: str = options.option("Time between two checks.", "60s")
    threshold: int = options.option("Failed checks until rollback.", 0)
    step_weight: Percent = options.option("Percent per step.", 0)
    step_weights: list[int] = options.option("Percent, one by one.", [])
    max_weight: Percent = options.option("Percent at which it is promoted.", 0)
    step_weight_promotion: Percent = options.option("Percent per step back.", 0)
    iterations: int = options.option("Checks of blue/green or an A/B test.", 0, least=0)
    match: list[Match] = options.option("Requests of an A/B test.", [])
    mirror: bool = options.option("Copy requests first.", False)
    mirror_weight: Percent = options.option("Percent that is copied.", 0)
    primary_ready_threshold: Percent | None = options.option(
        "Percent of primary's pods that have to be available.", None
    )
    canary_ready_threshold: Percent | None = options.option(
        "Percent of canary's pods that have to be available.", None
    )
    session_affinity: traffic.SessionAffinity | None = options.option(
        "Cookies that keep users with their variant.", None
    )
    metrics: list[Metric] = options.option("Checks.", [])
    webhooks: list[Webhook] = options.option("Who is asked or told.", [])
    alerts: list[Alert] = options.option("Who is told.", [])


class Spec(base_sections.Section):
    """``spec`` of a Canary."""

    provider: str = options.option("The mesh or the ingress controller.", "")
    metrics_server: str = options.option("Address of Prometheus.", "")
    target_ref: Reference = Field(description="The workload.")
    autoscaler_ref: Autoscaler | None = options.option("Its scaler.", None)
    ingress_ref: Reference | None = options.option("NGINX, Skipper.", None)
    route_ref: Reference | None = options.option("APISIX.", None)
    upstream_ref: DistantReference | None = options.option("Gloo.", None)
    progress_deadline_seconds: int | None = options.option(
        "How long canary or primary may stay not ready.", None, least=1
    )
    skip_analysis: bool = options.option("Promote as soon as canary is ready.", False)
    revert_on_deletion: bool = options.option(
        "Give everything back when the Canary is deleted.", False
    )
    suspend: bool = options.option("Do nothing.", False)
    service: Service | None = options.option("What leads to the workload.", None)
    analysis: Analysis | None = options.option("How a version is tried.", None)
    canary_analysis: Analysis | None = options.option("The old word for it.", None)


class Canary(drafts.CustomResource):
    """A Canary."""

    api_version: Literal["flagger.app/v1beta1"] = Field(description="Version.")
    spec: Spec = Field(description="The desired value.")


class AlertProviderSpec(base_sections.Section):
    """``spec`` of an AlertProvider."""

    type: base_sections.Text = Field(description="slack, msteams, discord, rocket or gchat.")
    channel: str = options.option("Channel.", "")
    username: str = options.option("Name of the sender.", "")
    address: str = options.option("Address of the hook.", "")
    proxy: str = options.option("HTTP proxy.", "")
    secret_ref: Reference | None = options.option("Secret with the address.", None)


class AlertProvider(drafts.CustomResource):
    """An AlertProvider."""

    api_version: Literal["flagger.app/v1beta1"] = Field(description="Version.")
    spec: AlertProviderSpec = Field(description="The desired value.")


class TemplateProvider(base_sections.Section):
    """Where a MetricTemplate's query is asked."""

    type: base_sections.Text = Field(description="Kind of the provider.")
    address: str = options.option("Its address.", "")
    headers: dict[str, list[str]] = options.option("Sent along.", {})
    secret_ref: Reference | None = options.option("Secret with the credentials.", None)
    region: str = options.option("CloudWatch.", "")
    insecure_skip_verify: bool = options.option("Do not verify the certificate.", False)


class TemplateSpec(base_sections.Section):
    """``spec`` of a MetricTemplate."""

    query: base_sections.Text = Field(description="The query.")
    provider: TemplateProvider = Field(description="Where it is asked.")


class MetricTemplate(drafts.CustomResource):
    """A MetricTemplate."""

    api_version: Literal["flagger.app/v1beta1"] = Field(description="Version.")
    spec: TemplateSpec = Field(description="The desired value.")
