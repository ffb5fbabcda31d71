"""The stage ANALYSIS in virtual time, against a meter that a test fills."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import stage_contexts
from volary.analysis.metering import meters
from volary.engine import executor
from volary.engine.runs import state
from volary.model import analysis, applications, json, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, waiting_stages
from volary.stages import registry
from volary.stages.judgement import findings
from volary.stages.kinds import analysis as kind_analysis
from volary.stages.runtime import contexts, execution, rendezvouses, task_states

BEGINNING = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LIMIT = analysis.Range(maximum=0.05)
RULE = analysis.Rule("errors", "prom", "q", interval=MINUTE, expected=LIMIT)
PASSED, FAILED, STOPPED = (
    statuses.TaskStatus.SUCCEEDED,
    statuses.TaskStatus.FAILED,
    statuses.TaskStatus.CANCELLED,
)


class LoopClock:
    """The time of the event loop."""

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())


Answer = Callable[[meters.Question], Sequence[float] | str]


@dataclass
class Meter:
    """Answers by a function: values, or words for what went wrong."""

    answer: Answer
    asked: list[meters.Question] = field(default_factory=list)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.append(question)
        await asyncio.sleep(0.5)
        answer = self.answer(question)
        if isinstance(answer, str):
            return question.failure(answer)
        return question.answer("query", tuple(answer))


@dataclass
class Report:
    lines: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    findings: list[tuple[str, str, json.JsonObject]] = field(default_factory=list)

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None:
        self.lines.append(line)

    def progress(self, progress: state.Progress) -> None:
        self.said.append(progress.sentence)

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        self.findings.append((kind, metric, document))

    def took_over(self, title: str, claimant: str) -> None: ...


class Keeper(task_states.InProcessStore):
    """A keeper that also knows what an earlier process reported."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[json.JsonObject] = []

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        return self.reported


class _Client:
    namespace = "shop"


async def nothing() -> list[manifest.Manifest]:
    return []


@dataclass
class World:
    answer: Answer = lambda _: [0.01]
    keeper: Keeper = field(default_factory=Keeper)
    rendezvous: rendezvouses.Rendezvous = field(default_factory=rendezvouses.Rendezvous)
    stop: executor.StopFlag = field(default_factory=executor.StopFlag)
    reports: dict[str, Report] = field(default_factory=dict)
    begun: tuple[pipelines.Stage, ...] = ()
    run_id: str = "run-1"

    def context(self, what: pipelines.Stage, target: str = "us") -> contexts.StageContext:
        self.meter = Meter(self.answer)
        self.reports[target] = Report()
        place = task_states.TaskAttempt(self.run_id, "2-ANALYSIS", target, 1)
        return stage_contexts.context(
            application=applications.Application(name="shop"),
            stage=what,
            target=target,
            client=_Client(),  # only its namespace is needed
            commit="new",
            target_source=nothing,
            report=self.reports[target],
            timeout=timedelta(hours=1),
            stop=self.stop,
            clock=LoopClock(),
            begun=self.begun,
            task_state=task_states.TaskState(place, "shop", self.keeper),
            meter=self.meter,
            rendezvous=self.rendezvous,
        )

    async def analyse(
        self, *rules: analysis.Rule, minutes: float = 3, target: str = "us", **more: Any
    ) -> statuses.Outcome:
        options = waiting_stages.AnalysisOptions(timedelta(minutes=minutes), rules, **more)
        what = pipelines.Stage(waiting_stages.ANALYSIS.name, options)
        return await registry.run(self.context(what, target))

    @property
    def report(self) -> Report:
        return self.reports["us"]


def seconds() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.looptime
async def test_good_numbers_pass_when_the_time_is_over() -> None:
    world = World()
    ended = await world.analyse(RULE)

    assert ended.status is PASSED
    assert ended.reason == "All analyses were successful: errors, 3 looks"
    assert seconds() == pytest.approx(180.5)
    assert [each.time for each in world.meter.asked] == [
        BEGINNING + number * MINUTE for number in (1, 2, 3)
    ], "the first look is one interval after the beginning"
    assert not ended.touched


