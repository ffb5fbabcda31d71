"""What a person asks of a run names the run, the stage and the group they saw."""

import contextlib
import os
import pty
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import server_world
from volary.cli.remote import client, commands, login
from volary.controller.status import application_statuses, run_origins
from volary.engine.persistence import transitions
from volary.engine.runs import policies, run_builder
from volary.engine.state_machine import events, machine
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages

GATE, SYNC = "1-WAIT_APPROVAL", "1-K8S_SYNC"
#: What the server says of every request in this world: it was sent.
#: Nobody has taken the run up, or nobody knows its application yet.
SENT = ("run r1 is not carried out yet", "no process carries out this run")
NOT_SENT = "nothing is sent: say which run and stage you approve"


def one_gate() -> run_builder.RunSpec:
    options = waiting_stages.ApprovalOptions(("token:ana",))
    stage = pipelines.Stage(waiting_stages.WAIT_APPROVAL.name, options)
    return run_builder.RunSpec("web", "c0ffee", run_builder.one_group(("us",)), (stage,))


def group_by_group() -> run_builder.RunSpec:
    stage = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    group = run_builder.Group(
        ("us",), "eu 1", approval=policies.ApprovalRule(approvers=("token:ana",))
    )
    return run_builder.RunSpec("web", "c0ffee", (group,), (stage,))


@dataclass
class Asking:
    """Somebody who asks something of a run that waits, version 2 of it."""

    server: client.Client

    async def approve(self, run: str, **meant: str) -> str:
        """Return why it was not done: nothing is, in this world."""
        asked = commands.Meant(**meant, must_be_said=True)  # type: ignore[arg-type]
        with pytest.raises(errors.UserError) as refused:
            await commands.send_to_run(self.server, "approve", run, {}, asked)
        (problem,) = refused.value.problems
        return f"{problem.message}; {problem.hint}" if problem.hint else problem.message


@contextlib.asynccontextmanager
async def asking(directory: Path, spec: run_builder.RunSpec) -> AsyncIterator[Asking]:
    """Given: the run r1 of web waits for approval."""
    async with server_world.served(directory) as world:
        store, start = world.service.store, events.Start(world.clock.now())
        run = machine.advance(run_builder.new_run("r1", spec, start.at), start).run
        origin = run_origins.to_document(run_origins.Origin("shop", "web/volary.yaml"))
        made = transitions.first_transition(run, origin, start.at)
        await store.keep_transition(made, fence=None)
        known = await store.applications.get("web")
        assert known is not None
        status = application_statuses.ApplicationStatus(run="r1", under_way=True)
        document = application_statuses.to_document(status)
        await store.applications.keep(replace(known, document=document), fence=None)
        token = world.token("admin")["authorization"].removeprefix("Bearer ")
        async with client.Client.open(login.Target(world.url, token)) as server:
            yield Asking(server)


async def test_who_names_run_and_stage_is_heard(tmp_path: Path) -> None:
    async with asking(tmp_path, one_gate()) as given:
        assert (await given.approve("r1", stage=GATE)).startswith(SENT)


@pytest.mark.parametrize(
    ("run", "meant"), [("r1", {}), ("web", {}), ("web", {"stage": GATE}), ("r1", {"group": "a"})]
)
async def test_a_script_has_to_say_what_it_means(
    tmp_path: Path, run: str, meant: dict[str, str]
) -> None:
    """The newest run of an application is another one by the time that it is approved."""
    async with asking(tmp_path, one_gate()) as given:
        said = await given.approve(run, **meant)

    assert said == f"{NOT_SENT}; volary approve r1 --stage {GATE} --seen 2"


async def test_where_groups_are_asked_one_by_one_the_group_is_said_too(tmp_path: Path) -> None:
    async with asking(tmp_path, group_by_group()) as given:
        unsaid = await given.approve("r1", stage=SYNC)
        said = await given.approve("r1", stage=SYNC, group="eu 1")

    typed = f"volary approve r1 --stage {SYNC} --group 'eu 1' --seen 2"
    assert unsaid == f"{NOT_SENT}; {typed}"
    assert said.startswith(SENT)


@contextlib.contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, typed: str) -> Iterator[list[str]]:
    """A terminal for the block, on which somebody typed; what it showed is there afterwards."""
    shown: list[str] = []
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    os.set_blocking(ours, False)
    with (
        os.fdopen(theirs) as stdin,
        os.fdopen(os.dup(theirs), "w", buffering=1) as stderr,
        monkeypatch.context() as patch,
    ):
        patch.setattr("sys.stdin", stdin)
        patch.setattr("sys.stderr", stderr)
        yield shown
        stderr.flush()
        with contextlib.suppress(BlockingIOError):
            while True:
                shown.append(os.read(ours, 4096).decode())
    os.close(ours)


@pytest.mark.parametrize(
    ("answer", "then"), [("y\n", SENT), ("n\n", "nothing is sent"), ("\n", "nothing is sent")]
)
async def test_a_terminal_shows_what_waits_and_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, then: str | tuple[str, ...]
) -> None:
    async with asking(tmp_path, one_gate()) as given:
        with terminal(monkeypatch, answer) as shown:
            said = await given.approve("web")

    assert said.startswith(then)
    assert f"approve {GATE}: run r1, commit c0ffee, version 2" in "".join(shown)
    assert "approve? [y/N]" in "".join(shown)
