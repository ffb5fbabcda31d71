"""Rounds of metric checks: what a stage may conclude from them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

import stage_contexts
from volary.analysis.metering import meters
from volary.model import analysis, json
from volary.stages.judgement import cluster_judges, findings, metric_checks
from volary.stages.runtime import execution, rendezvouses, task_states

MINUTE = timedelta(minutes=1)
LIMIT = analysis.Range(maximum=0.05)
RULE = analysis.Rule("errors", "prom", "q", interval=MINUTE, expected=LIMIT)
R, C = metric_checks.Result, analysis.Result
UNKNOWN = metric_checks.Finding(R.UNKNOWN, "no data")
EMPTY = analysis.Check(C.INCONCLUSIVE, "no data", stage_contexts.START, is_empty=True)
THIN = analysis.Check(C.INCONCLUSIVE, "too few", stage_contexts.START)


LoopClock = stage_contexts.LoopClock


@dataclass
class Meter:
    """Answers with the next of each metric's values; None: nothing."""

    values: Mapping[str, Sequence[float | None]]
    asked: dict[str, int] = field(default_factory=dict)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        name = question.rule.name
        number = self.asked[name] = self.asked.get(name, -1) + 1
        value = self.values[name][min(number, len(self.values[name]) - 1)]
        return question.answer("query", () if value is None else (value,))


@pytest.mark.parametrize(
    ("check", "no_data", "expected"),
    [
        (analysis.Check(C.PASS, "fine", stage_contexts.START), analysis.NoData.FAIL, R.PASSED),
        (analysis.Check(C.FAIL, "bad", stage_contexts.START), analysis.NoData.PASS, R.FAILED),
        (EMPTY, analysis.NoData.PASS, R.PASSED),
        (EMPTY, analysis.NoData.FAIL, R.FAILED),
        (EMPTY, analysis.NoData.HOLD, R.UNKNOWN),
        (THIN, analysis.NoData.PASS, R.UNKNOWN),
        (THIN, analysis.NoData.FAIL, R.UNKNOWN),
        (THIN, analysis.NoData.HOLD, R.UNKNOWN),
    ],
)
def test_what_a_look_means(
    check: analysis.Check, no_data: analysis.NoData, expected: metric_checks.Result
) -> None:
    finding = metric_checks.of_look(replace(RULE, no_data=no_data), check)

    reason = f"errors: {check.sentence}" if expected is not R.PASSED else ""
    assert finding == metric_checks.Finding(expected, reason)


@pytest.mark.looptime
async def test_not_being_able_to_judge_is_borne_for_a_while() -> None:
    limit = metric_checks.UnknownLimit(timedelta(seconds=60))

    assert limit.with_(UNKNOWN) == UNKNOWN
    await asyncio.sleep(59)
    assert limit.with_(UNKNOWN) == UNKNOWN
    await asyncio.sleep(1)
    assert limit.with_(UNKNOWN) == metric_checks.Finding(
        R.CONDEMNED, "no data; nothing could be judged for 60 seconds"
    )


@pytest.mark.looptime
@pytest.mark.parametrize("result", [R.PASSED, R.FAILED, R.CONDEMNED])
async def test_a_judgement_begins_the_patience_again(result: metric_checks.Result) -> None:
    limit, judged = metric_checks.UnknownLimit(timedelta(seconds=60)), metric_checks.Finding(result)

    for _ in range(3):
        assert limit.with_(UNKNOWN) == UNKNOWN
        await asyncio.sleep(40)
        assert limit.with_(judged) is judged
        await asyncio.sleep(40)
    assert limit.with_(UNKNOWN) == UNKNOWN


@pytest.mark.looptime
async def test_when_a_stage_began() -> None:
    earlier = stage_contexts.START - timedelta(hours=1)
    clock = LoopClock()

    assert metric_checks.start_time(earlier.isoformat(), clock) == earlier
    assert metric_checks.start_time("", clock) == stage_contexts.START
    assert metric_checks.start_time(None, clock) == stage_contexts.START
    assert metric_checks.start_time(7, clock) == stage_contexts.START