@pytest.mark.looptime
async def test_more_failed_looks_than_allowed_fail_at_once() -> None:
    world = World(lambda question: [0.9 if question.time > BEGINNING + MINUTE else 0.0])
    ended = await world.analyse(replace(RULE, failure_limit=1), minutes=60)

    assert ended.status is FAILED
    assert ended.reason.startswith("errors on us: 2 of 3 looks failed, 1 allowed")
    assert seconds() == pytest.approx(180.5)


@pytest.mark.looptime
async def test_one_bad_metric_stops_the_others() -> None:
    world = World(lambda question: [1.0 if question.rule.name == "bad" else 0.0])
    bad = replace(RULE, name="bad")
    ended = await world.analyse(RULE, bad, minutes=30)

    assert ended.status is FAILED
    assert "bad on us" in ended.reason
    assert seconds() < 62


@pytest.mark.looptime
async def test_what_is_told_of_the_others_in_the_end_is_of_all_their_looks() -> None:
    late = BEGINNING + 7 * MINUTE

    def answer(question: meters.Question) -> Sequence[float]:
        return [1.0 if question.rule.name == "bad" and question.time >= late else 0.0]

    world = World(answer)
    ended = await world.analyse(RULE, replace(RULE, name="bad"), minutes=30)

    assert ended.status is FAILED
    told = [doc for _, name, doc in world.report.findings if name == "errors" and "result" in doc]
    last = [doc for doc in told if doc["sentence"].startswith("errors on us")][-1]
    assert last["sentence"].startswith("errors on us: 0 of 7 looks failed")
    assert last["result"] == "pass"
    assert not last["isFinal"]


@pytest.mark.looptime
async def test_a_metric_is_done_after_its_looks_and_the_others_go_on() -> None:
    world = World()
    soon = replace(RULE, name="soon", count=2)
    ended = await world.analyse(RULE, soon, minutes=5)

    assert ended.status is PASSED
    assert ended.reason == "All analyses were successful: errors, soon, 7 looks"
    asked = [each.time for each in world.meter.asked if each.rule.name == "soon"]
    assert asked == [BEGINNING + MINUTE, BEGINNING + 2 * MINUTE]


@pytest.mark.looptime
async def test_a_metric_waits_for_data_beyond_its_looks() -> None:
    late = BEGINNING + 4 * MINUTE
    world = World(lambda question: [0.01] if question.time >= late else [])
    ended = await world.analyse(replace(RULE, count=2), minutes=60)

    assert ended.status is PASSED
    assert seconds() < 301


@pytest.mark.looptime
async def test_a_provider_that_is_down_for_longer_than_allowed_fails_at_once() -> None:
    world = World(lambda _: "connection refused")
    ended = await world.analyse(replace(RULE, consecutive_error_limit=4), minutes=60)

    assert ended.status is FAILED
    assert ended.reason.startswith("errors on us: 5 looks in a row had no answer, 4 allowed")
    assert seconds() == pytest.approx(300.5)


USUAL = replace(
    RULE, expected=None, deviation=analysis.Deviation.HIGH, history=analysis.History(count=2)
)


def _is_of_before(question: meters.Question) -> bool:
    return question.role is analysis.Role.HISTORY


@pytest.mark.looptime
async def test_the_weeks_before_are_asked_once_about_primary_at_the_same_hour() -> None:
    world = World(lambda question: [10.0] if _is_of_before(question) else [11.0])
    ended = await world.analyse(USUAL)
    asked = [question for question in world.meter.asked if _is_of_before(question)]

    assert ended.status is PASSED
    assert [question.until for question in asked] == [
        BEGINNING + 3 * MINUTE - timedelta(days=days) for days in (7, 14)
    ]
    assert {question.window for question in asked} == {timedelta(hours=1)}
    assert {question.side for question in asked} == {variant.Variant.PRIMARY}
    assert all(question.is_earlier for question in asked)
    kept = [document["variant"] for kind, _, document in world.report.findings
            if kind == "measurement" and document["role"] == "history"]  # fmt: skip
    assert kept == ["7 days before", "14 days before"]


