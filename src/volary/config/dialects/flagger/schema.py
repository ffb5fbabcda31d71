"""The fields of a Canary, as pydantic models; named as Flagger names them."""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.stages import progressive_sections
from volary.model.pipeline import traffic, webhook

API_VERSION = "flagger.app/v1beta1"

#: An empty type is the same as none.
HookType = Annotated[
    webhook.WebhookType,
    pydantic.BeforeValidator(lambda text: text or webhook.WebhookType.ROLLOUT),
]
Percent = Annotated[int, Field(ge=0, le=100, strict=True)]
Count = Annotated[int, Field(strict=True)]


class Reference(base_sections.Section):
    """Names an object of the cluster."""

    api_version: str = Field(default="", description="Group and version.")
    kind: str = Field(default="", description="Kind.")
    name: base_sections.Text = Field(description="Name.")
    namespace: str = Field(default="", description="Namespace.")


class ScalerReplicas(base_sections.Section):
    """Bounds of the scaler that Flagger makes for its copy."""

    min_replicas: Count | None = Field(default=None, description="Least.")
    max_replicas: Count | None = Field(default=None, description="Most.")


class Autoscaler(Reference):
    """The scaler of the target."""

    primary_scaler_queries: dict[str, str] = Field(
        default_factory=dict, description="Queries of the scaler of Flagger's copy."
    )
    primary_scaler_replicas: ScalerReplicas | None = Field(
        default=None, description="Bounds of the scaler of Flagger's copy."
    )


class Metadata(base_sections.Section):
    """Labels and annotations for a Service that Flagger makes."""

    labels: dict[str, str] = Field(default_factory=dict, description="Labels.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Annotations.")


class Unmanaged(base_sections.Section):
    """Keys of labels and annotations that others write."""

    labels: list[str] = Field(default_factory=list, description="Keys of labels.")
    annotations: list[str] = Field(default_factory=list, description="Keys of annotations.")


class Rewrite(base_sections.Section):
    """How the request is changed on its way."""

    uri: str = Field(default="", description="Path.")
    authority: str = Field(default="", description="Host.")
    type: str = Field(default="", description="ReplaceFullPath or ReplacePrefixMatch.")


class Service(base_sections.Section):
    """The Services and the routes that Flagger makes."""

    port: Annotated[int, Field(ge=1, le=65535, strict=True)] = Field(description="Port.")
    name: str = Field(default="", description="Name; empty: the target's.")
    port_name: str = Field(default="http", description="Name of the port.")
    target_port: int | str = Field(default="", description="Port of the pods; empty: `port`.")
    app_protocol: str = Field(default="", description="Protocol of the port.")
    traffic_distribution: str = Field(default="", description="Of the Services.")
    port_discovery: pydantic.StrictBool = Field(
        default=False, description="Add the ports of all containers."
    )
    headless: pydantic.StrictBool = Field(default=False, description="Without cluster IP.")
    timeout: str = Field(default="", description="Of a request.")
    backend_timeout: str = Field(default="", description="Of a request to a backend.")
    hosts: list[str] = Field(default_factory=list, description="Hosts of the route.")
    gateways: list[str] = Field(default_factory=list, description="Istio's gateways.")
    gateway_refs: list[dict[str, Any]] = Field(
        default_factory=list, description="Parents of the HTTPRoute."
    )
    delegation: pydantic.StrictBool = Field(
        default=False, description="Make a delegate VirtualService."
    )
    match: list[dict[str, Any]] = Field(
        default_factory=list, description="Requests that the route is for."
    )
    rewrite: Rewrite | None = Field(default=None, description="How requests are changed.")
    retries: dict[str, Any] | None = Field(default=None, description="Of failed requests.")
    headers: dict[str, Any] | None = Field(default=None, description="Changes to headers.")
    cors_policy: dict[str, Any] | None = Field(default=None, description="CORS.")
    traffic_policy: dict[str, Any] | None = Field(
        default=None, description="Of Istio's DestinationRules."
    )
    mirror: list[dict[str, Any]] = Field(
        default_factory=list, description="Where requests are copied to."
    )
    mesh_name: str = Field(default="", description="App Mesh.")
    backends: list[str] = Field(default_factory=list, description="App Mesh.")
    apex: Metadata | None = Field(default=None, description="Of the Service itself.")
    primary: Metadata | None = Field(default=None, description="Of primary's Service.")
    canary: Metadata | None = Field(default=None, description="Of canary's Service.")
    unmanaged_metadata: Unmanaged | None = Field(
        default=None, description="Keys that Flagger leaves alone."
    )


