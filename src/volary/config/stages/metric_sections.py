"""Metrics and requests that are measured and judged, as pydantic models.

Names and defaults are PipeCD's (``ANALYSIS``) where it has them; the rest is ours and may be
written in both dialects.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.model import analysis

Count = Annotated[int, Field(ge=0, strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Expected(base_sections.Section):
    """Inclusive bounds of good values."""

    min: Number | None = Field(default=None, description="Least good value.")
    max: Number | None = Field(default=None, description="Greatest good value.")


class TemplateReference(base_sections.Section):
    """Names an entry of the repository's `AnalysisTemplate`, in the directory `.pipe`."""

    name: base_sections.Text = Field(description="Name of the entry.")
    app_args: dict[str, str] = Field(
        default_factory=dict, description="`{{ .AppCustomArgs.x }}` of its query."
    )


class Metric(base_sections.Section):
    """One query, and what its answers have to be."""

    template: TemplateReference | None = Field(
        default=None, description="Use this entry of the template; what else is written is ignored."
    )
    name: str = Field(
        default="",
        description="As shown. `request-success-rate`, `request-duration` (ms) and, for `kind: "
        "proportion`, `request-errors` without a `query` are measured at the application's "
        "router. Default: `metrics-0` and so on.",
    )
    provider: str = Field(
        default="",
        description="Name in `analysisProviders` of the fleet file or the controller's settings. "
        "May be left out when there is only one.",
    )
    query: str = Field(
        default="",
        description="As the provider understands it, with `{{ .App.Name }}`, `{{ .Variant.Name }}`"
        ", `{{ .VariantCustomArgs.x }}`, `{{ .AppCustomArgs.x }}`.",
    )
    total_query: str = Field(
        default="", description="What `query` counts events of; only for `kind: proportion`."
    )
    kind: analysis.Kind = Field(
        default=analysis.Kind.VALUE,
        description="`value`: any quantity, compared by rank. `proportion`: `query` counts events "
        "among those of `totalQuery`. `rate`: `query` counts events of an interval.",
    )
    interval: values.Duration | None = Field(
        default=None, description="Time between two looks, and what each of them is about."
    )
    timeout: values.Duration = Field(
        default=timedelta(seconds=30), description="Limit of each query, at most 5m."
    )
    strategy: analysis.Strategy = Field(
        default=analysis.Strategy.THRESHOLD,
        description="`THRESHOLD`: against `expected`. `CANARY_BASELINE`, `CANARY_PRIMARY`: "
        "against the other variant. `PREVIOUS`: against the last successful analysis.",
    )
    expected: Expected | None = Field(default=None, description="Good values, for `THRESHOLD`.")
    deviation: analysis.Deviation = Field(
        default=analysis.Deviation.EITHER,
        description="Which difference is bad when compared: `EITHER`, `HIGH`, `LOW`.",
    )
    max: Number | None = Field(
        default=None,
        gt=0,
        description="Compared: canary may have so many times the other side's value, as `1.1`. "
        "Implies `deviation: HIGH`.",
    )
    min: Number | None = Field(
        default=None,
        gt=0,
        description="Compared: canary must have so many times the other side's value, as `0.9`. "
        "Implies `deviation: LOW`.",
    )
    judgement: analysis.Judgement = Field(
        default=analysis.Judgement.EACH,
        description="`each`: every look by itself, failed ones are counted. `sequential`: all "
        "looks together, at a chance of false alarm that holds however often one looks.",
    )
    significance: float = Field(
        default=0.05,
        gt=0,
        le=0.5,
        description="Accepted chance that a healthy release is condemned by this metric.",
    )
    failure_limit: Count = Field(
        default=0, description="Fails when more looks than this failed (not with `sequential`)."
    )
    failure_count: analysis.FailureCount = Field(
        default=analysis.FailureCount.CUMULATIVE,
        description="`cumulative`: failed looks are counted over the whole analysis; "
        "`consecutive`: a good one begins again at zero.",
    )
    no_data: analysis.NoData | None = Field(
        default=None,
        description="When there is nothing to judge. `hold`: wait for data, at last fail. `fail`: "
        "a failed look. `pass`: a look that does not count. Default: `hold`.",
    )
    skip_on_no_data: pydantic.StrictBool | None = Field(
        default=None, description="PipeCD's word: `true` is `noData: pass`, `false` is `fail`."
    )
    min_samples: int = Field(
        default=1,
        ge=1,
        strict=True,
        description="Points (proportions: requests) that each side must have to be judged.",
    )
    median_per_look: pydantic.StrictBool = Field(
        default=False,
        description="Compare only the middle value of each look: for queries whose points overlap "
        "in time, as `rate(…[5m])` every minute, which are not independent of each other.",
    )
    warm_up: values.Duration = Field(
        default=timedelta(0), description="What is measured this early is shown and not judged."
    )
    dry_run: pydantic.StrictBool = Field(
        default=False, description="Measured and shown, decides nothing."
    )
    scope: analysis.Decider = Field(
        default=analysis.Decider.PER_CLUSTER,
        description="`perCluster`: each cluster goes by its own verdict. `pooled`: all go by the "
        "one over all clusters. `both`: by that one, and a cluster that is bad by itself fails.",
    )
    canary_args: dict[str, str] = Field(
        default_factory=dict, description="`{{ .VariantCustomArgs.x }}` for canary."
    )
    baseline_args: dict[str, str] = Field(default_factory=dict, description="For baseline.")
    primary_args: dict[str, str] = Field(default_factory=dict, description="For primary.")