@pytest.mark.looptime
async def test_a_week_without_an_answer_is_asked_for_again_and_an_empty_one_is_not() -> None:
    def answer(question: meters.Question) -> Sequence[float] | str:
        if not _is_of_before(question):
            return [11.0]
        is_first = question.time == BEGINNING + MINUTE
        is_newest = question.until > BEGINNING - timedelta(days=8)
        return [] if is_newest else "down" if is_first else [10.0]

    world = World(answer)
    ended = await world.analyse(USUAL)

    assert ended.status is PASSED
    assert sum(map(_is_of_before, world.meter.asked)) == 3
    assert "10 is usual, by 1 of 2 times 7 days apart" in " ".join(ended.details)


@pytest.mark.looptime
async def test_what_was_usual_decides_after_a_restart_too() -> None:
    world = World(lambda question: [10.0] if _is_of_before(question) else [11.0])
    await world.analyse(USUAL, minutes=2)
    world.keeper.reported = [
        document for kind, _, document in world.report.findings if kind == "measurement"
    ]
    later = World(lambda _: [13.0], keeper=world.keeper)
    ended = await later.analyse(USUAL, minutes=60)

    assert ended.status is FAILED
    assert "13 is outside the expected ≤ 12" in ended.reason
    assert not any(map(_is_of_before, later.meter.asked))


SCORING = analysis.Scoring(analysis.ScoreThresholds(60, 40), {"errors": 70, "minor": 30})


@pytest.mark.looptime
async def test_a_score_lets_a_minor_metric_fail_and_says_so() -> None:
    world = World(lambda question: [1.0 if question.rule.name == "minor" else 0.0])
    ended = await world.analyse(RULE, replace(RULE, name="minor"), scoring=SCORING)

    assert ended.status is PASSED
    assert ended.reason == (
        "score on us: 70 of 100, 60 passes: errors 70 of 70; minor 0 of 30 (minor failed)"
    )
    assert any(line.startswith("fail: minor on us") for line in ended.details)
    documents = [(metric, document) for kind, metric, document in world.report.findings
                 if kind == "verdict"]  # fmt: skip
    assert all(document.get("isScored") for metric, document in documents if metric != "score")
    told = [document for metric, document in documents if metric == "score"]
    # Both metrics of a look change it, and each time it is kept.
    assert len({findings.key(1, "verdict", "score", each) for each in told}) == len(told) == 3
    assert {each["time"] for each in told[:2]} == {told[0]["time"]}
    newest = told[-1]
    assert newest["score"] == {
        "pass": 60,
        "marginal": 40,
        "parts": [
            {"group": "errors", "points": 70, "worth": 70},
            {"group": "minor", "points": 0, "worth": 30},
        ],
    }
    assert (newest["result"], newest["isFinal"], newest["numbers"]["value"]) == ("pass", True, 70)


@pytest.mark.looptime
async def test_a_score_that_is_too_low_fails_at_once() -> None:
    world = World(lambda question: [1.0 if question.rule.name == "errors" else 0.0])
    ended = await world.analyse(RULE, replace(RULE, name="minor"), minutes=30, scoring=SCORING)

    assert ended.status is FAILED
    assert ended.reason.startswith("score on us: at most 30 of 100 is below the marginal 40")
    assert seconds() < 62


@pytest.mark.looptime
async def test_a_marginal_score_fails_at_the_end() -> None:
    world = World(lambda question: [1.0 if question.rule.name == "minor" else 0.0])
    scoring = replace(SCORING, thresholds=analysis.ScoreThresholds(80, 40))
    ended = await world.analyse(RULE, replace(RULE, name="minor"), scoring=scoring)

    assert ended.status is FAILED
    assert ended.reason.startswith("score on us: 70 of 100 is marginal, 80 passes")
    assert seconds() == pytest.approx(180.5)