async def opened(
    meter: Meter, *rules: analysis.Rule, threshold: int = 1, **given: Any
) -> tuple[metric_checks.Checker, stage_contexts.Report]:
    report = stage_contexts.Report()
    context = stage_contexts.context(**{"meter": meter, "report": report, **given})
    work = execution.Work(context, asyncio.get_running_loop().time() + 10_000)
    checker = await metric_checks.open_checker(
        work, "default", rules, threshold=threshold, started=LoopClock().now()
    )
    return checker, report


async def rounds(checker: metric_checks.Checker, count: int) -> list[metric_checks.Finding]:
    found = []
    for _ in range(count):
        await asyncio.sleep(60)
        found.append(await checker())
    return found


@pytest.mark.looptime
async def test_a_stage_without_metrics_needs_nothing_to_measure_by() -> None:
    checker, _ = await opened(Meter({}))

    assert await checker() == metric_checks.PASSED


@pytest.mark.looptime
async def test_queries_are_about_the_applications_namespace() -> None:
    class Asked(Meter):
        async def measure(self, question: meters.Question) -> analysis.Measurement:
            namespaces.append(question.names.namespace)
            return await super().measure(question)

    namespaces: list[str] = []
    context = stage_contexts.context(meter=Asked({"errors": [0.01]}))
    work = execution.Work(context, asyncio.get_running_loop().time() + 10_000)
    checker = await metric_checks.open_checker(
        work, "web", (RULE,), threshold=1, started=LoopClock().now()
    )

    await rounds(checker, 1)

    assert namespaces == ["web"]


@pytest.mark.looptime
async def test_each_round_is_judged_by_its_newest_look() -> None:
    checker, _ = await opened(Meter({"errors": [0.01, 0.5, 0.01, None]}), RULE)

    found = await rounds(checker, 4)

    assert [finding.result for finding in found] == [R.PASSED, R.FAILED, R.PASSED, R.UNKNOWN]
    assert found[1].reason == "errors: 0.5 is outside the expected ≤ 0.05"


@pytest.mark.looptime
async def test_the_worst_metric_speaks_for_the_round() -> None:
    values = {"errors": [0.01], "latency": [0.5], "hits": [None]}
    rules = [replace(RULE, name=name) for name in values]

    found = await rounds((await opened(Meter(values), *rules))[0], 1)

    assert found[0].reason.startswith("latency:")


@pytest.mark.looptime
async def test_a_dry_run_decides_nothing_and_is_told() -> None:
    checker, report = await opened(Meter({"errors": [0.5]}), replace(RULE, dry_run=True))

    assert await rounds(checker, 2) == [metric_checks.PASSED] * 2
    assert {kind for kind, _, _ in report.findings} == {findings.MEASUREMENT, findings.VERDICT}


SEQUENTIAL = analysis.Rule(
    "errors",
    "prom",
    "q",
    total_query="t",
    interval=MINUTE,
    kind=analysis.Kind.PROPORTION,
    judgement=analysis.Judgement.SEQUENTIAL,
    expected=LIMIT,
)


@dataclass
class Counter:
    """Answers with events among a hundred; None: nothing."""

    events: Sequence[float | None]
    asked: int = -1

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked += 1
        events = self.events[min(self.asked, len(self.events) - 1)]
        if events is None:
            return question.nothing("query", "no data")
        return question.answer("query", (events,), (100.0,))


@pytest.mark.looptime
async def test_all_looks_together_condemn_and_there_is_nothing_to_wait_for() -> None:
    checker, _ = await opened(Counter([90.0]), SEQUENTIAL)  # type: ignore[arg-type]

    found = (await rounds(checker, 3))[-1]

    assert found.result is R.CONDEMNED
    assert "errors on us" in found.reason


