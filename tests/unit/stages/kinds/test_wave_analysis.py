"""The analysis at the end of a wave: its clusters against those without the release."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

import stage_contexts
from volary.analysis.metering import meters
from volary.engine import executor
from volary.engine.runs import state
from volary.model import analysis, applications, json, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, waiting_stages
from volary.stages import registry
from volary.stages.runtime import contexts, rendezvouses

BEGINNING = datetime(2030, 1, 1, 12, tzinfo=UTC)
GATE = pipelines.Stage(added_stages.WAVE_GATE.name, added_stages.WaveGateOptions())
#: 60 answers in 6 minutes; "rate" of errors per look, of 1,000 requests.
RULE = analysis.Rule(
    "errors",
    "prom",
    "q",
    total_query="t",
    kind=analysis.Kind.PROPORTION,
    interval=timedelta(minutes=1),
    strategy=analysis.Strategy.NOT_UPDATED,
    deviation=analysis.Deviation.HIGH,
    judgement=analysis.Judgement.SEQUENTIAL,
)


class _Clock:
    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass
class _Meter:
    """Errors of 1,000 requests, by cluster; a cluster that is not there says nothing."""

    errors: Mapping[str, float]
    asked: set[tuple[str, str]] = field(default_factory=set)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.add((question.target, question.side.value))
        if question.target not in self.errors:
            return question.nothing("q", "no data")
        return question.answer("q", (self.errors[question.target],), (1_000.0,))


class _Report:
    def __init__(self) -> None:
        self.findings: list[json.JsonObject] = []

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None: ...

    def progress(self, progress: state.Progress) -> None: ...

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        self.findings.append(document)

    def took_over(self, title: str, claimant: str) -> None: ...


class _Client:
    namespace = "shop"


async def _nothing() -> list[manifest.Manifest]:
    return []


async def judged(
    errors: Mapping[str, float],
    wave: Mapping[str, tuple[str, ...]],
    rule: analysis.Rule = RULE,
) -> tuple[dict[str, statuses.Outcome], _Meter, _Report]:
    """When the clusters of a wave are judged together, each beside its others."""
    meter, report, rendezvous = _Meter(errors), _Report(), rendezvouses.Rendezvous()
    what = pipelines.Stage(
        waiting_stages.ANALYSIS.name, waiting_stages.AnalysisOptions(timedelta(minutes=6), (rule,))
    )
    for target in wave:
        rendezvous.join(target)

    def context(target: str) -> contexts.StageContext:
        return stage_contexts.context(
            application=applications.Application(name="shop"),
            stage=what,
            target=target,
            client=_Client(),  # only its namespace is needed
            commit="new",
            target_source=_nothing,
            report=report,
            timeout=timedelta(hours=1),
            clock=_Clock(),
            begun=(GATE,),
            not_updated=wave[target],
            meter=meter,
            rendezvous=rendezvous,
        )

    async def one(target: str) -> statuses.Outcome:
        try:
            return await registry.run(context(target))
        finally:
            rendezvous.leave(target)

    ended = await asyncio.gather(*map(one, wave))
    return dict(zip(wave, ended, strict=True)), meter, report


@pytest.mark.looptime
async def test_a_worse_release_is_seen_against_clusters_that_do_not_have_it() -> None:
    errors = {"us": 60.0, "eu": 10.0, "asia": 12.0}
    ended, meter, report = await judged(errors, {"us": ("eu", "asia")})

    assert ended["us"].status is statuses.TaskStatus.FAILED
    assert "updated has 6.0 %" in ended["us"].reason
    assert "not updated 1.1 %" in ended["us"].reason
    assert meter.asked == {("us", "primary"), ("eu", "primary"), ("asia", "primary")}
    shown = {(each["target"], each["variant"]) for each in report.findings if "variant" in each}
    assert shown == {("us", "updated"), ("eu", "not updated"), ("asia", "not updated")}


@pytest.mark.looptime
async def test_a_release_like_the_one_before_passes_and_one_silent_neighbour_is_no_matter() -> None:
    ended, _, _ = await judged({"us": 10.0, "eu": 10.0}, {"us": ("eu", "asia")})
    assert ended["us"].status is statuses.TaskStatus.SUCCEEDED


@pytest.mark.looptime
async def test_with_nobody_to_compare_with_silence_is_not_consent() -> None:
    for others in ((), ("asia",)):
        ended, _, _ = await judged({"us": 10.0}, {"us": others})
        assert ended["us"].status is statuses.TaskStatus.FAILED
    assert "not updated: no data" in ended["us"].reason


@pytest.mark.looptime
async def test_the_clusters_of_a_wave_are_judged_together_and_the_outlier_is_named() -> None:
    pooled = replace(RULE, decider=analysis.Decider.POOLED)
    errors = {"us": 10.0, "eu": 200.0, "asia": 10.0, "a": 10.0, "b": 10.0, "c": 10.0}
    wave = {"us": ("a",), "eu": ("b",), "asia": ("c",)}
    ended, _, _ = await judged(errors, wave, pooled)
    assert {each.status for each in ended.values()} == {statuses.TaskStatus.FAILED}
    assert all("eu differs from the other clusters" in each.reason for each in ended.values())
    assert all(each.refused for each in ended.values()), "said of the release, not of a cluster"


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("decider", "refused"),
    [
        (analysis.Decider.POOLED, True),
        (analysis.Decider.BOTH, False),
        (analysis.Decider.PER_CLUSTER, False),
    ],
)
async def test_a_verdict_over_all_clusters_is_a_refusal_also_where_one_is_all(
    decider: analysis.Decider, refused: bool
) -> None:
    rule = replace(RULE, decider=decider)
    ended, _, _ = await judged({"us": 200.0, "eu": 10.0}, {"us": ("eu",)}, rule)
    assert ended["us"].status is statuses.TaskStatus.FAILED
    assert ended["us"].refused is refused


@pytest.mark.looptime
async def test_a_threshold_is_held_on_primary_whatever_canary_was() -> None:
    limit = analysis.Rule(
        "errors", "prom", "q", interval=RULE.interval, expected=analysis.Range(maximum=20.0)
    )
    ended, meter, _ = await judged({"us": 10.0}, {"us": ("eu",)}, limit)
    assert ended["us"].status is statuses.TaskStatus.SUCCEEDED
    assert meter.asked == {("us", "primary")}
