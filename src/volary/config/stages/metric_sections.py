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
from volary.model import analysis, options

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Expected(base_sections.Section):
    """Inclusive bounds of good values."""

    min: Number | None = options.option("Least good value.", None)
    max: Number | None = options.option("Greatest good value.", None)


class TemplateReference(base_sections.Section):
    """Names an entry of the repository's `AnalysisTemplate`, in the directory `.pipe`."""

    name: base_sections.Text = Field(description="Name of the entry.")
    app_args: dict[str, str] = options.option("`{{ .AppCustomArgs.x }}` of its query.", {})


class Slo(base_sections.Section, of=analysis.Slo):
    """A service level objective."""

    window: Annotated[
        timedelta,
        pydantic.BeforeValidator(values.days),
        pydantic.WithJsonSchema(values.DAYS),
    ] = options.option("Over how long, as `30d`.", timedelta(days=30))


class History(base_sections.Section, of=analysis.History):
    """What was usual at the same hour before."""

    offset: Annotated[
        timedelta,
        pydantic.BeforeValidator(values.days),
        pydantic.WithJsonSchema(values.DAYS),
    ] = options.option(
        "How far apart the times are that are looked at, as `7d` (the same hour of the weeks "
        "before) or `1d`.",
        timedelta(days=7),
    )


class Metric(base_sections.Section, of=analysis.Rule):
    """One query, and what its answers have to be."""

    misplaced: ClassVar[Mapping[str, str]] = {
        "mustHaveData": "noData says it: hold (the default) and fail must have data, pass need not",
        "groups": "a metric is in one group: write group",
    }

    template: TemplateReference | None = options.option(
        "Use this entry of the template; what else is written is ignored.", None
    )
    name: str
    interval: timedelta | None = options.option(
        "Time between two looks, and what each of them is about.", None
    )
    timeout: timedelta
    job: analysis.MetricJob | None
    expected: Expected | None
    deviation: analysis.Deviation | None = options.option(
        "Which difference is bad when compared: `HIGH` (errors, latency), `LOW` (success rate, "
        "throughput) or `EITHER`. Built-in queries and `kind: proportion` (`HIGH`) have a "
        "default, other comparisons have to say. PipeCD's files: `EITHER`.",
        None,
    )
    max: Number | None = options.option(
        "Compared: canary may have so many times the other side's value, as `1.1`. Implies "
        "`deviation: HIGH`.",
        None,
        above=0,
    )
    min: Number | None = options.option(
        "Compared: canary must have so many times the other side's value, as `0.9`. Implies "
        "`deviation: LOW`.",
        None,
        above=0,
    )
    slo: Slo | None
    history: History | None
    no_data: analysis.NoData | None = options.option(
        "When there is nothing to judge. `hold`: wait for data, at last fail. `fail`: a failed "
        "look. `pass`: a look that does not count. Default: `hold`.",
        None,
    )
    skip_on_no_data: bool | None = options.option(
        "PipeCD's word: `true` is `noData: pass`, `false` is `fail`.", None
    )


class Header(base_sections.Section):
    """A header of a request."""

    key: base_sections.Text = Field(description="Its name.")
    value: str = options.option("Its value.", "")


