"""What is written down about an application is kept before it counts."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

import reconciler_fixtures as given
from volary.controller.applications import state_writer
from volary.controller.status import application_state, application_statuses, run_origins
from volary.engine.runs import run_builder
from volary.manifests import redaction
from volary.model import statuses
from volary.model.runs import run_records
from volary.store import fencing, records

STATUS = application_statuses.ApplicationStatus(head="c1")
GROUPS = run_builder.one_group(("us",))
RUN = run_builder.new_run("r1", run_builder.RunSpec("shop", "c1", GROUPS, (given.SYNC,)), given.AT)


@pytest.fixture
async def world() -> AsyncIterator[given.World]:
    async with given.leading() as made:
        yield made


@pytest.fixture
def writer(world: given.World) -> state_writer.ApplicationStateWriter:
    return state_writer.ApplicationStateWriter(world.leader, records.ApplicationRecord("shop"))


async def test_what_is_kept_is_what_another_process_reads(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    await writer.keep(STATUS, status="synced", reason="it is there")

    kept = await world.stored()
    assert (kept.status, kept.reason) == ("synced", "it is there")
    assert await world.status() == STATUS == writer.state.status
    again = state_writer.ApplicationStateWriter(world.leader, kept)
    assert again.state.status == STATUS


async def test_only_changes_are_written_and_wake_those_who_watch(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    await writer.keep(STATUS, status="synced")
    version, beats = (await world.stored()).version, world.leader.change_signal.count

    await writer.keep(STATUS, status="synced")
    assert (await world.stored()).version == version
    assert world.leader.change_signal.count == beats

    await writer.keep(STATUS, status="failed")
    assert (await world.stored()).version == version + 1
    assert world.leader.change_signal.count == beats + 1


async def test_a_change_brings_commits_and_the_application_up_to_date(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    asked = given.request(author="ana")
    first = application_state.CommitChange("c1", "running", "it was pushed", asked, "r1", "Add it")
    await writer.write(application_state.StateChange(STATUS, {"status": "running"}, (first,)))
    second = application_state.CommitChange("c1", "succeeded", "all is well")
    await writer.write(application_state.StateChange(STATUS, {"status": "synced"}, (second,)))

    found = await world.store.commits.get("shop", "c1")
    assert found is not None
    assert (found.status, found.reason) == ("succeeded", "all is well")
    assert (found.run_id, found.subject, found.author) == ("r1", "Add it", "ana"), "it stays"
    assert (await world.stored()).status == "synced"


async def test_a_run_is_kept_with_its_kind_and_without_secrets_before_it_is_under_way(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    masker = redaction.Masker()
    masker.add("hunter2-hunter2")
    origin = run_origins.Origin(
        "shop", "volary.yaml", subject="set hunter2-hunter2", kind=given.Kind.MOVE
    )
    ready = given.ready_runs.ReadyRun(RUN, world.script.stages, masker, origin)

    await writer.begin(ready)

    stored = await world.store.runs.load("r1")
    assert stored is not None
    kept = run_origins.from_document(stored.origin)
    assert (kept.kind, kept.subject) == (given.Kind.MOVE, "set *****")
    assert (await world.status()).under_way


async def test_a_run_is_newer_than_those_before_it_also_by_a_clock_that_was_set_back(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    """Also one that is refused: what is rolled back is the change of the newest."""
    ahead = replace(RUN, created=given.AT + timedelta(hours=1), finished=given.AT)
    await given.keep_run(world.store, ahead, given.Kind.RELEASE)
    origin = run_origins.Origin("shop", "volary.yaml", kind=given.Kind.RELEASE)
    second = replace(RUN, id="r2")
    ready = given.ready_runs.ReadyRun(second, world.script.stages, redaction.Masker(), origin)

    begun, _ = await writer.begin(ready)
    await writer.refuse(given.request("r3", "c3"), "its file has errors")

    page = await world.store.runs.list(records.RunFilter())
    assert [item.head.id for item in page.items] == ["r3", "r2", "r1"]
    assert page.items[1].head.created == begun.run.created


async def test_a_run_that_nobody_can_carry_out_is_ended_as_it_is(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    await given.keep_run(world.store, RUN, given.Kind.RELEASE)
    stored = await world.store.runs.load("r1")
    assert stored is not None

    await writer.abandon(stored, "ana", "its repository is gone")

    ended = await world.store.runs.load("r1")
    assert ended is not None
    assert ended.head.status is statuses.RunStatus.CANCELLED
    assert "its repository is gone" in ended.head.reason


async def test_of_what_is_forgotten_nothing_more_is_written(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    await writer.keep(STATUS, status="synced")
    await writer.forget()

    await writer.keep(STATUS, status="failed")
    late = application_state.CommitChange("c1", "failed", "late")
    await writer.write(application_state.StateChange(STATUS, commits=(late,)))

    assert await world.store.applications.get("shop") is None
    assert await world.store.commits.get("shop", "c1") is None


async def test_an_application_that_is_not_forgotten_is_kept_as_before(
    world: given.World, writer: state_writer.ApplicationStateWriter
) -> None:
    await writer.keep(STATUS, status="synced")
    answered = run_records.RequestAnswer("q1", given.AT, "not now")

    with pytest.raises(fencing.RequestAnswered, match="q1"):
        await writer.forget(answers=(answered,))

    await writer.keep(STATUS, status="failed")
    assert (await world.stored()).status == "failed"
