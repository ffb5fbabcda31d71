"""What a script is given, who runs it, and what its end means; no script is run here."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import stage_contexts
from volary.concurrency import single_flight
from volary.model import applications, errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import external_stages, stage_kind, waiting_stages
from volary.stages import processes
from volary.stages.kinds import script_run
from volary.stages.runtime import contexts, execution

FLEET, CLUSTER = stage_kind.Scope.FLEET, stage_kind.Scope.CLUSTER
TASK = {
    "run_id": stage_contexts.RUN_ID,
    "stage_id": "2-SCRIPT_RUN",
    "created": stage_contexts.START,
}
RUN = contexts.RunEnvironment("ana", "github.com/shop", "a new version")


def options(**given: Any) -> external_stages.ScriptOptions:
    return external_stages.ScriptOptions(**{"run": "echo hi", **given})


def environment(
    chosen: external_stages.ScriptOptions, *, undone: pipelines.Stage | None = None, **given: Any
) -> dict[str, str]:
    context = stage_contexts.context(**{**TASK, "run": RUN, "commit": "abc", **given})
    return script_run.environment(context, chosen, undone=undone)


def test_a_script_knows_its_run_by_pipecds_variables() -> None:
    app = applications.Application(name="shop", labels={"team": "a", "b=c": "x"})

    given = environment(options(env={"MORE": "1"}), application=app)

    whole = json.loads(given.pop("SR_CONTEXT_RAW"))
    seconds = str(int(stage_contexts.START.timestamp()))
    assert given == {
        "SR_DEPLOYMENT_ID": stage_contexts.RUN_ID,
        "SR_APPLICATION_ID": "shop",
        "SR_APPLICATION_NAME": "shop",
        "SR_TRIGGERED_AT": seconds,
        "SR_TRIGGERED_COMMIT_HASH": "abc",
        "SR_TRIGGERED_COMMANDER": "ana",
        "SR_REPOSITORY_URL": "github.com/shop",
        "SR_SUMMARY": "a new version",
        "SR_IS_ROLLBACK": "false",
        "SR_LABELS_TEAM": "a",
        "VOLARY_ATTEMPT": f"{stage_contexts.RUN_ID}/2-SCRIPT_RUN//1",
        "MORE": "1",
    }
    assert whole == {
        "deploymentID": stage_contexts.RUN_ID,
        "applicationID": "shop",
        "applicationName": "shop",
        "triggeredAt": int(seconds),
        "triggeredCommitHash": "abc",
        "triggeredCommander": "ana",
        "repositoryURL": "github.com/shop",
        "summary": "a new version",
        "labels": {"team": "a", "b=c": "x"},
    }


def test_a_rollback_says_so_and_what_is_not_known_is_left_out() -> None:
    stage = pipelines.Stage(external_stages.SCRIPT_RUN.name, options(), index=4)
    given = environment(options(), undone=stage, created=None, run=contexts.RunEnvironment())

    assert (given["SR_IS_ROLLBACK"], given["SR_TRIGGERED_AT"]) == ("true", "")
    assert given["VOLARY_ATTEMPT"] == f"{stage_contexts.RUN_ID}/2-SCRIPT_RUN//1/5"
    assert set(json.loads(given["SR_CONTEXT_RAW"])) == {
        "deploymentID",
        "applicationID",
        "applicationName",
        "triggeredCommitHash",
        "isRollback",
    }


def test_only_a_script_of_one_cluster_knows_which() -> None:
    assert environment(options(scope=CLUSTER))["VOLARY_CLUSTER"] == "us"
    assert "VOLARY_CLUSTER" not in environment(options(scope=FLEET))


def test_an_attempt_has_a_name_that_a_later_process_gives_it_too() -> None:
    own = environment(options(scope=CLUSTER))["VOLARY_ATTEMPT"]

    assert own == f"{stage_contexts.RUN_ID}/2-SCRIPT_RUN/us/1"
    assert environment(options(scope=CLUSTER))["VOLARY_ATTEMPT"] == own
    again = environment(options(scope=CLUSTER), attempt=2)["VOLARY_ATTEMPT"]
    assert again == f"{stage_contexts.RUN_ID}/2-SCRIPT_RUN/us/2"
    whole = [environment(options(scope=FLEET), target=name) for name in ("us", "eu")]
    assert whole[0]["VOLARY_ATTEMPT"] == whole[1]["VOLARY_ATTEMPT"]


def test_a_process_can_be_given_every_variable() -> None:
    run = contexts.RunEnvironment(summary="a\x00b")
    assert environment(options(), run=run)["SR_SUMMARY"] == "ab"


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        (processes.End.EXITED, 0, ""),
        (processes.End.EXITED, 3, "the script ended with status 3"),
        (processes.End.EXITED, -9, "the script was ended by signal 9"),
        (processes.End.LATE, 0, "the script did not end in time and was ended"),
        (processes.End.LATE, -15, "the script did not end in time and was ended"),
    ],
)
def test_what_became_of_a_script(end: processes.End, code: int, said: str) -> None:
    ended = processes.Ended(end, code)
    if not said:
        assert script_run._judge(ended) == "the script succeeded"
        return
    with pytest.raises(execution.StageFailedError, match=rf"^{said}$"):
        script_run._judge(ended)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The file into which the scripts of a test write what they know."""
    return tmp_path / "ran"


