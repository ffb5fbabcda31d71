"""What is measured for a rule on one cluster, and what is told of it; in virtual time."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

import memory_client
import stage_contexts
from memory_world import LoopClock, now
from volary.analysis.metering import meters
from volary.model import analysis, applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    waiting_stages,
)
from volary.stages.judgement import cluster_judges, findings
from volary.stages.runtime import contexts, rendezvouses, task_states

pytestmark = pytest.mark.looptime
V, START = variant.Variant, stage_contexts.START
JUDGED, REFERENCE = analysis.Role.JUDGED, analysis.Role.REFERENCE
MINUTE = timedelta(minutes=1)
LIMIT = analysis.Range(maximum=0.05)
RULE = analysis.Rule("errors", "prom", "q", interval=MINUTE, expected=LIMIT)
CANARY = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())
BASELINE = pipelines.Stage(
    rollout_stages.BASELINE_ROLLOUT.name, rollout_stages.VariantRolloutOptions()
)
BASELINE_CLEAN = pipelines.Stage(rollout_stages.BASELINE_CLEAN.name, stage_kind.NoOptions())
CLEAN = pipelines.Stage(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
GATE = pipelines.Stage(added_stages.WAVE_GATE.name, added_stages.WaveGateOptions(timedelta(0)))
PERIOD = cluster_judges.AnalysisPeriod(
    START, START + timedelta(minutes=10), START + timedelta(minutes=20)
)


@dataclass
class Meter:
    """Answers with a number for each side; a text is what goes wrong; None is silence."""

    values: Mapping[tuple[str, analysis.Role], float | str | None] = field(default_factory=dict)
    seconds: float = 0.0
    asked: list[meters.Question] = field(default_factory=list)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.append(question)
        await asyncio.sleep(self.seconds)
        value = self.values.get((question.target, question.role), 0.01)
        if isinstance(value, str):
            raise errors.PermanentError(value)
        return question.answer("query", () if value is None else (value,))


def judge(meter: Meter | None = None, *rules: analysis.Rule, **given: Any) -> cluster_judges.Judge:
    context = contexts.MeasuringContext(
        application=stage_contexts.context().application,
        target=given.pop("target", "us"),
        report=given.pop("report", stage_contexts.Report()),
        clock=LoopClock(),
        meter=meter or Meter(),
        begun=given.pop("begun", (CANARY,)),
        not_updated=given.pop("not_updated", ()),
        rendezvous=given.pop("rendezvous", rendezvouses.Rendezvous()),
    )
    return cluster_judges.Judge(context, PERIOD, rules or (RULE,), **given)


@pytest.mark.parametrize(
    ("strategy", "given", "sides"),
    [
        ("THRESHOLD", {}, [("us", V.CANARY, JUDGED)]),
        ("THRESHOLD", {"begun": ()}, [("us", V.PRIMARY, JUDGED)]),
        ("THRESHOLD", {"begun": (CANARY, CLEAN)}, [("us", V.PRIMARY, JUDGED)]),
        ("THRESHOLD", {"begun": (CANARY, GATE)}, [("us", V.PRIMARY, JUDGED)]),
        ("THRESHOLD", {"begun": (CANARY, CLEAN, CANARY)}, [("us", V.CANARY, JUDGED)]),
        (
            "CANARY_BASELINE",
            {},
            [("us", V.CANARY, JUDGED), ("us", V.BASELINE, REFERENCE)],
        ),
        ("CANARY_PRIMARY", {}, [("us", V.CANARY, JUDGED), ("us", V.PRIMARY, REFERENCE)]),
        (
            "CANARY_BASELINE_PRIMARY",
            {},
            [
                ("us", V.CANARY, JUDGED),
                ("us", V.BASELINE, REFERENCE),
                ("us", V.PRIMARY, analysis.Role.CONTROL),
            ],
        ),
        ("PREVIOUS", {}, [("us", V.PRIMARY, JUDGED)]),
        (
            "PREVIOUS",
            {"previous": START - timedelta(days=1)},
            [("us", V.PRIMARY, JUDGED), ("us", V.PRIMARY, REFERENCE)],
        ),
        (
            "NOT_UPDATED",
            {"not_updated": ("eu", "asia")},
            [
                ("us", V.PRIMARY, JUDGED),
                ("eu", V.PRIMARY, REFERENCE),
                ("asia", V.PRIMARY, REFERENCE),
            ],
        ),
        # Nobody else is there to be asked.
        ("NOT_UPDATED", {}, [("us", V.PRIMARY, JUDGED)]),
    ],
)
async def test_whose_numbers_are_asked_for(
    strategy: str, given: dict[str, Any], sides: list[tuple[str, V, analysis.Role]]
) -> None:
    meter = Meter()
    rule = replace(RULE, strategy=analysis.Strategy[strategy], expected=None)

    await judge(meter, rule, **given).look(rule, START + MINUTE)

    assert [(each.target, each.side, each.role) for each in meter.asked] == sides


async def test_a_cluster_that_cannot_be_asked_of_its_pods_condemns_nobody() -> None:
    rule = replace(
        RULE,
        name="pod-restarts",
        query="",
        built_in="pod-restarts",
        no_data=analysis.NoData.PASS,
    )
    asked = judge(None, rule)
    for number in range(1, 11):
        await asked.look(rule, START + number * MINUTE)
    verdict = await asked.verdict(rule, PERIOD.ends, 10)

    assert (verdict.result, verdict.is_final) == (analysis.Result.PASS, True)
    assert "there is no cluster to be asked; the rule lets that pass" in verdict.sentence


async def test_the_budget_of_an_slo_is_asked_for_once_over_its_window() -> None:
    meter, report = Meter(), stage_contexts.Report()
    rule = replace(
        RULE,
        kind=analysis.Kind.PROPORTION,
        judgement=analysis.Judgement.SEQUENTIAL,
        query="bad[{{ interval }}]",
        total_query="all[{{interval}}]",
        slo=analysis.Slo(99.9),
    )
    first = judge(meter, rule, report=report)
    for number in (1, 2):
        await first.look(rule, START + number * MINUTE)
    again = judge(meter, rule)
    again.restore([document for kind, _, document in report.findings if kind == "measurement"])
    await again.look(rule, START + 3 * MINUTE)
    fixed = replace(rule, query="bad[1m]")
    await judge(meter, fixed).look(fixed, START + MINUTE)

    asked = [each for each in meter.asked if each.role is analysis.Role.BUDGET]
    assert [(each.side, each.rule.interval, each.until) for each in asked] == [
        (V.PRIMARY, timedelta(days=30), START)
    ]
    assert len(meter.asked) == 5


async def test_an_earlier_release_is_asked_about_the_same_moment_of_its_analysis() -> None:
    meter, before = Meter(), START - timedelta(days=1)
    rule = replace(RULE, strategy=analysis.Strategy.PREVIOUS, expected=None)

    await judge(meter, rule, previous=before).look(rule, START + 3 * MINUTE)

    assert [(each.time, each.until) for each in meter.asked] == [
        (START + 3 * MINUTE, START + 3 * MINUTE),
        (START + 3 * MINUTE, before + 3 * MINUTE),
    ]


async def test_where_data_come_late_each_look_asks_about_an_earlier_interval() -> None:
    meter, before = Meter(), START - timedelta(days=1)
    rule = replace(RULE, delay=MINUTE)
    previous = replace(rule, strategy=analysis.Strategy.PREVIOUS, expected=None)

    await judge(meter, rule).look(rule, START + 3 * MINUTE)
    await judge(meter, previous, previous=before).look(previous, START + 3 * MINUTE)

    assert [(each.time, each.until) for each in meter.asked] == [
        (START + 3 * MINUTE, START + 2 * MINUTE),
        (START + 3 * MINUTE, START + 2 * MINUTE),
        (START + 3 * MINUTE, before + 2 * MINUTE),
    ]
    shown = [question.answer("q", (1.0,)).variant for question in meter.asked]
    assert shown == ["canary", "primary", "previous"]


async def test_with_nobody_to_compare_with_that_is_the_answer() -> None:
    report = stage_contexts.Report()
    rule = replace(RULE, strategy=analysis.Strategy.NOT_UPDATED, expected=None)

    await judge(None, rule, report=report).look(rule, START)

    assert report.findings[1][2]["message"] == "every cluster of the run has this release"


async def test_every_answer_is_reported_with_how_it_was_judged() -> None:
    report = stage_contexts.Report()
    rule = replace(RULE, strategy=analysis.Strategy.CANARY_PRIMARY, expected=None)

    check = await judge(None, rule, report=report).look(rule, START + MINUTE)

    (kind, name, own), (_, _, other) = report.findings
    assert (kind, name) == (findings.MEASUREMENT, "errors")
    assert (own["role"], own["result"], own["sentence"]) == (
        "judged",
        check.result.value,
        check.sentence,
    )
    assert other["role"] == "reference"
    assert "result" not in other


@pytest.mark.parametrize(
    ("meter", "message"),
    [
        (Meter(seconds=31), "no answer within 30 s"),
        (Meter({("us", JUDGED): "prom is away"}), "prom is away"),
    ],
)
async def test_what_goes_wrong_with_a_question_is_an_answer(meter: Meter, message: str) -> None:
    report = stage_contexts.Report()

    check = await judge(meter, report=report).look(RULE, START)

    assert check.result is analysis.Result.INCONCLUSIVE
    assert report.findings[0][2]["message"] == message
    assert now() == (30 if meter.seconds else 0)


async def test_all_rules_of_a_round_are_measured_at_once() -> None:
    meter = Meter(seconds=10)
    rules = (RULE, replace(RULE, name="latency"))

    looks = await judge(meter, *rules).round(START + MINUTE)

    assert list(looks) == ["errors", "latency"]
    assert now() == 10
    assert {each.time for each in meter.asked} == {START + MINUTE}


async def test_one_silent_neighbour_is_left_out_where_another_answers() -> None:
    rule = replace(RULE, strategy=analysis.Strategy.NOT_UPDATED, expected=None)
    silent = Meter({("asia", REFERENCE): None})
    made = judge(silent, rule, not_updated=("eu", "asia"))

    await made.look(rule, START)

    measured = made.series(rule).measurements
    assert [each.target for each in measured] == ["us", "eu"]

    silent.values = {("asia", REFERENCE): None, ("eu", REFERENCE): None}
    await made.look(rule, START + MINUTE)
    later = [each for each in made.series(rule).measurements if each.time > START]
    assert [each.target for each in later] == ["us", "eu", "asia"]


async def test_a_verdict_is_told_when_it_is_news() -> None:
    report, meter = stage_contexts.Report(), Meter()
    rule = replace(RULE, failure_limit=5, no_data=analysis.NoData.PASS)
    made = judge(meter, rule, report=report)

    async def after(minutes: int) -> analysis.Verdict:
        at = START + minutes * MINUTE
        await made.look(rule, at)
        return await made.verdict(rule, at, minutes)

    for minutes in (1, 2, 3):
        assert (await after(minutes)).result is analysis.Result.PASS
    told = [each for each in report.findings if each[0] == findings.VERDICT]
    assert len(told) == 1

    # A final one is told whenever it is asked for.
    assert (await after(10)).is_final
    assert (await after(11)).is_final
    told = [each for each in report.findings if each[0] == findings.VERDICT]
    assert [each[2]["isFinal"] for each in told] == [False, True, True]
    assert {each[1] for each in told} == {"errors"}


@pytest.mark.parametrize("decider", analysis.Decider)
async def test_a_verdict_that_stays_the_same_is_told_again_after_ten_looks(
    decider: analysis.Decider,
) -> None:
    report = stage_contexts.Report()
    made = judge(Meter(), replace(RULE, decider=decider), report=report)

    for number in range(1, 26):
        at = START + number * MINUTE / 10
        await made.look(RULE, at)
        await made.verdict(made.rules[0], at, number)

    told = [doc for kind, _, doc in report.findings if kind == findings.VERDICT]
    assert [doc["sentence"].split(" ")[5] for doc in told] == ["1", "11", "21"]
    await made.publish_unsaid()
    await made.publish_unsaid()
    told = [doc for kind, _, doc in report.findings if kind == findings.VERDICT]
    assert [doc["sentence"].split(" ")[5] for doc in told] == ["1", "11", "21", "25"]


async def test_what_all_say_is_only_shown_where_each_decides_by_itself() -> None:
    """It is worked out once for those that look in the same interval, and anew in the end."""
    rule = replace(RULE, decider=analysis.Decider.PER_CLUSTER, no_data=analysis.NoData.PASS)
    meeting, report, meter = rendezvouses.Rendezvous(), stage_contexts.Report(), Meter()
    made = [
        judge(meter, rule, target=target, rendezvous=meeting, report=report)
        for target in ("us", "eu")
    ]
    for one in made:
        meeting.join(one.context.target)

    async def told(one: cluster_judges.Judge, at: datetime, number: int) -> str:
        await one.look(rule, at)
        await one.verdict(rule, at, number)
        return str(report.findings[-1][2]["pooled"]["sentence"])

    us, eu = made
    first = START + MINUTE
    assert "errors on us" in await told(us, first, 1)
    later = await told(eu, first + MINUTE / 10, 1)
    assert "errors over 2 clusters" in later
    # Ten looks later, in which the others have seen more: all of it, and the same for both.
    newer = await told(us, first + 2 * MINUTE, 11)
    assert "errors over 2 clusters" in newer
    assert newer != later
    assert await told(eu, first + 2 * MINUTE + MINUTE / 10, 11) == newer
    assert "0 of 3 looks failed" in await told(us, PERIOD.ends, 12)
    meter.values = {("eu", JUDGED): 0.5}
    assert "1 of 3 looks failed" in await told(eu, PERIOD.ends, 12)


@pytest.mark.parametrize("decider", analysis.Decider)
async def test_a_rule_may_be_called_as_what_clusters_say_of_another(
    decider: analysis.Decider,
) -> None:
    names = ("errors", "errors 1", "errors judged", "errors pooled")
    rules = [replace(RULE, name=name, decider=decider) for name in names]
    meeting = rendezvouses.Rendezvous()
    made = [judge(Meter(), *rules, target=target, rendezvous=meeting) for target in ("us", "eu")]

    async def one(asked: cluster_judges.Judge) -> list[analysis.Result]:
        meeting.join(asked.context.target)
        at = START + MINUTE
        await asked.round(at)
        return [(await asked.verdict(rule, at, 1)).result for rule in rules]

    assert await asyncio.gather(*map(one, made)) == [[analysis.Result.PASS] * len(names)] * 2


async def test_a_first_deployment_has_nothing_to_be_compared_with() -> None:
    report = stage_contexts.Report()
    rule = replace(RULE, strategy=analysis.Strategy.PREVIOUS, expected=None, dry_run=True)

    verdict = await judge(None, rule, report=report).verdict(rule, START, 1)

    assert verdict == analysis.Verdict(
        analysis.Result.PASS,
        "errors on us: nothing to compare with, no analysis succeeded before",
        "errors",
        target="us",
        is_final=True,
        dry_run=True,
    )
    ((kind, name, document),) = report.findings
    assert (kind, name, document["isFinal"]) == (findings.VERDICT, "errors", True)


async def together(
    decider: analysis.Decider, values: Mapping[str, float], **late: float
) -> tuple[dict[str, analysis.Verdict], dict[str, stage_contexts.Report]]:
    meeting = rendezvouses.Rendezvous()
    rule = replace(RULE, decider=decider)
    reports = {target: stage_contexts.Report() for target in values}
    for target in values:
        meeting.join(target)

    async def one(target: str) -> analysis.Verdict:
        made = judge(
            Meter({(target, JUDGED): values[target]}),
            rule,
            target=target,
            rendezvous=meeting,
            report=reports[target],
        )
        await asyncio.sleep(late.get(target, 0))
        at = LoopClock().now() + MINUTE
        await made.look(rule, at)
        return await made.verdict(rule, at, 1)

    verdicts = await asyncio.gather(*map(one, values))
    return dict(zip(values, verdicts, strict=True)), reports


@pytest.mark.parametrize(
    ("decider", "results"),
    [
        (analysis.Decider.PER_CLUSTER, ["pass", "fail"]),
        (analysis.Decider.POOLED, ["fail", "fail"]),
        (analysis.Decider.BOTH, ["pass", "fail"]),
    ],
)
async def test_who_decides(decider: analysis.Decider, results: list[str]) -> None:
    verdicts, _ = await together(decider, {"us": 0.01, "eu": 0.5})
    assert [verdict.result.value for verdict in verdicts.values()] == results


async def test_clusters_that_look_a_moment_apart_are_judged_together() -> None:
    verdicts, reports = await together(analysis.Decider.POOLED, {"us": 0.01, "eu": 0.01}, eu=2)

    assert now() == 2
    assert {verdict.sentence for verdict in verdicts.values()} == {verdicts["us"].sentence}
    assert "errors over 2 clusters" in verdicts["us"].sentence
    assert reports["us"].warnings == []


async def test_a_cluster_that_is_late_is_waited_for_as_long_as_a_query_may_take() -> None:
    _, reports = await together(analysis.Decider.POOLED, {"us": 0.01, "eu": 0.01}, eu=100)

    assert reports["us"].warnings == ["errors: not every cluster was measured in time"]
    assert reports["eu"].warnings == []


async def test_alone_nobody_is_waited_for() -> None:
    _, reports = await together(analysis.Decider.PER_CLUSTER, {"us": 0.01, "eu": 0.01}, eu=100)
    assert reports["us"].warnings == []


async def test_what_was_measured_before_a_restart_is_known() -> None:
    report = stage_contexts.Report()
    before = judge(None, RULE, report=report)
    for minutes in (1, 2):
        await before.look(RULE, START + minutes * MINUTE)

    after = judge(None, RULE)
    after.restore(document for _, _, document in report.findings)

    assert after.series(RULE) == before.series(RULE)
    series = after.series(RULE)
    assert (series.started, series.ends, series.deadline, series.target) == (
        PERIOD.started,
        PERIOD.ends,
        PERIOD.deadline,
        "us",
    )


async def test_a_moment_that_is_looked_at_again_counts_once() -> None:
    """After a restart, or when the clock was set back."""
    report = stage_contexts.Report()
    before = judge(None, RULE, report=report)
    await before.look(RULE, START + MINUTE)
    found = [document for _, _, document in report.findings]

    after = judge(None, RULE, report=report)
    after.restore([*found, *found])
    await after.look(RULE, START + MINUTE)

    assert after.series(RULE) == before.series(RULE)
    assert len(report.findings) == 1
    await after.look(RULE, START + 2 * MINUTE)
    assert len(after.series(RULE).measurements) == 2


async def test_verdicts_over_clusters_depend_on_what_is_known() -> None:
    def series(*minutes: int) -> analysis.Series:
        measured = tuple(
            analysis.Measurement("errors", "q", START + each * MINUTE) for each in minutes
        )
        return analysis.Series(PERIOD.started, PERIOD.ends, PERIOD.deadline, "us", measured)

    basis, at = cluster_judges._basis, START + 2 * MINUTE
    assert basis({"us": series(1, 2)}, at) == {("us", 2, START, False, False)}
    assert basis({"us": series(1, 2, 3)}, at) == basis({"us": series(1, 2)}, at)
    assert basis({"us": series(1)}, PERIOD.ends) == {("us", 1, START, True, False)}
    assert basis({"us": series(1)}, PERIOD.deadline) == {("us", 1, START, True, True)}


async def opened(**given: Any) -> cluster_judges.Judge:
    async def source() -> list[manifest.Manifest]:
        return []

    known = {"target_source": source, "clock": LoopClock(), **given}
    http = (analysis.HttpCheck(replace(RULE, name="page"), "http://x"),)
    pods = known.pop("pods", ())
    options = waiting_stages.AnalysisOptions(MINUTE, (RULE,), http=http, pods=pods)
    return await cluster_judges.open_judge(stage_contexts.context(**known), PERIOD, options)


def unasked(name: str, strategy: str = "THRESHOLD") -> analysis.Rule:
    return analysis.Rule(name, built_in=name, strategy=analysis.Strategy[strategy])


PODS = (unasked("pod-restarts"), unasked("pod-memory-limit"), unasked("pod-cpu", "CANARY_PRIMARY"))


def cluster(*, serves: bool = False, stale: bool = False) -> memory_client.MemoryCluster:
    """A cluster with or without a metrics-server, or with one that is down."""
    made = memory_client.MemoryCluster()
    if serves:
        made.resources.append(memory_client.kind("metrics.k8s.io", "PodMetrics", "pods"))
    if stale:
        made.stale = ("metrics.k8s.io",)
    return made


@pytest.mark.parametrize(
    ("begun", "strategy"),
    [
        ((CANARY,), "CANARY_PRIMARY"),
        ((CANARY, BASELINE), "CANARY_BASELINE"),
        ((CANARY, BASELINE, BASELINE_CLEAN), "CANARY_PRIMARY"),
    ],
)
async def test_what_pods_use_is_compared_with_baseline_while_one_runs(
    begun: contexts.Stages, strategy: str
) -> None:
    made = await opened(client=cluster(serves=True).client, begun=begun, pods=PODS)

    strategies = {rule.name: rule.strategy.value for rule in made.rules[2:]}
    assert strategies == {
        "pod-restarts": "THRESHOLD",
        "pod-memory-limit": "THRESHOLD",
        "pod-cpu": strategy,
    }
    assert made.remarks == ()


async def test_a_cluster_without_a_metrics_server_is_not_asked_and_that_is_said() -> None:
    made = await opened(client=cluster().client, begun=(CANARY,), pods=PODS)

    assert [rule.name for rule in made.rules] == ["errors", "page", "pod-restarts"]
    assert made.remarks == ("pod-memory-limit, pod-cpu: not measured, as us has no metrics-server",)


async def test_a_metrics_server_that_is_down_may_come_back() -> None:
    made = await opened(client=cluster(stale=True).client, begun=(CANARY,), pods=PODS)

    assert len(made.rules) == 5
    assert made.remarks == ()


async def test_nothing_is_measured_of_pods_unasked_without_canary() -> None:
    made = await opened(client=cluster(serves=True).client, begun=(), pods=PODS)

    assert [rule.name for rule in made.rules] == ["errors", "page"]


async def test_a_judge_knows_its_stage() -> None:
    meeting = rendezvouses.Rendezvous()
    made = await opened(not_updated=("eu",), begun=(CANARY,), rendezvous=meeting)

    assert [rule.name for rule in made.rules] == ["errors", "page"]
    assert list(made.http) == ["page"]
    assert made.names.namespace == "default"
    assert made.previous is None
    assert (made.period, made.is_past) == (PERIOD, False)
    assert (made.context.not_updated, made.context.begun) == (("eu",), (CANARY,))
    assert made.context.rendezvous is meeting


async def test_a_service_that_is_rolled_out_is_measured_at_the_workloads_of_both_versions() -> None:
    def source(version: str) -> contexts.Loader:
        labels = {"version": version}
        bodies: list[json.JsonObject] = [
            {"kind": "Service", "metadata": {"name": "shop"}, "spec": {"selector": labels}},
            {
                "kind": "Deployment",
                "metadata": {"name": f"shop-{version}"},
                "spec": {"template": {"metadata": {"labels": labels}, "spec": {"a": 1}}},
            },
        ]

        async def load() -> list[manifest.Manifest]:
            return [manifest.Manifest({"apiVersion": "v1", **body}) for body in bodies]

        return load

    application = applications.Application(
        name="shop",
        workloads=(routing_options.ObjectReference("Service", "shop"),),
        service=routing_options.ObjectReference(name="shop"),
    )

    made = await opened(
        application=application, target_source=source("v2"), running_source=source("v1")
    )

    assert made.names.workloads == {V.PRIMARY: "shop-v1", V.CANARY: "shop-v2"}


@pytest.mark.parametrize(("begun", "name"), [((), "analysis"), ((GATE,), "analysis of the wave")])
async def test_the_last_successful_analysis_is_remembered_by_its_place(
    begun: tuple[pipelines.Stage, ...], name: str
) -> None:
    state = task_states.TaskState()
    earlier = datetime(2026, 1, 1, tzinfo=START.tzinfo)
    await state.keep(name, {"started": earlier.isoformat()})

    assert (await opened(begun=begun, task_state=state)).previous == earlier
    other = () if begun else (GATE,)
    assert (await opened(begun=other, task_state=state)).previous is None