class Range(base_sections.Section):
    """Inclusive bounds."""

    min: float | None = Field(default=None, description="Least.")
    max: float | None = Field(default=None, description="Most.")


class Metric(base_sections.Section):
    """One check."""

    name: base_sections.Text = Field(description="Built in, or free with a template.")
    interval: str = Field(default="", description="What the query looks back on.")
    threshold_range: Range | None = Field(default=None, description="Values that pass.")
    threshold: float | None = Field(default=None, description="The old form of the range.")
    query: str = Field(default="", description="The old form of a template.")
    template_ref: Reference | None = Field(default=None, description="The MetricTemplate.")
    template_variables: dict[str, str] = Field(
        default_factory=dict, description="Values for its placeholders."
    )


class Webhook(base_sections.Section):
    """An address that is asked or told."""

    name: base_sections.Text = Field(description="Name.")
    type: HookType = Field(default=webhook.WebhookType.ROLLOUT, description="When it is called.")
    url: base_sections.Text = Field(description="Address.")
    timeout: str = Field(default="", description="How long an answer may take.")
    retries: Count = Field(default=0, description="Of a call.")
    disable_tls: pydantic.StrictBool = Field(
        default=False, alias="disableTLS", description="Do not verify the certificate."
    )
    mute_alert: pydantic.StrictBool = Field(default=False, description="Do not say refusals.")
    metadata: dict[str, str] = Field(default_factory=dict, description="Sent along.")


class Alert(base_sections.Section):
    """Who is told about the release."""

    name: base_sections.Text = Field(description="Name.")
    severity: str = Field(default="", description="info, warn or error.")
    provider_ref: Reference = Field(description="The AlertProvider.")


class TextMatch(progressive_sections.TextMatch):
    """A text to look for in a header or a parameter."""


class Match(base_sections.Section):
    """Requests that go to canary in an A/B test."""

    headers: dict[str, TextMatch] = Field(default_factory=dict, description="By header.")
    query_params: dict[str, TextMatch] = Field(default_factory=dict, description="By parameter.")
    source_labels: dict[str, str] = Field(default_factory=dict, description="By pods that ask.")


class Analysis(base_sections.Section):
    """How the new version is tried."""

    interval: str = Field(default="60s", description="Time between two checks.")
    threshold: Count = Field(default=0, description="Failed checks until rollback.")
    step_weight: Percent = Field(default=0, description="Percent per step.")
    step_weights: list[Count] = Field(default_factory=list, description="Percent, one by one.")
    max_weight: Percent = Field(default=0, description="Percent at which it is promoted.")
    step_weight_promotion: Percent = Field(default=0, description="Percent per step back.")
    iterations: Count = Field(default=0, description="Checks of blue/green or an A/B test.")
    match: list[Match] = Field(default_factory=list, description="Requests of an A/B test.")
    mirror: pydantic.StrictBool = Field(default=False, description="Copy requests first.")
    mirror_weight: Percent = Field(default=0, description="Percent that is copied.")
    primary_ready_threshold: Percent | None = Field(
        default=None, description="Percent of primary's pods that have to be available."
    )
    canary_ready_threshold: Percent | None = Field(
        default=None, description="Percent of canary's pods that have to be available."
    )
    session_affinity: traffic.SessionAffinity | None = Field(
        default=None, description="Cookies that keep users with their variant."
    )
    metrics: list[Metric] = Field(default_factory=list, description="Checks.")
    webhooks: list[Webhook] = Field(default_factory=list, description="Who is asked or told.")
    alerts: list[Alert] = Field(default_factory=list, description="Who is told.")