class Machine:
    """Real scripts, which write a line into a file, and may end as a test asks for."""

    def __init__(self, ran: Path) -> None:
        self._ran = ran
        self._once = single_flight.SingleFlight()

    def script(self, name: str, end: str = "") -> str:
        return f'echo "{name} $SR_IS_ROLLBACK $VOLARY_TASK" >> {self._ran}; echo output; {end}'

    @property
    def lines(self) -> list[list[str]]:
        """What ran: its name, whether it is a rollback, and its mark."""
        text = self._ran.read_text() if self._ran.exists() else ""
        return [line.split(" ", 2) for line in text.splitlines()]

    @property
    def names(self) -> list[str]:
        return [line[0] for line in self.lines]

    @contextlib.asynccontextmanager
    async def checkout(self, commit: str) -> AsyncIterator[contexts.Workspace]:
        place = self._ran.parent / commit
        place.mkdir(exist_ok=True)
        yield contexts.Workspace(self._ran.parent, place)

    def work(self, target: str = "us", **given: Any) -> execution.Work:
        known: dict[str, Any] = {
            "target": target,
            **TASK,
            "run": replace(RUN, checkout=self.checkout),
            "report": stage_contexts.Report(),
            "once": self._once,
        }
        context = stage_contexts.context(**{**known, **given})
        return execution.Work(context, asyncio.get_running_loop().time() + 100)


@pytest.fixture
def machine(ran: Path) -> Machine:
    return Machine(ran)


async def test_a_script_of_each_cluster_runs_in_a_workspace_of_its_commit(
    machine: Machine,
) -> None:
    made = machine.work()

    said = await script_run.run(made, options(run=machine.script("x", "pwd"), scope=CLUSTER))

    assert said == "the script succeeded"
    assert made.touched
    report = cast("stage_contexts.Report", made.context.report)
    assert report.lines[0] == "output"
    assert report.lines[1].endswith("/new")
    ((_, is_rollback, mark),) = machine.lines
    assert is_rollback == "false"
    assert mark.startswith(f"{stage_contexts.RUN_ID} 2-SCRIPT_RUN us ")


async def test_a_script_of_the_fleet_runs_once(machine: Machine) -> None:
    chosen = options(run=machine.script("x"))
    us, eu = machine.work("us"), machine.work("eu")

    said = await asyncio.gather(script_run.run(us, chosen), script_run.run(eu, chosen))
    later = await script_run.run(machine.work("asia"), chosen)

    assert said == [
        "the script succeeded",
        "the script succeeded; it was run for all clusters, its output is in the log of us",
    ]
    assert later == said[1]
    assert us.touched
    assert eu.touched
    ((name, _, mark),) = machine.lines
    assert name == "x"
    assert mark.startswith(f"{stage_contexts.RUN_ID} 2-SCRIPT_RUN  ")


async def test_a_script_of_the_fleet_that_fails_is_tried_again(machine: Machine) -> None:
    """By the next cluster that comes; who waited meanwhile goes by the failure."""
    with pytest.raises(execution.StageFailedError, match="status 1"):
        await script_run.run(machine.work("us"), options(run=machine.script("x", "exit 1")))

    said = await script_run.run(machine.work("eu"), options(run=machine.script("x")))

    assert said == "the script succeeded"
    assert machine.names == ["x", "x"]


