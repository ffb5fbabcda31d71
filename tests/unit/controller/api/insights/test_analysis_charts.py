"""Findings of analyses as series for charts."""

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

from volary.controller.api import analysis_representations
from volary.controller.api.insights import analysis_charts
from volary.engine.runs import run_builder
from volary.model import analysis
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)
STAGE = "1-ANALYSIS"


def finding(
    position: int,
    kind: str = "measurement",
    *,
    target: str = "us",
    attempt: int = 1,
    metric: str = "errors",
    **document: Any,
) -> records.Finding:
    moment = AT + timedelta(minutes=position)
    return records.Finding(
        "run", STAGE, target, attempt, moment, kind, metric, document, position=position
    )


def verdict(position: int, result: str, sentence: str, **more: Any) -> records.Finding:
    target = more.pop("target", "us")
    more = {"isFinal": True, **more}
    return finding(position, "verdict", target=target, result=result, sentence=sentence, **more)


def only(chart: analysis_representations.RunAnalysis) -> analysis_representations.MetricAnalysis:
    (metric,) = chart.metrics
    return metric


def test_nothing_measured_is_an_empty_chart() -> None:
    chart = analysis_charts.chart("run", ())

    assert (chart.sentence, chart.metrics, chart.omitted) == ("", (), 0)


def test_what_was_counted_before_the_analysis_is_no_side_of_it() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            finding(1, variant="canary", values=[1.0], totals=[100.0]),
            finding(1, variant="primary", role="budget", values=[5.0], totals=[100_000.0]),
        ],
    )

    assert [series.variant for series in only(chart).series] == ["canary"]


def test_the_weeks_before_are_no_side_and_make_the_bounds() -> None:
    rule = analysis.Rule(
        "errors", "prom", "q", deviation=analysis.Deviation.HIGH, history=analysis.History()
    )
    rules = analysis_charts.Rules({}, {(STAGE, "errors"): rule})
    before = {"role": "history", "variant": "7 days before"}

    def bounds(*found: records.Finding) -> tuple[float | None, float | None]:
        measured = [finding(1, variant="canary", values=[1.0]), *found]
        metric = only(analysis_charts.chart("run", measured, rules))
        assert {series.variant for series in metric.series} == {"canary"}
        return metric.bounds.least, metric.bounds.most

    assert bounds() == (None, None)
    assert bounds(finding(1, **before, values=[])) == (None, None)
    one, other = (finding(1, **before, values=[10.0], target=name) for name in ("us", "eu"))
    assert bounds(one) == (None, 12)
    assert bounds(one, finding(1, **before, values=[20.0, 30.0], target="us")) == (
        None,
        21,
    )
    assert bounds(one, dataclasses.replace(other, document={**before, "values": [20]})) == (
        None,
        18,
    )


def test_where_there_is_a_score_it_decides() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            verdict(1, "fail", "minor on us: too many", metric="minor", isScored=True),
            verdict(2, "pass", "score on us: 70 of 100", metric="score"),
        ],
    )

    assert chart.sentence == "passed: score on us: 70 of 100"
    assert [(metric.metric, metric.series) for metric in chart.metrics] == [
        ("minor", ()),
        ("score", ()),
    ]


def told(position: int, value: float, *points: float, target: str = "us") -> records.Finding:
    """A verdict on a score of two groups, worth 70 and 30."""
    parts = [
        {"group": group, "points": reached, "worth": worth}
        for group, reached, worth in zip(("errors", "minor"), points, (70.0, 30.0), strict=True)
    ]
    return verdict(
        position,
        "inconclusive",
        "",
        metric="score",
        target=target,
        time=(AT + timedelta(minutes=position)).isoformat(),
        numbers={"value": value},
        score={"pass": 80.0, "marginal": 60.0, "parts": parts},
    )


def test_a_score_has_a_value_at_each_look_and_so_have_its_groups() -> None:
    """It is told only when it changes, and by each metric of a look."""
    looks = [finding(number, variant="canary", values=[1.0]) for number in range(1, 6)]
    found = [*looks, told(2, 100, 70, 30), told(4, 100, 70, 30), told(4, 70, 70, 0)]
    elsewhere = [told(1, 30, 0, 30, target="eu")]
    charts = analysis_charts.chart("run", [*found, *elsewhere]).metrics

    [score] = [metric for metric in charts if metric.metric == "score"]
    assert (score.unit, score.bounds) == (
        "points",
        analysis_representations.Bounds(80.0, None, marginal=60.0),
    )
    assert [
        (each.cluster, each.variant, each.worth, [sample.value for sample in each.samples])
        for each in score.series
    ] == [
        ("eu", "score", 100, [30]),
        ("eu", "errors", 70, [0]),
        ("eu", "minor", 30, [30]),
        ("us", "score", 100, [100, 100, 70, 70]),
        ("us", "errors", 70, [70, 70, 70, 70]),
        ("us", "minor", 30, [30, 30, 0, 0]),
    ]
    moments = [sample.at - AT for sample in score.series[-1].samples]
    assert moments == [timedelta(minutes=number) for number in (2, 3, 4, 5)]