@pytest.mark.looptime
async def test_one_critical_metric_is_enough_whatever_the_score_is() -> None:
    world = World(lambda question: [1.0 if question.rule.name == "minor" else 0.0])
    minor = replace(RULE, name="minor", critical=True)
    ended = await world.analyse(RULE, minor, minutes=30, scoring=SCORING)

    assert ended.status is FAILED
    assert "score on us: 0 of 100, as minor is critical and failed: minor on us" in ended.reason
    assert seconds() < 62


@pytest.mark.looptime
async def test_a_dry_run_is_shown_and_decides_nothing() -> None:
    world = World(lambda question: [1.0 if question.rule.dry_run else 0.0])
    ended = await world.analyse(RULE, replace(RULE, name="tried", dry_run=True))

    assert ended.status is PASSED
    assert any(line.startswith("fail: tried") and "dry run" in line for line in ended.details)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("policy", "expected", "after"),
    [
        (analysis.NoData.HOLD, FAILED, 180 + 600),
        (analysis.NoData.FAIL, FAILED, 60.5),
        (analysis.NoData.PASS, PASSED, 180.5),
    ],
)
async def test_no_data_goes_by_the_policy(
    policy: analysis.NoData, expected: statuses.TaskStatus, after: float
) -> None:
    world = World(lambda _: [])
    ended = await world.analyse(replace(RULE, no_data=policy))

    assert ended.status is expected
    assert "no data" in ended.reason or "no data" in " ".join(ended.details)
    assert seconds() == pytest.approx(after, abs=1.5)


@pytest.mark.looptime
async def test_data_that_come_late_are_waited_for() -> None:
    late = BEGINNING + 5 * MINUTE
    world = World(lambda question: [0.01] if question.time >= late else "connection refused")
    ended = await world.analyse(RULE)

    assert ended.status is PASSED
    assert seconds() > 300
    assert any("waiting for data" in said for said in world.report.said)


@pytest.mark.looptime
async def test_a_provider_that_hangs_is_a_look_without_an_answer() -> None:
    world = World()
    world_answer = asyncio.Event()
    context = world.context(
        pipelines.Stage(
            waiting_stages.ANALYSIS.name,
            waiting_stages.AnalysisOptions(
                2 * MINUTE, (replace(RULE, timeout=timedelta(seconds=5)),)
            ),
        )
    )

    async def hang(_: meters.Question) -> analysis.Measurement:
        await world_answer.wait()
        raise AssertionError

    world.meter.measure = hang  # type: ignore[method-assign]
    ended = await registry.run(context)

    assert ended.status is FAILED
    assert "no answer within 5 s" in ended.reason


@pytest.mark.looptime
async def test_a_stop_ends_the_waiting_politely() -> None:
    world = World()

    async def stop() -> None:
        await asyncio.sleep(90)
        world.stop.raise_flag("cancelled by ana")

    ended, _ = await asyncio.gather(world.analyse(RULE, minutes=30), stop())

    assert ended.status is STOPPED
    assert "cancelled by ana" in ended.reason
    assert seconds() == pytest.approx(90)


@pytest.mark.looptime
async def test_both_sides_are_asked_about_the_same_moment() -> None:
    rule = replace(RULE, strategy=analysis.Strategy.CANARY_BASELINE, expected=None)
    world = World(lambda question: [1.0, 2.0, 3.0])
    ended = await world.analyse(rule)
    looks: dict[datetime, set[variant.Variant]] = {}
    for each in world.meter.asked:
        looks.setdefault(each.time, set()).add(each.side)

    assert ended.status is PASSED
    assert list(looks.values()) == [{variant.Variant.CANARY, variant.Variant.BASELINE}] * 3


@pytest.mark.looptime
async def test_previous_is_asked_at_the_same_age_of_the_last_analysis() -> None:
    rule = replace(RULE, strategy=analysis.Strategy.PREVIOUS, expected=None)
    world = World(lambda _: [1.0] * 8)
    first = await world.analyse(rule, minutes=2)
    asked_first = list(world.meter.asked)
    told_first = sum(kind == "verdict" for kind, _, _ in world.report.findings)
    world.run_id = "run-2"
    second = await world.analyse(rule, minutes=2)
    began = world.meter.asked[0].time - MINUTE
    earlier = [each for each in world.meter.asked if each.role is analysis.Role.REFERENCE]

    assert (first.status, second.status) == (PASSED, PASSED)
    assert "nothing to compare with" in " ".join(first.details)
    assert told_first == 1
    assert all(each.role is analysis.Role.JUDGED for each in asked_first)
    assert [each.until - BEGINNING for each in earlier] == [MINUTE, 2 * MINUTE]
    assert [each.time - began for each in earlier] == [MINUTE, 2 * MINUTE]


