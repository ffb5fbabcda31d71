"""What people see and ask for, without HTTP: on a store with two runs, and a leader."""

import asyncio
import pathlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec
import pytest

import process_time
import reconciler_fixtures as given
from volary.controller import refusals
from volary.controller.agents import (
    agent_registry,
    run_orders,
    signing_key,
    task_services,
    tunnel_hub,
)
from volary.controller.api import (
    agent_service,
    cluster_service,
    drift_service,
    live_service,
    placement_service,
    project_service,
    representations,
    server_service,
    service,
    status_service,
    worker_service,
    workspace_service,
)
from volary.controller.api.commands import command_client, command_handler
from volary.controller.drift import comparer
from volary.controller.fleet import cluster_registry, surveys
from volary.controller.persistence import change_signal, redaction
from volary.controller.projects import project_registry
from volary.controller.status import application_statuses, cluster_releases, run_requests
from volary.livestate import live_state
from volary.model import drift_rules, errors, statuses
from volary.model.fleet import cluster_health, fleets, taints
from volary.model.runs import run_records
from volary.placement.failover import move_plans, situations
from volary.store import records

ANA = representations.Actor("ana", "10.0.0.1")
State = cluster_health.ClusterState


@dataclass
class Served:
    """A leader that answers, with the service."""

    world: given.World
    service: service.Service

    async def note(self) -> records.AuditRecord:
        """Return the newest entry of the audit."""
        page = await self.world.store.audit.list(records.AuditFilter(), limit=1)
        return page.items[0]


@pytest.fixture
async def served(tmp_path: pathlib.Path) -> AsyncIterator[Served]:
    async with given.leading() as world:
        leader, asked = world.leader, change_signal.ChangeSignal()
        secrets = redaction.SecretValues()
        store, dependencies, clock = world.store, leader.dependencies, leader.dependencies.clock
        ids = iter(range(1000))
        asker = command_client.CommandClient(
            store,
            clock,
            asked=asked,
            kept=leader.change_signal,
            make_id=lambda: f"q{next(ids)}",
            secrets=secrets,
        )
        audit = command_client.AuditLog(store, clock, secrets)
        surveyor = surveys.Surveyor(dependencies.clusters, clock, is_away=lambda _: False)
        live = live_state.LiveState(dependencies.clusters, clock)
        made = service.Service(
            store,
            dependencies,
            asker,
            audit,
            leader.change_signal,
            cluster_service.ClusterService(leader.register, asker, audit),
            status_service.StatusService(store, dependencies, surveyor, leader.register),
            placement_service.PlacementService(store, dependencies, leader.register, asker, audit),
            project_service.ProjectService(
                store,
                dependencies,
                project_registry.ProjectRegistry(store, clock, leader.change_signal),
            ),
            workspace_service.WorkspaceService(store, leader.register, asker, audit),
            server_service.ServerService(store),
            live_service.LiveService(store, dependencies, live),
            drift_service.DriftService(
                store,
                comparer.Comparer(
                    store, dependencies, drift_rules.DriftMode.REPORT, lambda _: False, live
                ),
            ),
            agent_service.AgentService(
                agent_registry.AgentRegistry(store, clock),
                tunnel_hub.TunnelHub(tmp_path),
                leader.register,
                audit,
                signing_key.SigningKeyFile("", str(tmp_path)),
                server_service.ServerService(store),
            ),
            worker_service.WorkerService(
                agent_registry.AgentRegistry(store, clock),
                leader.register,
                audit,
                signing_key.SigningKeyFile("", str(tmp_path)),
                run_orders.ApartTasks(signing_key.SigningKeyFile("", str(tmp_path)).read),
                server_service.ServerService(store),
            ),
            task_services.TaskServices(
                store,
                clock,
                dependencies.meter,
                secrets,
                run_orders.ApartTasks(signing_key.SigningKeyFile("", str(tmp_path)).read),
            ),
        )
        await leader.register.enter(given.MEMBERS, fence=None)
        leader.register.is_leader = True
        handler = command_handler.CommandHandler(leader, world.registry, asked)
        async with asyncio.TaskGroup() as group:
            handling = group.create_task(handler.keep_handling())
            yield Served(world, made)
            handling.cancel()