def test_each_side_on_each_cluster_is_a_series() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            finding(1, variant="canary", values=[1.0, 3.0, 2.0], query="sum(x)"),
            finding(2, variant="primary", values=[5.0]),
            finding(3, variant="canary", values=["NaN"]),
            finding(4, variant="canary", values=[], message="no data"),
            finding(5, variant="primary", values=[4.0], target="us", attempt=1),
            finding(6, variant="primary", values=[7.0], target="eu"),
        ],
    )
    metric = only(chart)
    shown = {
        (series.cluster, series.variant): [(item.value, item.count) for item in series.samples]
        for series in metric.series
    }

    assert metric.query == "sum(x)"
    assert shown == {
        ("us", "canary"): [(2.0, 3.0), (None, 1.0), (None, None)],
        ("us", "primary"): [(5.0, 1.0), (4.0, 1.0)],
        ("eu", "primary"): [(7.0, 1.0)],
    }


def test_a_share_is_that_of_the_total_and_counts_it() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            finding(1, variant="canary", values=[1.0, 2.0], totals=[40.0, 60.0]),
            finding(2, variant="canary", values=[0.0], totals=[0.0]),
        ],
    )
    samples = only(chart).series[0].samples

    assert [(sample.value, sample.count) for sample in samples] == [(0.03, 100.0), (None, 0.0)]


def test_what_is_measured_on_another_cluster_belongs_to_that_one() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            finding(1, variant="primary", values=[1.0]),
            records.Finding(
                "run",
                STAGE,
                "us",
                1,
                AT,
                "measurement",
                "errors",
                {"variant": "primary", "target": "asia", "values": [2.0]},
                position=2,
            ),
        ],
    )

    assert [series.cluster for series in only(chart).series] == ["asia", "us"]


def test_only_the_newest_attempt_of_a_task_counts() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            finding(1, variant="canary", values=[1.0]),
            verdict(2, "fail", "errors on us: too many"),
            finding(3, variant="canary", values=[9.0], attempt=2),
        ],
    )

    assert [item.value for item in only(chart).series[0].samples] == [9.0]
    assert (only(chart).verdicts, chart.sentence) == ((), "")


def test_verdicts_come_newest_first_with_those_over_all_clusters() -> None:
    pooled = {
        "result": "pass",
        "sentence": "errors over 2 clusters: fine",
        "numbers": {"samples": 900},
    }
    chart = analysis_charts.chart(
        "run",
        [
            verdict(1, "inconclusive", "errors on us: too few", numbers={"looks": 1}),
            verdict(2, "pass", "errors on us: fine", pooled=pooled),
            verdict(3, "pass", "errors on eu: fine", target="eu", pooled=pooled),
        ],
    )

    assert [(item.cluster, item.result, item.sentence) for item in only(chart).verdicts] == [
        ("eu", "success", "errors on eu: fine"),
        ("", "success", "errors over 2 clusters: fine"),
        ("us", "success", "errors on us: fine"),
        ("us", "inconclusive", "errors on us: too few"),
    ]
    assert only(chart).verdicts[-1].numbers == {"looks": 1}
    assert only(chart).verdicts[1].numbers == {"samples": 900}
    assert chart.sentence == "1 metric passed on 2 clusters"