class Spec(base_sections.Section):
    """``spec`` of a Canary."""

    provider: str = Field(default="", description="The mesh or the ingress controller.")
    metrics_server: str = Field(default="", description="Address of Prometheus.")
    target_ref: Reference = Field(description="The workload.")
    autoscaler_ref: Autoscaler | None = Field(default=None, description="Its scaler.")
    ingress_ref: Reference | None = Field(default=None, description="NGINX, Skipper.")
    route_ref: Reference | None = Field(default=None, description="APISIX.")
    upstream_ref: Reference | None = Field(default=None, description="Gloo.")
    progress_deadline_seconds: Annotated[int, Field(strict=True)] | None = Field(
        default=None, description="How long canary or primary may stay not ready."
    )
    skip_analysis: pydantic.StrictBool = Field(
        default=False, description="Promote as soon as canary is ready."
    )
    revert_on_deletion: pydantic.StrictBool = Field(
        default=False, description="Give everything back when the Canary is deleted."
    )
    suspend: pydantic.StrictBool = Field(default=False, description="Do nothing.")
    service: Service | None = Field(default=None, description="What leads to the workload.")
    analysis: Analysis | None = Field(default=None, description="How a version is tried.")
    canary_analysis: Analysis | None = Field(default=None, description="The old word for it.")


class Canary(base_sections.Section):
    """A Canary."""

    api_version: Literal["flagger.app/v1beta1"] = Field(description="Version.")
    kind: Literal["Canary"] = Field(description="Kind.")
    metadata: dict[str, Any] = Field(description="Name, namespace, labels, annotations.")
    spec: Spec = Field(description="The desired value.")
    status: dict[str, Any] = Field(default_factory=dict, description="Flagger's own.")


class AlertProviderSpec(base_sections.Section):
    """``spec`` of an AlertProvider."""

    type: base_sections.Text = Field(description="slack, msteams, discord, rocket or gchat.")
    channel: str = Field(default="", description="Channel.")
    username: str = Field(default="", description="Name of the sender.")
    address: str = Field(default="", description="Address of the hook.")
    proxy: str = Field(default="", description="HTTP proxy.")
    secret_ref: Reference | None = Field(default=None, description="Secret with the address.")


class AlertProvider(base_sections.Section):
    """An AlertProvider."""

    api_version: Literal["flagger.app/v1beta1"] = Field(description="Version.")
    kind: Literal["AlertProvider"] = Field(description="Kind.")
    metadata: dict[str, Any] = Field(description="Name and namespace.")
    spec: AlertProviderSpec = Field(description="The desired value.")


class TemplateProvider(base_sections.Section):
    """Where a MetricTemplate's query is asked."""

    type: base_sections.Text = Field(description="Kind of the provider.")
    address: str = Field(default="", description="Its address.")
    headers: dict[str, list[str]] = Field(default_factory=dict, description="Sent along.")
    secret_ref: Reference | None = Field(default=None, description="Secret with the credentials.")
    region: str = Field(default="", description="CloudWatch.")
    insecure_skip_verify: bool = Field(default=False, description="Do not verify the certificate.")


class TemplateSpec(base_sections.Section):
    """``spec`` of a MetricTemplate."""

    query: base_sections.Text = Field(description="The query.")
    provider: TemplateProvider = Field(description="Where it is asked.")


class MetricTemplate(base_sections.Section):
    """A MetricTemplate."""

    api_version: Literal["flagger.app/v1beta1"] = Field(description="Version.")
    kind: Literal["MetricTemplate"] = Field(description="Kind.")
    metadata: dict[str, Any] = Field(description="Name and namespace.")
    spec: TemplateSpec = Field(description="The desired value.")