class Header(base_sections.Section):
    """A header of a request."""

    key: base_sections.Text = Field(description="Its name.")
    value: str = Field(default="", description="Its value.")


class HttpCheck(base_sections.Section):
    """A request whose status is judged."""

    later: ClassVar[Mapping[str, str]] = {
        "expectedResponse": "comparing the body, which PipeCD does not do either",
    }

    template: TemplateReference | None = Field(
        default=None, description="Use this entry of the template; what else is written is ignored."
    )
    name: str = Field(default="", description="As shown. Default: `https-0` and so on.")
    url: str = Field(
        default="", description="Address, `https://` or `http://`; `${CLUSTER}`: its name."
    )
    method: Literal["GET", "HEAD", "POST", "PUT", "OPTIONS"] = Field(
        default="GET", description="Method; there is no body."
    )
    headers: list[Header] = Field(default_factory=list, description="Sent along.")
    expected_code: int = Field(
        default=200, ge=100, le=599, strict=True, description="The good status."
    )
    interval: values.Duration | None = Field(default=None, description="Time between two requests.")
    timeout: values.Duration = Field(
        default=timedelta(seconds=30), description="Limit of each request, at most 5m."
    )
    failure_limit: Count = Field(
        default=0, description="Fails when more requests than this failed."
    )
    failure_count: analysis.FailureCount = Field(
        default=analysis.FailureCount.CUMULATIVE, description="As for metrics."
    )
    no_data: analysis.NoData | None = Field(
        default=None, description="When there is no answer, as for metrics. Default: `fail`."
    )
    skip_on_no_data: pydantic.StrictBool | None = Field(
        default=None, description="PipeCD's word: `true` is `noData: pass`, `false` is `fail`."
    )
    dry_run: pydantic.StrictBool = Field(
        default=False, description="Measured and shown, decides nothing."
    )


class StageAnalysis(base_sections.Section):
    """What is measured while a stage is carried out."""

    metrics: list[Metric] = Field(default_factory=list, description="Queries.")
    https: list[HttpCheck] = Field(default_factory=list, description="Requests.")
    logs: list[dict[str, object]] = Field(
        default_factory=list, description="Refused: no provider of logs is carried out."
    )


class Analysis(StageAnalysis):
    """Measure the new version and judge it."""

    later: ClassVar[Mapping[str, str]] = {
        "restartThreshold": "counting restarts, which PipeCD reads and does not do either",
    }

    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters the stage is limited to; empty: all."
    )
    duration: values.Duration = Field(description="How long is measured, more than 0.")
    hold_for: values.Duration = Field(
        default=timedelta(minutes=10),
        description="How long after `duration` data are waited for where `noData` is `hold`.",
    )


class TemplateSpec(base_sections.Section):
    """Entries that stages refer to, by name."""

    metrics: dict[str, dict[str, object]] = Field(
        default_factory=dict, description="Metrics by name."
    )
    logs: dict[str, dict[str, object]] = Field(
        default_factory=dict, description="Logs by name; they cannot be used."
    )
    https: dict[str, dict[str, object]] = Field(
        default_factory=dict, description="Requests by name."
    )


class TemplateFile(base_sections.Section):
    """`kind: AnalysisTemplate`, a file in the directory `.pipe` of the repository."""

    api_version: Literal["pipecd.dev/v1beta1", "volary.dev/v1"] = Field(description="The dialect.")
    kind: Literal["AnalysisTemplate"] = Field(description="What the file is.")
    spec: TemplateSpec = Field(default_factory=TemplateSpec, description="The entries.")