async def test_one_that_ran_before_a_restart_does_not_run_again(machine: Machine) -> None:
    made = machine.work(succeeded_on="eu")

    said = await script_run.run(made, options(run=machine.script("x")))

    assert said == "the script was run once for all clusters, for eu"
    assert (machine.names, made.touched) == ([], False)


@pytest.mark.parametrize(
    "given",
    [
        {"options": contexts.Options(permissions=contexts.Permissions(scripts=False))},
        {"run": RUN},
    ],
    ids=["forbidden", "no files"],
)
async def test_a_script_runs_only_where_that_is_allowed(
    machine: Machine, given: dict[str, Any]
) -> None:
    made = machine.work(**given)
    with pytest.raises(execution.StageFailedError, match="scripts are not allowed here"):
        await script_run.run(made, options(run=machine.script("x"), scope=CLUSTER))
    assert (machine.names, made.touched) == ([], False)


async def test_one_that_is_stopped_says_so(machine: Machine, ran: Path) -> None:
    made = machine.work()
    chosen = options(run=machine.script("x", "exec sleep 600"), scope=CLUSTER)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(_error_of(script_run.run(made, chosen)))
        while not ran.exists():  # noqa: ASYNC110 # another process makes it
            await asyncio.sleep(0.01)
        made.context.task.stop.raise_flag("by ana")

    assert isinstance(task.result(), execution.StoppedError)
    assert str(task.result()) == "by ana; the script was ended"


async def _error_of(running: Awaitable[object]) -> BaseException | None:
    try:
        await running
    except errors.VolaryError as error:
        return error
    return None


async def test_a_stage_that_was_stopped_runs_none(machine: Machine) -> None:
    made = machine.work()
    made.context.task.stop.raise_flag("by ana")
    with pytest.raises(execution.StoppedError):
        await script_run.run(made, options(run=machine.script("x"), scope=CLUSTER))
    assert machine.names == []


async def test_who_waits_for_another_cluster_can_be_stopped(machine: Machine, ran: Path) -> None:
    go_on = ran.parent / "go-on"
    wait = f"while [ ! -e {go_on} ]; do sleep 0.05; done"
    chosen = options(run=machine.script("x", wait))
    us, eu = machine.work("us"), machine.work("eu")

    async with asyncio.TaskGroup() as group:
        first = group.create_task(script_run.run(us, chosen))
        while not ran.exists():  # noqa: ASYNC110 # another process makes it
            await asyncio.sleep(0.01)
        second = group.create_task(_error_of(script_run.run(eu, chosen)))
        eu.context.task.stop.raise_flag("by ana")
        assert isinstance(await second, execution.StoppedError)
        go_on.touch()

    assert first.result() == "the script succeeded"


def stages(*undoing: str, scope: stage_kind.Scope) -> tuple[pipelines.Stage, ...]:
    kind = external_stages.SCRIPT_RUN.name
    return tuple(
        replace(pipelines.Stage(kind, options(on_rollback=text, scope=scope)), index=index)
        for index, text in enumerate(undoing)
    )


async def test_scripts_are_undone_from_the_last_to_the_first(machine: Machine) -> None:
    first, second = machine.script("first"), machine.script("second", "exit 2")
    wait = pipelines.Stage(
        waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(seconds=1))
    )
    made = machine.work()

    problems = await script_run.undo(made, (*stages(first, "", second, scope=CLUSTER), wait))

    assert machine.names == ["second", "first"]
    assert problems == ["onRollback of stage 3: the script ended with status 2"]
    assert made.lines == [*problems, "the script succeeded"]
    assert cast("stage_contexts.Report", made.context.report).warnings == problems
    assert {line[1] for line in machine.lines} == {"true"}
    marks = {line[2] for line in machine.lines}
    assert len(marks) == 2, "what is left of one is not taken for the other"


async def test_scripts_of_the_fleet_are_each_undone_once(machine: Machine) -> None:
    begun = stages(machine.script("first"), machine.script("second"), scope=FLEET)

    for target in ("us", "eu"):
        assert await script_run.undo(machine.work(target), begun) == []

    assert machine.names == ["second", "first"]
