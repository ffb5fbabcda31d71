"""The options of stages that move traffic by themselves, as pydantic models.

Names and defaults are Flagger's (``spec.analysis``) where it has them.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.config.stages import metric_sections, webhooks
from volary.model.pipeline import traffic
from volary.model.pipeline.stage_kinds import stage_kind

Count = Annotated[int, Field(ge=0, strict=True)]
#: Fields are called `webhooks` and `metrics`, like the modules.
Webhook = webhooks.Webhook
Metric = metric_sections.Metric
Weight = Annotated[int, Field(ge=0, le=100, strict=True)]


class TextMatch(base_sections.Section):
    """A text to look for: one of the four."""

    exact: str | None = Field(default=None, description="All of the text.")
    prefix: str | None = Field(default=None, description="Its beginning.")
    suffix: str | None = Field(default=None, description="Its end.")
    regex: str | None = Field(default=None, description="A regular expression, of the router.")


class RequestMatch(base_sections.Section):
    """Requests that fulfil all of these."""

    headers: dict[str, TextMatch] = Field(default_factory=dict, description="By header.")
    cookies: dict[str, TextMatch] = Field(default_factory=dict, description="By cookie.")
    query_params: dict[str, TextMatch] = Field(
        default_factory=dict, description="By parameter of the query."
    )


class SessionAffinity(base_sections.Section):
    """Cookies that keep a user with the variant of the first answer."""

    cookie_name: base_sections.Text = Field(description="Cookie of users that canary served.")
    primary_cookie_name: str = Field(
        default="", description="Cookie of users that primary served, for one interval."
    )
    max_age: int = Field(
        default=86400, ge=1, strict=True, description="Seconds that canary's cookie lives."
    )
    domain: str = Field(default="", description="Attribute of the cookie.")
    path: str = Field(default="", description="Attribute of the cookie.")
    http_only: bool = Field(default=False, strict=True, description="Attribute of the cookie.")
    secure: bool = Field(default=False, strict=True, description="Attribute of the cookie.")
    partitioned: bool = Field(default=False, strict=True, description="Attribute of the cookie.")
    same_site: traffic.SameSite | None = Field(default=None, description="Attribute of the cookie.")


class ProgressiveTraffic(base_sections.Section):
    """Move traffic to canary step by step, as long as every check passes."""

    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters the stage is limited to; empty: all."
    )
    interval: values.Duration = Field(
        default=timedelta(seconds=60), description="Time between two checks, at least 1s."
    )
    threshold: int = Field(
        default=1,
        ge=1,
        strict=True,
        description="So many failed checks, counted over the whole stage, and it fails.",
    )
    step_weight: Weight = Field(default=0, description="Percent that canary gets more per step.")
    step_weights: list[int] = Field(
        default_factory=list, description="Canary's percentages one after another, instead."
    )
    max_weight: int = Field(
        default=100, strict=True, description="Where `stepWeight` ends, 1 to 100."
    )
    step_weight_promotion: Weight = Field(
        default=0,
        description="Percent that go back to primary per interval once it runs the new version, "
        "by K8S_PRIMARY_ROLLOUT; 0: all at once.",
    )
    iterations: Count = Field(
        default=0,
        description="Number of checks without weights: blue/green, or with `match` an A/B test.",
    )
    mirror: bool = Field(
        default=False,
        strict=True,
        description="Send a copy of the requests to canary for one interval before the first step "
        "(with `iterations`: during all of them). Only for requests that may be repeated.",
    )
    mirror_weight: int = Field(
        default=100, ge=1, le=100, strict=True, description="Percent of requests that are copied."
    )
    metrics: list[Metric] = Field(
        default_factory=list,
        description="What is measured with every check; the first that fails is a failed check.",
    )
    match: list[RequestMatch] = Field(
        default_factory=list, description="Requests that go to canary in an A/B test."
    )
    session_affinity: SessionAffinity | None = Field(
        default=None, description="Keep users with their variant."
    )
    webhooks: list[Webhook] = Field(default_factory=list, description="Who is asked, and when.")
    scope: stage_kind.Scope = Field(
        default=stage_kind.Scope.CLUSTER,
        description="`cluster`: each cluster goes at its own pace; `fleet`: all go in step, and a "
        "failed check of one counts for all.",
    )
    overshoot: bool = Field(
        default=False,
        strict=True,
        description="A step may lead above `maxWeight`, as in Flagger; otherwise it is cut there.",
    )
    immediate: bool = Field(
        default=False,
        strict=True,
        description="Fail with the last failed check, not one interval after it as Flagger does.",
    )
    progress_deadline_seconds: int = Field(
        default=600, ge=1, strict=True, description="How long canary may stay not ready."
    )
    canary_ready_threshold: int = Field(
        default=100,
        ge=1,
        le=100,
        strict=True,
        description="Percent of its pods that must be ready.",
    )
    scale_canary: bool = Field(
        default=False,
        strict=True,
        description="Before each step give canary as many pods as its part of the traffic needs, "
        "counted from the pods that primary has then: for workloads that are scaled by load.",
    )


class Checks(base_sections.Section):
    """An analysis inside another stage."""

    interval: values.Duration = Field(
        default=timedelta(seconds=60), description="Time between two checks, at least 1s."
    )
    count: int = Field(default=1, ge=1, strict=True, description="Number of checks.")
    threshold: int = Field(
        default=1, ge=1, strict=True, description="So many failed checks, and it failed."
    )
    metrics: list[Metric] = Field(default_factory=list, description="Measured with each check.")
    webhooks: list[Webhook] = Field(
        default_factory=list, description="Asked with each check; a refusal is a failed check."
    )


class BlueGreen(base_sections.Section):
    """Switch all traffic to canary at once, with a preview before and an instant rollback after."""

    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters the stage is limited to; empty: all."
    )
    preview: bool = Field(
        default=True, strict=True, description="Make a Service that leads to canary only."
    )
    preview_service: values.DnsLabel = Field(
        default="", description="Its name; empty: the Service's name with `-preview`."
    )
    pre_promotion: Checks | None = Field(default=None, description="Checks before the switch.")
    post_promotion: Checks | None = Field(
        default=None, description="Checks after the switch; when they fail, it is switched back."
    )
    scale_down_delay: values.Duration = Field(
        default=timedelta(seconds=30),
        description="How long the old version stays as it is after the switch: until then a "
        "rollback is one write.",
    )
    webhooks: list[Webhook] = Field(default_factory=list, description="Who is asked, and when.")
    canary_ready_threshold: int = Field(
        default=100,
        ge=1,
        le=100,
        strict=True,
        description="Percent of its pods that must be ready.",
    )