async def released(served: Served, *names: str) -> None:
    """Have runs of these ids happen, one after another."""
    for name in names:
        await served.world.shop.submit(given.request(name, f"commit-{name}"))
        await served.world.until(lambda each, name=name: each.running_commit == f"commit-{name}")


async def test_lists_come_in_pages(served: Served) -> None:
    await released(served, "r1", "r2")
    made = served.service

    first = await made.runs(records.RunFilter(), limit=1)
    second = await made.runs(records.RunFilter(), cursor=first.cursor, limit=1)
    assert [run.id for run in (*first.items, *second.items)] == ["r2", "r1"]
    assert await made.run_summary("r1") == second.items[0]
    assert (second.items[0].trigger, second.items[0].targets) == (
        "commit-r1 was pushed",
        ("us", "eu"),
    )
    commits = await made.commits("shop", limit=1)
    others = await made.commits("shop", cursor=commits.cursor, limit=1)
    assert {item.run for item in (*commits.items, *others.items)} == {"r1", "r2"}
    await served.world.store.applications.keep(records.ApplicationRecord("zoo"), fence=None)
    shops = await made.applications(records.ApplicationFilter(), limit=1)
    zoos = await made.applications(records.ApplicationFilter(), cursor=shops.cursor, limit=1)
    assert [item.name for item in (*shops.items, *zoos.items)] == ["shop", "zoo"]
    assert (zoos.items[0].status, zoos.items[0].waiting) == ("unknown", None)


async def test_a_run_whose_origin_cannot_be_read_hides_no_other(served: Served) -> None:
    await released(served, "r1")
    head = run_records.RunHead(
        "r0", "shop", statuses.RunStatus.FAILED, "eu was away", "commit-r0", "", created=given.AT
    )
    strange = run_records.Transition(head, 0, given.AT, document={}, origin={"repository": 7})
    await served.world.store.keep_transition(strange, fence=None)

    listed = {run.id: run for run in (await served.service.runs(records.RunFilter())).items}

    assert listed["r1"].trigger == "commit-r1 was pushed"
    assert (listed["r0"].status, listed["r0"].reason) == ("failed", "eu was away")
    assert listed["r0"].trigger.startswith("why it exists cannot be read: Expected `str`")
    assert await served.service.run_summary("r0") == listed["r0"]


async def test_events_are_read_from_where_somebody_was(served: Served) -> None:
    await released(served, "r1", "r2")
    made = served.service

    every = await made.events("r1")
    assert [event.number for event in every] == list(range(1, len(every) + 1))
    assert await made.events("r1", 1, limit=2) == every[1:3]
    of_all = await made.all_events()
    assert await made.position() == of_all[-1].position
    assert await made.all_events(of_all[1].position, limit=3) == of_all[2:5]
    assert await made.all_events(applications={"other"}) == ()
    assert {event.run for event in await made.all_events(applications={"shop"})} == {"r1", "r2"}


async def test_logs_and_findings_are_those_of_one_task(served: Served) -> None:
    await released(served, "r1")
    store, made = served.world.store, served.service
    lines = [
        records.LogLine("r1", stage, target, 1, given.AT, "info", f"{stage} on {target}")
        for stage in ("1-A", "2-B")
        for target in ("us", "eu")
    ]
    await store.logs.append(lines, fence=None)
    findings = [
        records.Finding("r1", "1-A", target, 1, given.AT, "verdict", "errors", {"result": "pass"})
        for target in ("us", "eu")
    ]
    await store.findings.append(findings, fence=None)

    seen = await made.logs("r1")
    assert [line.text for line in seen] == [line.text for line in lines]
    assert [line.text for line in await made.logs("r1", stage="1-A", target="eu")] == ["1-A on eu"]
    assert await made.logs("r1", after=seen[0].position, limit=2) == seen[1:3]
    known = await made.findings("r1")
    assert [finding.target for finding in known] == ["us", "eu"]
    only_eu = await made.findings("r1", wanted=records.FindingFilter(target="eu"))
    assert only_eu == known[1:]
    assert await made.findings("r1", after=known[0].position, limit=1) == known[1:]
    assert await made.findings("r1", limit=1) == known[:1]