@pytest.mark.looptime
async def test_all_looks_together_pass_once_they_can_show_something() -> None:
    enough = replace(SEQUENTIAL, minimum_samples=200)
    checker, _ = await opened(Counter([1.0]), enough)  # type: ignore[arg-type]

    found = await rounds(checker, 4)

    assert [finding.result for finding in found] == [R.UNKNOWN] * 2 + [R.PASSED] * 2
    assert "too little to pass: 100 of 200 samples" in found[0].reason


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("no_data", "expected"),
    [(analysis.NoData.PASS, R.PASSED), (analysis.NoData.HOLD, R.UNKNOWN)],
)
async def test_a_round_without_data_is_judged_by_itself(
    no_data: analysis.NoData, expected: metric_checks.Result
) -> None:
    rule = replace(SEQUENTIAL, no_data=no_data)
    checker, _ = await opened(Counter([1.0, 1.0, 1.0, None]), rule)  # type: ignore[arg-type]

    found = await rounds(checker, 4)

    assert [finding.result for finding in found][2:] == [R.PASSED, expected]


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("decider", "own", "other", "expected"),
    [
        (analysis.Decider.PER_CLUSTER, 0.5, 0.01, R.FAILED),
        (analysis.Decider.PER_CLUSTER, 0.01, 0.5, R.PASSED),
        (analysis.Decider.POOLED, 0.5, 0.5, R.FAILED),
        (analysis.Decider.POOLED, 0.06, 0.01, R.PASSED),
        (analysis.Decider.BOTH, 0.06, 0.01, R.FAILED),
        (analysis.Decider.BOTH, 0.01, 0.5, R.FAILED),
        (analysis.Decider.BOTH, 0.01, 0.01, R.PASSED),
    ],
)
async def test_who_decides_about_a_round(
    decider: analysis.Decider, own: float, other: float, expected: metric_checks.Result
) -> None:
    rule, meeting = replace(RULE, decider=decider), rendezvouses.Rendezvous()
    meeting.join("us")
    meeting.join("eu")
    us, _ = await opened(Meter({"errors": [own]}), rule, rendezvous=meeting)
    eu, _ = await opened(Meter({"errors": [other]}), rule, rendezvous=meeting, target="eu")

    found, _ = await asyncio.gather(rounds(us, 1), rounds(eu, 1))

    assert found[0].result is expected


class Reported(task_states.InProcessStore):
    """Knows what an earlier process reported."""

    def __init__(self, *documents: json.JsonObject) -> None:
        super().__init__()
        self.documents = documents

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        return self.documents


@pytest.mark.looptime
async def test_what_was_measured_before_a_restart_still_counts() -> None:
    question = meters.Question(
        rule=SEQUENTIAL,
        application=stage_contexts.context().application,
        target="us",
        names=cluster_judges.query_names.Names(),
        side=cluster_judges.variant.Variant.PRIMARY,
        role=analysis.Role.JUDGED,
        time=stage_contexts.START,
        until=stage_contexts.START,
    )
    before = findings.of_measurement(question.answer("query", (1.0,), (100.0,)), None)
    state = task_states.TaskState(keeper=Reported(before))
    enough = replace(SEQUENTIAL, minimum_samples=200)

    checker, _ = await opened(Counter([1.0]), enough, task_state=state)  # type: ignore[arg-type]

    assert [finding.result for finding in await rounds(checker, 2)] == [R.UNKNOWN, R.PASSED]


@pytest.mark.looptime
@pytest.mark.parametrize(("threshold", "allowed"), [(1, 0), (3, 2), (5, 4)])
async def test_no_metric_decides_before_the_threshold_of_rounds(
    threshold: int, allowed: int
) -> None:
    checker, report = await opened(Meter({"errors": [0.5]}), RULE, threshold=threshold)

    await rounds(checker, threshold + 1)

    verdicts = [doc["result"] for kind, _, doc in report.findings if kind == findings.VERDICT]
    assert verdicts[-1] == "fail"
    assert all(result != "fail" for result in verdicts[:-2])
    last = [doc["sentence"] for kind, _, doc in report.findings if kind == findings.VERDICT][-1]
    assert f"{allowed} allowed" in last