@pytest.mark.looptime
async def test_the_new_version_is_canary_while_one_runs() -> None:
    sides = {}
    names = (rollout_stages.CANARY_ROLLOUT.name, rollout_stages.CANARY_CLEAN.name)
    for count in (0, 1, 2):
        world = World(
            begun=tuple(pipelines.Stage(each, stage_kind.NoOptions()) for each in names[:count])
        )
        await world.analyse(RULE, minutes=1)
        sides[count] = world.meter.asked[0].side

    assert sides == {
        0: variant.Variant.PRIMARY,
        1: variant.Variant.CANARY,
        2: variant.Variant.PRIMARY,
    }


@pytest.mark.looptime
async def test_a_restart_goes_on_in_the_middle() -> None:
    """Two failed looks before the crash and one after it are three."""
    world = World(lambda _: [0.9])
    rule = replace(RULE, failure_limit=2)
    async with asyncio.TaskGroup() as group:
        before = group.create_task(world.analyse(rule, minutes=10))
        await asyncio.sleep(150)
        before.cancel()
    world.keeper.reported = [
        document for kind, _, document in world.report.findings if kind == "measurement"
    ]
    ended = await world.analyse(rule, minutes=10)

    assert ended.status is FAILED
    assert "3 of 3 looks failed" in ended.reason
    assert seconds() == pytest.approx(180.5), "it does not start over"
    assert any("going on with the analysis" in line for line in world.report.lines)


@pytest.mark.looptime
async def test_an_analysis_that_began_by_a_clock_that_was_ahead_takes_its_time_from_now() -> None:
    world = World()
    place = task_states.TaskAttempt(world.run_id, "2-ANALYSIS", "us", 1)
    ahead = LoopClock().now() + timedelta(hours=1)
    await world.keeper.save(place, {"started": ahead.isoformat()})

    ended = await world.analyse(RULE)

    assert ended.status is PASSED, ended.reason
    assert ended.reason == "All analyses were successful: errors, 3 looks"
    assert seconds() == pytest.approx(180, abs=1)


async def _on(world: World, *targets: str, rule: analysis.Rule) -> Mapping[str, statuses.Outcome]:
    ended = await asyncio.gather(*(world.analyse(rule, target=each) for each in targets))
    return dict(zip(targets, ended, strict=True))


@pytest.mark.looptime
async def test_clusters_go_by_their_own_verdicts() -> None:
    world = World(lambda question: [0.9 if question.target == "eu" else 0.0])
    ended = await _on(world, "us", "eu", "asia", rule=RULE)

    assert {name: each.status for name, each in ended.items()} == {
        "us": PASSED,
        "eu": FAILED,
        "asia": PASSED,
    }


@pytest.mark.looptime
async def test_pooled_goes_over_one_bad_cluster_and_names_it() -> None:
    world = World(lambda question: [0.9 if question.target == "eu" else 0.0])
    rule = replace(RULE, decider=analysis.Decider.POOLED, failure_limit=1)
    ended = await _on(world, "us", "eu", "asia", "africa", "mars", rule=rule)

    assert {each.status for each in ended.values()} == {PASSED}
    assert all("eu differs from the other clusters" in " ".join(e.details) for e in ended.values())


@pytest.mark.looptime
async def test_pooled_fails_everywhere_when_most_are_bad() -> None:
    world = World(lambda question: [0.0 if question.target == "eu" else 0.9])
    rule = replace(RULE, decider=analysis.Decider.POOLED)
    ended = await _on(world, "us", "eu", "asia", rule=rule)

    assert {each.status for each in ended.values()} == {FAILED}


