"""Metrics tried out at some time, without a release."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.analysis.metering import meters, query_names
from volary.model import analysis, applications
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import traffic_stages, waiting_stages
from volary.model.placement import rollouts
from volary.stages.judgement import findings, metric_trials

AT, MINUTE = datetime(2030, 1, 1, 12, tzinfo=UTC), timedelta(minutes=1)
LIMIT = analysis.Range(maximum=0.05)
RULE = analysis.Rule("errors", "prom", "q", interval=MINUTE, expected=LIMIT)
NAMES = query_names.Names(namespace="shop", workload="shop")
PREVIOUS = replace(RULE, strategy=analysis.Strategy.PREVIOUS, expected=None)


class Clock:
    def now(self) -> datetime:
        return AT


@dataclass
class Meter:
    """Answers with a number of each cluster."""

    values: Mapping[str, float]
    asked: list[meters.Question] = field(default_factory=list)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.append(question)
        return question.answer("query", (self.values[question.target],))


def analysed(*rules: analysis.Rule, **more: object) -> applications.Application:
    options = waiting_stages.AnalysisOptions(MINUTE, rules, **more)  # type: ignore[arg-type]
    return applications.Application(
        name="shop", pipeline=(pipelines.Stage(waiting_stages.ANALYSIS.name, options),)
    )


async def tried(
    application: applications.Application,
    values: Mapping[str, float],
    moment: metric_trials.Moment,
) -> tuple[list[metric_trials.TrialFinding], list[analysis.Verdict], Meter]:
    meter = Meter(values)
    trial = metric_trials.Trial(application, dict.fromkeys(values, NAMES), meter, Clock())
    found, verdicts = await trial.run(moment)
    return found, verdicts, meter


async def test_every_metric_is_measured_and_judged_on_every_cluster() -> None:
    found, verdicts, meter = await tried(
        analysed(RULE), {"us": 0.01, "eu": 0.5}, metric_trials.Moment(AT)
    )

    assert [(each.target, each.result) for each in verdicts] == [
        ("us", analysis.Result.PASS),
        ("eu", analysis.Result.FAIL),
    ]
    assert all(each.is_final for each in verdicts)
    assert {(each.target, each.time, each.until, each.is_past) for each in meter.asked} == {
        ("us", AT, AT, False),
        ("eu", AT, AT, False),
    }
    assert {each.side for each in meter.asked} == {variant.Variant.CANARY}
    assert [(each.stage, each.target, each.kind, each.metric) for each in found] == [
        ("1-ANALYSIS", "us", findings.MEASUREMENT, "errors"),
        ("1-ANALYSIS", "eu", findings.MEASUREMENT, "errors"),
        ("1-ANALYSIS", "us", findings.VERDICT, "errors"),
        ("1-ANALYSIS", "eu", findings.VERDICT, "errors"),
    ]
    assert [each.document["result"] for each in found[2:]] == ["pass", "fail"]


async def test_looks_lie_an_interval_apart_up_to_the_moment() -> None:
    """What is too early to be judged in a release is judged here."""
    rule = replace(RULE, warm_up=10 * MINUTE, failure_limit=3)

    _, verdicts, meter = await tried(
        analysed(rule), {"us": 0.5}, metric_trials.Moment(AT, looks=3, is_now=False)
    )

    assert [each.time for each in meter.asked] == [AT - 2 * MINUTE, AT - MINUTE, AT]
    assert all(each.is_past for each in meter.asked)
    assert verdicts[0].numbers.looks == 3


async def test_a_comparison_with_an_earlier_release_needs_one() -> None:
    found, verdicts, _ = await tried(
        analysed(PREVIOUS), {"us": 1.0, "eu": 1.0}, metric_trials.Moment(AT)
    )

    assert [each.sentence for each in verdicts] == [
        f"errors on {target}: nothing to compare with; --previous TIME says when the analysis"
        " before it began"
        for target in ("us", "eu")
    ]
    assert all(each.is_final and each.result is analysis.Result.PASS for each in verdicts)
    shown = [each for each in found if each.kind == findings.VERDICT]
    assert [(each.stage, each.target, each.metric) for each in shown] == [
        ("1-ANALYSIS", "us", "errors"),
        ("1-ANALYSIS", "eu", "errors"),
    ]


async def test_the_earlier_release_is_asked_about_its_own_time() -> None:
    before = AT - timedelta(days=1)

    _, verdicts, meter = await tried(
        analysed(PREVIOUS), {"us": 1.0}, metric_trials.Moment(AT, previous=before)
    )

    assert {(each.role, each.until) for each in meter.asked} == {
        (analysis.Role.JUDGED, AT),
        (analysis.Role.REFERENCE, before + MINUTE),
    }
    assert "nothing to compare with" not in verdicts[0].sentence


async def test_clusters_without_the_release_are_one_other() -> None:
    rule = replace(RULE, strategy=analysis.Strategy.NOT_UPDATED, expected=None)

    _, _, meter = await tried(
        analysed(rule), {"us": 1.0, "eu": 1.0, "asia": 1.0}, metric_trials.Moment(AT)
    )

    asked = {(each.target, each.role) for each in meter.asked}
    sides = (analysis.Role.JUDGED, analysis.Role.REFERENCE)
    assert asked == {(target, role) for target in ("us", "eu") for role in sides} | {
        ("asia", analysis.Role.JUDGED)
    }


async def test_a_request_is_made_now_or_not_at_all() -> None:
    """Nobody can ask what the status of a page was yesterday."""
    rule = replace(RULE, name="page", expected=analysis.Range(200, 200))
    page = analysis.HttpCheck(rule, "http://169.254.169.254/")
    application = analysed(http=(page,))

    past = await tried(application, {"us": 1.0}, metric_trials.Moment(AT, looks=5, is_now=False))
    now = await tried(application, {"us": 1.0}, metric_trials.Moment(AT, looks=5))

    assert past[:2] == ([], [])
    measured = [each for each in now[0] if each.kind == findings.MEASUREMENT]
    assert [each.document["time"] for each in measured] == [AT.isoformat()]
    assert "not asked" in measured[0].document["message"]


async def test_whatever_a_stage_measures_is_tried() -> None:
    def named(name: str) -> analysis.Rule:
        return replace(RULE, name=name)

    wait = waiting_stages.WaitOptions(MINUTE)
    checks = traffic_stages.Checks(metrics=(named("after"),))
    application = applications.Application(
        name="shop",
        pipeline=tuple(
            replace(stage, index=index)
            for index, stage in enumerate(
                (
                    pipelines.Stage(
                        waiting_stages.WAIT.name,
                        wait,
                        beside=waiting_stages.AnalysisOptions(MINUTE, (named("beside"),)),
                    ),
                    pipelines.Stage(
                        traffic_stages.PROGRESSIVE_TRAFFIC.name,
                        traffic_stages.ProgressiveTrafficOptions(metrics=(named("round"),)),
                    ),
                    pipelines.Stage(
                        traffic_stages.PROGRESSIVE_TRAFFIC.name,
                        traffic_stages.ProgressiveTrafficOptions(),
                    ),
                    pipelines.Stage(
                        traffic_stages.BLUE_GREEN.name,
                        traffic_stages.BlueGreenOptions(
                            pre_promotion=traffic_stages.Checks(), post_promotion=checks
                        ),
                    ),
                )
            )
        ),
        waves=rollouts.Waves(
            (
                rollouts.Wave("first"),
                rollouts.Wave(
                    "second",
                    gate=rollouts.Gate(
                        analysis=waiting_stages.AnalysisOptions(MINUTE, (named("wave"),))
                    ),
                ),
            )
        ),
    )

    found, verdicts, _ = await tried(application, {"us": 0.01}, metric_trials.Moment(AT))

    assert [each.metric for each in verdicts] == ["beside", "round", "after", "wave"]
    assert [each.stage for each in found if each.kind == findings.VERDICT] == [
        "1-WAIT",
        "2-K8S_PROGRESSIVE_TRAFFIC",
        "4-K8S_BLUE_GREEN",
        "second/ANALYSIS",
    ]


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_dry_run_stays_one(dry_run: bool) -> None:
    rules = (replace(RULE, dry_run=dry_run), replace(PREVIOUS, name="other", dry_run=dry_run))
    _, verdicts, _ = await tried(analysed(*rules), {"us": 1.0}, metric_trials.Moment(AT))
    assert [each.dry_run for each in verdicts] == [dry_run, dry_run]


async def test_where_metrics_are_scored_the_score_of_each_cluster_decides() -> None:
    minor = replace(RULE, name="minor", expected=analysis.Range(maximum=0.001))
    scoring = analysis.Scoring(analysis.ScoreThresholds(60), {"errors": 70, "minor": 30})
    found, verdicts, _ = await tried(
        analysed(RULE, minor, scoring=scoring), {"us": 0.01, "eu": 0.5}, metric_trials.Moment(AT)
    )

    assert [(each.metric, each.target, each.result) for each in verdicts] == [
        ("score", "us", analysis.Result.PASS),
        ("score", "eu", analysis.Result.FAIL),
    ]
    assert verdicts[0].sentence.startswith("score on us: 70 of 100, 60 passes")
    shown = {(each.metric, each.target): each.document for each in found if each.kind == "verdict"}
    assert shown["minor", "us"]["isScored"]
    assert (shown["score", "us"]["result"], shown["score", "eu"]["result"]) == ("pass", "fail")


async def test_an_error_budget_is_tried_out_like_any_rule() -> None:
    slo = analysis.Slo(99.0)
    budget = replace(
        RULE,
        name="availability",
        kind=analysis.Kind.PROPORTION,
        judgement=analysis.Judgement.SEQUENTIAL,
        slo=slo,
        expected=analysis.Range(maximum=6 * slo.budget),
    )

    class Counts(Meter):
        async def measure(self, question: meters.Question) -> analysis.Measurement:
            return question.answer("query", (self.values[question.target],), (100.0,))

    trial = metric_trials.Trial(
        analysed(budget), {"us": NAMES, "eu": NAMES}, Counts({"us": 0.0, "eu": 90.0}), Clock()
    )
    _, verdicts = await trial.run(metric_trials.Moment(AT, looks=10))

    assert [each.result for each in verdicts] == [analysis.Result.PASS, analysis.Result.FAIL]
    assert "burn rate 90 over" in verdicts[1].sentence
