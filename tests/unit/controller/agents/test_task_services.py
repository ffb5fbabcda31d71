"""What agents are answered: about runs on their clusters, and about nothing else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import process_time
import store_fixtures
from volary.agents.tasks import meeting_values, services
from volary.analysis.metering import meters, query_names
from volary.controller import refusals
from volary.controller.agents import run_orders, signing_key, task_services
from volary.controller.persistence import redaction
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder, state
from volary.model import analysis, applications
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.stages import executor as stage_executor
from volary.stages.judgement import in_flight
from volary.stages.runtime import task_states
from volary.store import factory, records, stores

START = datetime(2026, 1, 1, tzinfo=UTC)
RULE = analysis.Rule("errors", provider="prom", query="errors")
STAGES = (
    pipelines.Stage(
        rollout_stages.CANARY_ROLLOUT.name,
        rollout_stages.CANARY_ROLLOUT.options(),
        beside=waiting_stages.AnalysisOptions(timedelta(0), metrics=(RULE,)),
    ),
)
RUN = run_builder.new_run(
    "run-1",
    run_builder.RunSpec("shop", "new", run_builder.one_group(("us", "eu")), STAGES, "old"),
    START,
)
ORIGIN = {"targets": ["us", "eu"]}
PLACE = task_states.TaskAttempt("run-1", RUN.stages[0].id, "us", 1)


class Meter:
    """Knows one number."""

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        return question.answer("errors", (0.5,))


@pytest.fixture
async def store() -> AsyncIterator[stores.Store]:
    async with factory.open_store("memory:", clock=store_fixtures.TurnedClock()) as made:
        await made.keep_transition(transitions.first_transition(RUN, ORIGIN, START), fence=None)
        yield made


@pytest.fixture
def answers(store: stores.Store, tmp_path: Path) -> task_services.TaskServices:
    key = signing_key.SigningKeyFile("", str(tmp_path))
    return task_services.TaskServices(
        store,
        store_fixtures.TurnedClock(),
        Meter(),
        redaction.SecretValues(["hunter2-is-secret"]),
        run_orders.ApartTasks(key.read),
    )


def logged(line: str, at: int = 0, target: str = "us") -> feed.TaskLogged:
    return feed.TaskLogged(
        at=START + timedelta(seconds=at),
        run="run-1",
        stage=PLACE.stage,
        stage_name="K8S_CANARY_ROLLOUT",
        target=target,
        attempt=1,
        level=executor.LogLevel.INFO,
        line=line,
    )


def asked(**changed: object) -> meters.Question:
    question = meters.Question(
        RULE,
        applications.Application("shop"),
        "us",
        query_names.Names(),
        variant.Variant.CANARY,
        analysis.Role.JUDGED,
        START,
        START,
    )
    return replace(question, **changed)


async def test_what_a_task_saves_it_finds_again(answers: task_services.TaskServices) -> None:
    await answers.save(["us"], PLACE, {"step": 1})
    await answers.keep(["us"], "run-1", "us", "analysis", {"started": "then"})

    assert await answers.load(["us"], PLACE) == {"step": 1}
    assert await answers.recall(["us"], "run-1", "us", "analysis") == {"started": "then"}


async def test_an_agent_is_answered_about_its_own_clusters_alone(
    answers: task_services.TaskServices, store: stores.Store
) -> None:
    await answers.save(["us"], PLACE, {"step": 1})
    await store.artifacts.keep(
        records.ArtifactRecord("a" * 64, "run-1", "us", "key", START), b"sealed", fence=None
    )
    assert await answers.artifact(["us"], "a" * 64, "us") == b"sealed"
    refused: list[Callable[[list[str]], Awaitable[object]]] = [
        lambda mine: answers.artifact(mine, "a" * 64, "us"),
        lambda mine: answers.artifact(mine, "a" * 64, "asia"),
        lambda mine: answers.load(mine, PLACE),
        lambda mine: answers.save(mine, PLACE, {"step": 2}),
        lambda mine: answers.found(mine, PLACE),
        lambda mine: answers.recall(mine, "run-1", "us", "analysis"),
        lambda mine: answers.keep(mine, "run-1", "us", "analysis", {}),
        lambda mine: answers.report(
            mine, services.Report("run-1", (logged("hello"),)), by="agent:x"
        ),
        lambda mine: answers.measure(mine, "run-1", asked()),
    ]
    for ask in refused:
        # One that has no run, and one of the run's other clusters but for what is not about one.
        with pytest.raises(refusals.NotFound):
            await ask(["asia"])

    for ask in refused[:8]:
        with pytest.raises(refusals.NotFound):
            await ask(["eu"])
    assert await answers.load(["us"], PLACE) == {"step": 1}
    assert await store.logs.after("run-1", 0) == ()


async def test_what_was_said_is_kept_once_and_without_secrets(
    answers: task_services.TaskServices, store: stores.Store
) -> None:
    lines = (logged("uses hunter2-is-secret"), logged("ready", 1), logged("ready", 2))
    first = services.Report("run-1", lines)
    # It is not known whether they were kept.
    second = services.Report("run-1", (*lines, logged("more", 3)), again=True)
    unknown = services.Report("run-7", lines)

    assert await answers.report_all(["us"], [first], by="agent:us") == [""]
    kept, refused = await answers.report_all(["us"], [second, unknown], by="agent:us")

    assert not kept
    assert "there is no run run-7" in refused

    texts = [line.text for line in await store.logs.after("run-1", 0)]
    assert texts == ["uses *****", "ready", "ready", "more"]


async def test_only_what_a_stage_of_the_run_asks_is_measured(
    answers: task_services.TaskServices,
) -> None:
    measured = await answers.measure(["us"], "run-1", asked())
    assert measured.values == (0.5,)

    for other in (
        asked(rule=replace(RULE, query="passwords")),
        asked(rule=replace(RULE, provider="other")),
        asked(application=applications.Application("bank")),
    ):
        with pytest.raises(refusals.Conflict, match="no stage of the run asks that"):
            await answers.measure(["us"], "run-1", other)


async def test_requests_under_way_are_told_where_a_run_removes_a_variant(
    answers: task_services.TaskServices, store: stores.Store
) -> None:
    name = rollout_stages.CANARY_CLEAN.name
    stages = (*STAGES, pipelines.Stage(name, rollout_stages.CANARY_CLEAN.options()))
    spec = run_builder.RunSpec("shop", "new", run_builder.one_group(("us",)), stages, "old")
    cleaning = run_builder.new_run("run-3", spec, START)
    await store.keep_transition(transitions.first_transition(cleaning, ORIGIN, START), fence=None)
    question = asked(rule=in_flight.rule_for("prom"))

    assert (await answers.measure(["us"], "run-3", question)).values == (0.5,)
    for run, other in (("run-1", question), ("run-3", asked(rule=in_flight.rule_for("other")))):
        with pytest.raises(refusals.Conflict, match="no stage of the run asks that"):
            await answers.measure(["us"], run, other)


async def test_one_that_is_refused_harms_no_others(answers: task_services.TaskServices) -> None:
    questions = [asked(), asked(rule=replace(RULE, query="passwords"))]

    measured, refused = await answers.measure_all(["us"], "run-1", questions)

    assert measured.values == (0.5,)
    assert "no stage of the run asks that" in refused.message
    assert refused.reading is analysis.Reading.ERROR


async def test_questions_travel_as_a_document() -> None:
    questions = [asked(), asked(target="eu")]

    again = services.read_questions(meeting_values.finite(services.write_questions(questions)))

    assert again == questions


async def test_a_run_that_has_ended_takes_no_more(
    answers: task_services.TaskServices, store: stores.Store
) -> None:
    ended = replace(RUN, id="run-2", finished=START, status=state.statuses.RunStatus.FAILED)
    await store.keep_transition(transitions.first_transition(ended, ORIGIN, START), fence=None)
    place = replace(PLACE, run="run-2")

    with pytest.raises(refusals.Conflict, match="run run-2 has ended"):
        await answers.save(["us"], place, {"step": 1})
    assert await answers.load(["us"], place) == {}


async def test_tasks_meet_where_the_run_is_open(answers: task_services.TaskServices) -> None:
    said = {"round": meeting_values.write(1), "bad": {"type": "pickle"}}
    meeting = services.Meeting("run-1", PLACE.stage, {"us": said})
    [elsewhere] = await answers.meet(["us"], [meeting])
    assert "not open in this server" in elsewhere.trouble
    assert not elsewhere.is_refused
    performer = stage_executor.ClusterExecutor(None, None, None, None)  # type: ignore[arg-type]
    answers.apart.open_runs["run-1"] = performer
    here = performer.rendezvous(PLACE.stage)
    here.join("eu")
    here.post("eu", "round", 2)

    [met] = await answers.meet(["us"], [meeting])

    assert set(met.members) == {"us", "eu"}
    heard = {word.target: meeting_values.read(word.value) for word in met.said}
    assert heard == {"us": 1, "eu": 2}
    for change in (
        {"left": ("us",)},
        {"listening": ("us",)},  # late: it has left
    ):
        await answers.meet(["us"], [services.Meeting("run-1", PLACE.stage, **change)])
    assert here.members == ("eu",)


@pytest.mark.parametrize("mine", [["asia"], ["eu"]])
async def test_nobody_speaks_or_listens_for_clusters_of_others(
    answers: task_services.TaskServices, mine: list[str]
) -> None:
    performer = stage_executor.ClusterExecutor(None, None, None, None)  # type: ignore[arg-type]
    answers.apart.open_runs["run-1"] = performer
    here = performer.rendezvous(PLACE.stage)
    here.join("us")
    changes = ({"said": {"us": {}}}, {"left": ("us",)}, {"listening": ("us",)}, {})
    asked = [services.Meeting("run-1", PLACE.stage, **change) for change in changes]

    met = await answers.meet(mine, asked, wait=process_time.HANG)

    assert all(one.trouble and not one.said and not one.members for one in met)
    assert here.members == ("us",)


async def test_only_what_was_not_heard_is_told(answers: task_services.TaskServices) -> None:
    performer = stage_executor.ClusterExecutor(None, None, None, None)  # type: ignore[arg-type]
    answers.apart.open_runs["run-1"] = performer
    here = performer.rendezvous(PLACE.stage)
    here.join("eu")
    here.post("eu", "round", 1)
    [met] = await answers.meet(["us"], [services.Meeting("run-1", PLACE.stage, {"us": {}})])
    asked = services.Meeting(
        "run-1", PLACE.stage, listening=("us",), place=met.place, seen=met.number
    )
    other = replace(asked, stage="another", place="", seen=0)

    here.post("us", "round", 7)  # is no news for us
    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        waiting = group.create_task(answers.meet(["us"], [asked], wait=process_time.HANG))
        await process_time.until(lambda: bool(here._listeners))
        here.post("eu", "round", 2)
    [news] = waiting.result()

    heard = {word.target: meeting_values.read(word.value) for word in news.said}
    assert heard == {"us": 7, "eu": 2}
    # Of a place that was never seen all is news.
    assert len(await answers.meet(["us"], [asked, other], wait=process_time.HANG)) == len("ab")