async def test_what_is_not_there_is_said_to_be_missing(served: Served) -> None:
    made = served.service
    for asked in (
        made.application("shop"),
        made.run("r9"),
        made.run_summary("r9"),
        made.ask_run("approve", "r9", ANA),
        made.ask_application("pause", "shop", ANA),
        made.fleet.get("mars"),
        made.placements.get("shop"),
        made.statuses.get("shop"),
    ):
        with pytest.raises(refusals.NotFound, match="there is no"):
            await asked


async def test_what_is_asked_of_a_run_is_noted_and_answered(served: Served) -> None:
    stages = served.world.script.stages
    stages.may_end.clear()
    await served.world.shop.submit(given.request("r1", "c1"))
    await stages.begun.wait()

    taken = await served.service.ask_run("pause", "r1", ANA, reason="lunch")

    assert taken.run == "r1"
    shown = await served.service.run("r1")
    assert (shown.paused_by, shown.summary.id) == ("ana", "r1")
    assert [target.name for target in shown.targets] == ["us", "eu"]
    entry = await served.note()
    assert (entry.action, entry.result, entry.application, entry.run_id, entry.source) == (
        "run.pause",
        "ok",
        "shop",
        "r1",
        "10.0.0.1",
    )
    with pytest.raises(refusals.Conflict, match="already paused"):
        await served.service.ask_run("pause", "r1", ANA)
    refused = await served.note()
    assert refused.result == "failed"
    assert "already paused" in refused.document["refusal"]
    seen = msgspec.to_builtins((await served.service.run("r1")).seen)
    await served.service.ask_run("resume", "r1", ANA, seen=seen)
    stages.may_end.set()


async def test_what_is_asked_of_an_application_says_what_follows(served: Served) -> None:
    await released(served, "r1")

    paused = await served.service.ask_application("pause", "shop", ANA, reason="lunch")
    assert paused == representations.Accepted("r1", "paused by ana: lunch")
    assert (await served.service.application("shop")).paused == "paused by ana: lunch"
    resumed = await served.service.ask_application("resume", "shop", ANA)
    assert (resumed.run, (await served.note()).action) == ("r1", "application.resume")
    with pytest.raises(errors.UserError, match="slow is no strategy"):
        await served.service.sync("shop", ANA, strategy="slow")
    with pytest.raises(refusals.Conflict):
        await served.service.sync("shop", ANA, commit="c9")


async def test_what_is_forgotten_leaves_its_runs(served: Served) -> None:
    await released(served, "r1")
    with pytest.raises(refusals.Conflict, match="delete it first"):
        await served.service.forget_application("shop", ANA, reason="over")
    await served.world.shop.change(removed=given.AT)

    taken = await served.service.forget_application("shop", ANA, reason="over")

    assert taken.reason.startswith("forgotten")
    assert (await served.note()).action == "application.forget"
    assert (await served.service.run("r1")).move == ""


async def test_who_asks_again_under_the_same_key_hears_that_it_is_forgotten(
    served: Served,
) -> None:
    await released(served, "r1")
    await served.world.shop.change(removed=given.AT)
    forget, store = served.service.forget_application, served.world.store
    again, other = replace(ANA, key="k1"), replace(ANA, key="k2")
    first = await forget("shop", again, reason="over")

    assert await forget("shop", again, reason="over") == first
    with pytest.raises(refusals.Conflict, match="was used for another request"):
        await forget("shop", again, reason="another one")
    for stranger in (ANA, other, replace(again, by="bo")):
        with pytest.raises(refusals.NotFound, match="there is no application shop"):
            await forget("shop", stranger, reason="over")
    with pytest.raises(refusals.NotFound, match="there is no application cart"):
        await forget("cart", again, reason="over")
    assert await store.requests.unanswered() == ()
    # What has the name now is another one, and stays.
    await store.applications.keep(records.ApplicationRecord("shop"), fence=None)
    assert await forget("shop", again, reason="over") == first
    assert await store.applications.get("shop") is not None


