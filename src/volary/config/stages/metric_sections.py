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


class Metric(base_sections.Section, of=analysis.Rule):
    """One query, and what its answers have to be."""

    template: TemplateReference | None = Field(
        default=None, description="Use this entry of the template; what else is written is ignored."
    )
    name: str
    interval: values.Duration | None = Field(
        default=None, description="Time between two looks, and what each of them is about."
    )
    timeout: values.Duration
    expected: Expected | None
    deviation: analysis.Deviation
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
    no_data: analysis.NoData | None = Field(
        default=None,
        description="When there is nothing to judge. `hold`: wait for data, at last fail. `fail`: "
        "a failed look. `pass`: a look that does not count. Default: `hold`.",
    )
    skip_on_no_data: pydantic.StrictBool | None = Field(
        default=None, description="PipeCD's word: `true` is `noData: pass`, `false` is `fail`."
    )


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