def test_a_pass_that_is_not_final_is_none_until_its_stage_has_ended() -> None:
    pooled = {"result": "pass", "sentence": "errors over 2 clusters: fine"}
    found = [
        verdict(1, "pass", "errors on us: fine", pooled=pooled, isFinal=False),
        verdict(2, "pass", "errors on eu: fine", target="eu"),
    ]
    before, after, failed = (
        analysis_charts.chart("run", found, analysis_charts.Rules(ended))
        for ended in ({}, {STAGE: True}, {STAGE: False})
    )

    assert before.sentence == "not decided: 1 metric on 2 clusters, nothing found so far"
    assert [(each.cluster, each.result) for each in only(before).verdicts] == [
        ("eu", "success"),
        ("us", "running"),
        ("", "running"),
    ]
    assert after.sentence == "1 metric on 2 clusters: nothing found until the analysis ended"
    assert {each.result for each in only(after).verdicts} == {"success"}
    assert [each.result for each in only(failed).verdicts] == [
        "success",
        "inconclusive",
        "inconclusive",
    ]
    assert analysis_charts.chart("run", found[1:]).sentence == "1 metric passed on 1 cluster"


def test_the_worst_verdict_speaks_for_the_run() -> None:
    bad = [
        verdict(1, "fail", "errors on us: too many"),
        verdict(2, "inconclusive", "errors on eu: too few", target="eu"),
        verdict(3, "fail", "errors on asia: too many", target="asia"),
    ]
    shown = verdict(4, "fail", "it is only shown", target="test", dryRun=True)

    assert analysis_charts.chart("run", [*bad, shown]).sentence == (
        "failed: errors on us: too many, and 1 further verdict"
    )
    assert analysis_charts.chart("run", [bad[1], shown]).sentence == (
        "not decided: errors on eu: too few"
    )
    assert analysis_charts.chart("run", [shown]).sentence == ""


def test_the_cluster_that_most_newest_verdicts_name_is_the_outlier() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            verdict(1, "pass", "fine", target="us", outliers=["eu", "us"]),
            verdict(2, "pass", "fine", target="us", outliers=["asia"]),
            verdict(3, "pass", "fine", target="eu", outliers=["asia"]),
            verdict(4, "pass", "fine", target="asia"),
        ],
    )

    assert only(chart).outlier == "asia"


def test_bounds_and_units_are_those_of_the_rules() -> None:
    rules = (
        analysis.Rule("limit", query="x", expected=analysis.Range(maximum=5.0)),
        analysis.Rule(
            "compared",
            query="x",
            strategy=analysis.Strategy.CANARY_PRIMARY,
            kind=analysis.Kind.PROPORTION,
            expected=analysis.Range(1.0, 2.0),
        ),
        analysis.Rule("request-duration", built_in="request-duration"),
    )
    options = waiting_stages.AnalysisOptions(duration=timedelta(minutes=1), metrics=rules)
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions(), beside=options)
    spec = run_builder.RunSpec("shop", "new", run_builder.one_group(("us",)), (sync,))
    run = run_builder.new_run("run", spec, AT)
    found = [
        dataclasses.replace(
            finding(1, metric=metric, variant="canary", values=[1.0]), stage="1-K8S_SYNC"
        )
        for metric in ("limit", "compared", "request-duration", "unknown")
    ]
    chart = analysis_charts.chart("run", found, analysis_charts.rules_of(run))

    assert {
        metric.metric: (metric.bounds.least, metric.bounds.most, metric.unit, metric.strategy)
        for metric in chart.metrics
    } == {
        "limit": (None, 5.0, "", "THRESHOLD"),
        # A range is no bound of what is compared.
        "compared": (None, None, "ratio", "CANARY_PRIMARY"),
        "request-duration": (None, None, "milliseconds", "THRESHOLD"),
        "unknown": (None, None, "", ""),
    }


def test_thinning_keeps_peaks_and_gaps_and_says_how_much_is_left_out() -> None:
    found = [finding(number, variant="canary", values=[1.0]) for number in range(1, 1001)]
    found[500] = finding(501, variant="canary", values=[99.0])
    found[503] = finding(504, variant="canary", values=[-7.0])
    for number in range(700, 720):
        found[number] = finding(number + 1, variant="canary", values=[])
    (series,) = only(analysis_charts.chart("run", found)).series

    assert len(series.samples) <= 400
    assert len(series.samples) + series.thinned == 1000
    assert {99.0, -7.0, None} <= {sample.value for sample in series.samples}
    assert [sample.at for sample in series.samples] == sorted(
        {sample.at for sample in series.samples}
    )


def test_documents_of_another_shape_break_nothing() -> None:
    chart = analysis_charts.chart(
        "run",
        [
            finding(1, values="x", totals={"a": 1}),
            finding(2, "verdict", pooled=[], numbers=3, outliers="us", result=4),
            finding(3, "something"),
        ],
    )

    assert only(chart).series[0].samples[0].value is None
    assert only(chart).verdicts[0].result == "inconclusive"