async def test_changes_are_seen_at_once(served: Served) -> None:
    changes = served.service.changes()
    before = await anext(changes)

    await released(served, "r1")

    assert await anext(changes) >= before
    assert await served.service.position() > before
    await changes.aclose()


async def test_the_fleet_says_how_its_clusters_are(served: Served) -> None:
    register, fleet = served.world.leader.register, served.service.fleet
    unseen = await fleet.get("us")
    assert (unseen.status, unseen.reason) == ("unknown", "not probed yet")
    now = served.world.leader.dependencies.clock.now()
    pending = cluster_health.PendingChange(State.UNREACHABLE, now - timedelta(seconds=4), "no")
    seen = (
        cluster_health.ClusterHealth("us", State.READY, now, observed=now, pending=pending),
        cluster_health.ClusterHealth("eu", State.NOT_READY, now, "its API is closed"),
    )
    await register.take(seen, fence=None)

    us, eu = await served.service.fleet.list()

    assert (us.name, us.status, us.reason, us.schedulable) == ("us", "ready", "", True)
    threshold = register.rules.failure_threshold.total_seconds()
    assert us.changing == f"unreachable for 4 s, counts after {threshold:g} s: no"
    assert (eu.status, eu.reason, eu.changing) == ("notReady", "its API is closed", "")


async def test_a_cluster_that_stays_as_it_is_is_not_changing(served: Served) -> None:
    register = served.world.leader.register
    now = register.clock.now()
    await register.take(
        (cluster_health.ClusterHealth("us", State.READY, now, observed=now),), fence=None
    )

    assert (await served.service.fleet.get("us")).changing == ""


async def test_a_standby_says_what_the_leader_has_seen(served: Served) -> None:
    leaders, fleet = served.world.leader.register, served.service.fleet
    standby = cluster_registry.ClusterRegistry(
        served.world.store,
        leaders.clusters,
        leaders.clock,
        leaders.rules,
        leaders.kept,
        given.MEMBERS,
    )
    shown = cluster_service.ClusterService(standby, fleet.asker, fleet.audit_trail)
    lost = cluster_health.ClusterHealth(
        "us", State.UNREACHABLE, leaders.clock.now(), "no answer", observed=leaders.clock.now()
    )
    await leaders.take((lost,), fence=None)

    us = await shown.get("us")

    assert (us.status, us.reason) == ("unreachable", "no answer")


async def test_what_is_suspended_in_the_fleet_file_says_so(served: Served) -> None:
    us = replace(given.MEMBERS.clusters[0], suspended=True, labels={"tier": "one"})
    await served.world.leader.register.enter(
        fleets.Fleet((us, given.MEMBERS.clusters[1])), fence=None
    )

    shown = await served.service.fleet.get("us")

    assert (shown.status, shown.reason, shown.schedulable, shown.labels) == (
        "suspended",
        "suspended in the fleet",
        False,
        {"tier": "one"},
    )