@pytest.mark.looptime
async def test_every_measurement_is_reported_with_query_value_and_judgement() -> None:
    world = World(lambda question: [0.9 if question.time > BEGINNING + 2 * MINUTE else 0.0])
    await world.analyse(RULE)
    found = [document for kind, _, document in world.report.findings if kind == "measurement"]
    verdicts = [document for kind, _, document in world.report.findings if kind == "verdict"]

    assert [(each["values"], each["result"]) for each in found] == [
        ([0.0], "pass"),
        ([0.0], "pass"),
        ([0.9], "fail"),
    ]
    assert {each["query"] for each in found} == {"query"}
    assert verdicts[-1]["result"] == "fail"
    assert verdicts[-1]["isFinal"] is True


# Beside another stage.


def _waiting(minutes: float, *rules: analysis.Rule) -> pipelines.Stage:
    beside = waiting_stages.AnalysisOptions(timedelta(0), rules)
    options = waiting_stages.WaitOptions(timedelta(minutes=minutes))
    return pipelines.Stage(waiting_stages.WAIT.name, options, beside=beside)


@pytest.mark.looptime
async def test_a_stage_ends_when_what_is_measured_beside_it_fails() -> None:
    world = World(lambda question: [0.9 if question.time > BEGINNING + MINUTE else 0.0])
    ended = await registry.run(world.context(_waiting(30, RULE)))

    assert ended.status is FAILED
    assert ended.reason.startswith("Analysis failed: errors on us: 1 of 2 looks failed")
    assert seconds() == pytest.approx(120.5)


@pytest.mark.looptime
async def test_a_stage_is_not_held_up_by_what_is_measured_beside_it() -> None:
    world = World(lambda _: [])
    slow = replace(RULE, name="slow", interval=timedelta(hours=1))
    ended = await registry.run(world.context(_waiting(5, RULE, slow)))

    assert ended.status is PASSED
    assert seconds() == pytest.approx(300)
    assert "slow was not measured before the stage ended" in ended.details


@pytest.mark.looptime
async def test_what_is_measured_beside_a_stage_is_done_after_its_looks() -> None:
    world = World()
    ended = await registry.run(world.context(_waiting(10, replace(RULE, count=2))))

    assert ended.status is PASSED
    assert seconds() == pytest.approx(600)
    assert len(world.meter.asked) == 2
    assert any(line.startswith("pass: errors on us: 0 of 2 looks failed") for line in ended.details)


@pytest.mark.looptime
async def test_a_stop_reaches_the_stage_inside() -> None:
    world = World()

    async def stop() -> None:
        await asyncio.sleep(30)
        world.stop.raise_flag("cancelled by ana")

    ended, _ = await asyncio.gather(registry.run(world.context(_waiting(30, RULE))), stop())

    assert ended.status is STOPPED
    assert "cancelled by ana" in ended.reason


@pytest.mark.looptime
async def test_clusters_that_begin_a_moment_apart_end_together() -> None:
    """Who began first has the last look of the others too, and need not wait for a further one."""
    world = World()
    rule = replace(RULE, decider=analysis.Decider.POOLED)

    async def late() -> statuses.Outcome:
        await asyncio.sleep(0.004)
        return await world.analyse(rule, target="eu", minutes=4)

    us, eu = await asyncio.gather(world.analyse(rule, minutes=4), late())

    assert (us.status, eu.status) == (PASSED, PASSED)
    assert us.reason == eu.reason == "All analyses were successful: errors, 4 looks"
    assert seconds() < 242


@pytest.mark.parametrize("result", analysis.Result)
async def test_whatever_is_no_pass_is_logged_as_a_warning(result: analysis.Result) -> None:
    report = stage_contexts.Report()
    work = execution.Work(stage_contexts.context(report=report), 0)

    kind_analysis.note(work, analysis.Verdict(result, "errors on us", "errors", dry_run=True))

    line = f"{result.value}: errors on us (dry run, decides nothing)"
    is_pass = result is analysis.Result.PASS
    assert work.lines == [line]
    assert (report.lines, report.warnings) == (([line], []) if is_pass else ([], [line]))