class HttpCheck(base_sections.Section):
    """A request whose status is judged."""

    later: ClassVar[Mapping[str, str]] = {
        "expectedResponse": "comparing the body, which PipeCD does not do either",
    }

    template: TemplateReference | None = options.option(
        "Use this entry of the template; what else is written is ignored.", None
    )
    name: str = options.option("As shown. Default: `https-0` and so on.", "")
    url: str = options.option("Address, `https://` or `http://`; `${CLUSTER}`: its name.", "")
    method: Literal["GET", "HEAD", "POST", "PUT", "OPTIONS"] = options.option(
        "Method; there is no body.", "GET"
    )
    headers: list[Header] = options.option("Sent along.", [])
    expected_code: int = options.option("The good status.", 200, least=100, most=599)
    interval: timedelta | None = options.option("Time between two requests.", None)
    timeout: timedelta = options.option("Limit of each request, at most 5m.", timedelta(seconds=30))
    failure_limit: int = options.option("Fails when more requests than this failed.", 0, least=0)
    failure_count: analysis.FailureCount = options.option(
        "As for metrics.", analysis.FailureCount.CUMULATIVE
    )
    count: int | None = options.option("As for metrics.", None, least=1)
    no_data: analysis.NoData | None = options.option(
        "When there is no answer, as for metrics. Default: `fail`.", None
    )
    skip_on_no_data: bool | None = options.option(
        "PipeCD's word: `true` is `noData: pass`, `false` is `fail`.", None
    )
    dry_run: bool = options.option("Measured and shown, decides nothing.", False)
    critical: bool = options.option("As for metrics.", False)
    group: str = options.option("As for metrics.", "")
    weight: float = options.option("As for metrics.", 1.0, above=0)


class StageAnalysis(base_sections.Section):
    """What is measured while a stage is carried out."""

    metrics: list[Metric] = options.option("Queries.", [])
    https: list[HttpCheck] = options.option("Requests.", [])
    logs: list[dict[str, object]] = options.option(
        "Refused: no provider of logs is carried out.", []
    )


class Analysis(base_sections.OnTargets, StageAnalysis):
    """Measure the new version and judge it."""

    duration: timedelta | None = options.option(
        "How long is measured, more than 0. Default: as long as it takes until each metric and "
        "request has its `count`.",
        None,
    )
    hold_for: timedelta = options.option(
        "How long after `duration` data are waited for where `noData` is `hold`.",
        timedelta(minutes=10),
    )
    judge_pods: bool = options.option(
        "Where canary runs the cluster is asked about its pods too, every 30s: none may be killed "
        "for lack of memory, restart more often than `restartThreshold`, or use more than 95% of "
        "its memory limit at three measurements while the other side's pods use less than 90%. "
        "CPU and memory beside the other side's are shown. What it does not tell fails nothing. "
        "Not in PipeCD's files.",
        True,
    )
    restart_threshold: int | None = options.option(
        "So often each pod of canary may restart. Default: 2. In PipeCD's files, as there, without "
        "effect.",
        None,
        least=0,
    )
    score_thresholds: analysis.ScoreThresholds | None = options.option(
        "Judge by a score of 100: metrics that pass count with their weight, and one that fails "
        "fails the release only if it is `critical` or the score gets too low. Default: every "
        "metric has to pass.",
        None,
    )
    group_weights: dict[str, Annotated[Number, Field(gt=0)]] = options.option(
        "By group of metrics its part of the score; all add up to 100. Default: every group has "
        "the same.",
        {},
    )
    expected_traffic: analysis.ExpectedTraffic | None = options.option(
        "What the application gets: `volary lint` simulates releases in it, and warns of metrics "
        "that healthy ones would fail, or that would not find twice the errors or latency. "
        "`volary analysis plan` goes by it too. A release itself does not.",
        None,
    )


class TemplateSpec(base_sections.Section):
    """Entries that stages refer to, by name."""

    metrics: dict[str, dict[str, object]] = options.option("Metrics by name.", {})
    logs: dict[str, dict[str, object]] = options.option("Logs by name; they cannot be used.", {})
    https: dict[str, dict[str, object]] = options.option("Requests by name.", {})


class TemplateFile(base_sections.Section):
    """`kind: AnalysisTemplate`, a file in the directory `.pipe` of the repository."""

    api_version: Literal["pipecd.dev/v1beta1", "volary.dev/v1"] = Field(description="The dialect.")
    kind: Literal["AnalysisTemplate"] = Field(description="What the file is.")
    spec: TemplateSpec = Field(default_factory=TemplateSpec, description="The entries.")