async def test_a_cluster_is_cordoned_and_tainted_by_hand(served: Served) -> None:
    fleet = served.service.fleet

    cordoned = await fleet.ask("cordon", "eu", ANA, reason="1.36")
    assert not cordoned.schedulable
    assert [(taint.by, taint.reason) for taint in cordoned.taints] == [("ana", "1.36")]
    entry = await served.note()
    assert (entry.action, entry.document) == ("cluster.cordon", {"cluster": "eu", "reason": "1.36"})
    with pytest.raises(refusals.Conflict):
        await fleet.ask("cordon", "eu", ANA, reason="1.36")
    assert (await fleet.ask("uncordon", "eu", ANA, reason="done")).schedulable
    drained = await fleet.ask("drain", "eu", ANA, reason="over")
    assert {(taint.key, taint.reason) for taint in drained.taints} == {
        (taints.CORDONED, "over"),
        (taints.DRAINED, "over"),
    }
    assert (await fleet.ask("uncordon", "eu", ANA, reason="done")).schedulable
    tainted = await fleet.ask(
        "taint", "us", ANA, key="example.com/x", value="1", effect="NoExecute", reason="flood"
    )
    (shown,) = tainted.taints
    assert (shown.key, shown.value, shown.effect, shown.by, shown.reason) == (
        "example.com/x",
        "1",
        "NoExecute",
        "ana",
        "flood",
    )
    with pytest.raises(errors.UserError, match="Never is no effect"):
        await fleet.untaint("us", ANA, key="example.com/x", effect="Never", reason="")
    gone = await fleet.untaint("us", ANA, key="example.com/x", effect="NoExecute", reason="over")
    assert gone.taints == ()


async def test_where_an_application_is_and_what_moves(served: Served) -> None:
    eviction = situations.Eviction(
        "us", situations.Cause.CLUSTER, "us is flooded", given.AT, replacements=("eu",)
    )
    placed = situations.PlacementState(
        ("eu",), {"us": "us is flooded"}, (eviction,), {}, {"eu": "it waits"}
    )
    move = run_requests.RunRequest(
        "m1", "c1", given.Kind.MOVE, "why", given.AT, shift=move_plans.MovePlan(("us",))
    )
    status = application_statuses.ApplicationStatus(
        releases=cluster_releases.ClusterReleases().with_placement(placed), move=move
    )
    document = application_statuses.to_document(status)
    for name in ("shop", "zoo"):
        await served.world.store.applications.keep(
            records.ApplicationRecord(name, document=document if name == "shop" else {}), fence=None
        )

    shown = await served.service.placements.get("shop")

    assert (shown.clusters, shown.move) == (("eu",), "m1")
    assert [(one.cluster, one.reason) for one in shown.away] == [("us", "us is flooded")]
    assert [(one.cluster, one.cause, one.purge) for one in shown.leaving] == [
        ("us", "cluster", "Gracefully")
    ]
    assert [(one.cluster, one.reason) for one in shown.waiting] == [("eu", "it waits")]
    assert await served.service.placements.moving() == {"cluster": 1}


async def test_what_moves_is_counted_among_more_applications_than_a_page_holds(
    served: Served,
) -> None:
    eviction = situations.Eviction(
        "us", situations.Cause.CLUSTER, "us is flooded", given.AT, replacements=("eu",)
    )
    placed = situations.PlacementState(("eu",), leaving=(eviction,))
    status = application_statuses.ApplicationStatus(
        releases=cluster_releases.ClusterReleases().with_placement(placed)
    )
    document = application_statuses.to_document(status)
    for number in range(201):
        record = records.ApplicationRecord(f"shop{number:03}", document=document)
        await served.world.store.applications.keep(record, fence=None)

    async with asyncio.timeout(process_time.HANG):
        assert await served.service.placements.moving() == {"cluster": 201}


async def test_nothing_is_placed_anew_before_it_was_released(served: Served) -> None:
    record = records.ApplicationRecord("shop", "shop", "volary.yaml")
    await served.world.store.applications.keep(record, fence=None)

    with pytest.raises(refusals.Conflict, match="there is nothing to place"):
        await served.service.placements.plan("shop", ANA)

    entry = await served.note()
    assert (entry.action, entry.document.get("dryRun")) == ("application.rebalance", True)


async def test_only_the_leader_raises_the_alarm(served: Served) -> None:
    register, placements = served.world.leader.register, served.service.placements
    now = served.world.leader.dependencies.clock.now()
    lost = tuple(
        cluster_health.ClusterHealth(name, State.UNREACHABLE, now, observed=now, steady=now)
        for name in given.MEMBERS.names
    )
    await register.take(lost, fence=None)

    assert "2 of 2 clusters look unreachable" in placements.alarm
    register.is_leader = False
    assert placements.alarm == ""
