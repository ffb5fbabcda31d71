"""Somebody changes with stock kubectl what a server has released: it is seen, told, repaired."""

import asyncio
import contextlib
import json as json_text
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import command_world
import kubectl
import process_time
from controller_world import ANA, RULES, SPEED, Controlled, controlled
from volary.controller import inputs
from volary.controller.api import live_representations, representations
from volary.store import records

pytestmark = kubectl.needed

V1, V2 = "example/simple:v1", "example/simple:v2"
QUICK = replace(RULES, drift_period=timedelta(seconds=1))
#: As good as never, but for what is heard to have changed.
HEARD = replace(RULES, drift_period=timedelta(days=1), drift_gap=timedelta(seconds=0.5))
IMAGE = 'spec.template.spec.containers[name="simple"].image'
WEB = "deployment/simple"
Drift = live_representations.Drift


@contextlib.asynccontextmanager
async def released(
    tmp_path: Path,
    *names: str,
    files: dict[str, str] | None = None,
    rules: inputs.Rules = QUICK,
) -> AsyncIterator[Controlled]:
    """Given: an application that a server has released, and compares again and again."""
    async with command_world.world(tmp_path, *names, tls=True, speed=SPEED) as world:
        if files:
            world.write(files, message="As this test needs it")
        async with controlled(world, parts={"rules": rules}) as given:
            await given.until_application(lambda each: each.status == "synced")
            yield given


async def hand(given: Controlled, name: str, *words: str, text: str = "", **more: str) -> str:
    """Somebody types ``kubectl …``."""
    cluster = given.world.running.clusters[name]
    return await kubectl.run(cluster, *words, text=text, **more)


async def until_drift(given: Controlled, status: str, *paths: str) -> Drift:
    """Wait until the application compares so, with differences at these paths."""
    shown: Drift | None = None
    try:
        async with asyncio.timeout(process_time.HANG):
            while True:
                shown = await given.service.drift.get("simple")
                told = [each.path for one in objects_of(shown) for each in one.differences]
                if shown.status == status and all(path in told for path in paths):
                    return shown
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"it never was {status} at {paths}, but: {shown}") from None


def objects_of(shown: Drift) -> list[live_representations.ObjectDrift]:
    return [one for cluster in shown.clusters for one in cluster.objects]


async def until_told(given: Controlled, status: str, text: str = "") -> representations.Application:
    return await given.until_application(lambda each: each.status == status and text in each.reason)


async def audited(given: Controlled) -> list[tuple[str, Any]]:
    """Return what the server did by itself about drift, in order."""
    page = await given.service.audit(records.AuditFilter(), oldest_first=True)
    return [(one.action, one.document) for one in page.items if one.action.startswith("drift.")]


async def test_what_a_release_leaves_is_in_sync(tmp_path: Path) -> None:
    """Neither defaults nor what controllers write is drift, nor what controllers add."""
    async with released(tmp_path, "us", "eu") as given:
        await hand(given, "us", "annotate", WEB, "example.com/theirs=1")
        await hand(given, "eu", "label", "service/simple", "theirs=1")
        shown = await until_drift(given, "inSync")

    assert [(one.name, one.status) for one in shown.clusters] == [
        ("us", "inSync"),
        ("eu", "inSync"),
    ]
    assert (shown.mode, shown.reason) == ("report", "every object is as Git says")


async def test_a_change_by_hand_is_said_and_taken_back_by_hand(tmp_path: Path) -> None:
    async with released(tmp_path, "us", "eu") as given:
        before = await given.application()
        await hand(given, "us", "set", "image", WEB, f"simple={V2}")

        told = await until_told(given, "out_of_sync", "drift: us: Deployment default/simple")
        shown = await until_drift(given, "outOfSync", IMAGE)
        await hand(given, "us", "set", "image", WEB, f"simple={V1}")
        after = await until_told(given, "synced")
        gone = await given.service.drift.get("simple")
        noted = await audited(given)

    assert told.reason == (
        f"drift: us: Deployment default/simple: {IMAGE} is {V2}, Git says {V1} (by kubectl-set)"
    )
    assert [(one.name, one.status) for one in shown.clusters] == [
        ("us", "outOfSync"),
        ("eu", "inSync"),
    ]
    (item,) = objects_of(shown)
    (field,) = item.differences
    assert (item.kind, item.name, item.drift) == ("Deployment", "simple", "differs")
    assert (field.path, field.wanted, field.live, field.sides) == (IMAGE, V1, V2, "both")
    assert field.owners[0].manager == "kubectl-set"
    assert field.owners[0].since is not None
    assert shown.since is not None
    assert after.reason == before.reason
    assert gone.since is None
    assert [action for action, _ in noted] == ["drift.found", "drift.gone"]
    assert noted[0][1]["clusters"] == ["us"]
    assert after.run == before.run


async def test_what_is_heard_to_change_is_compared_at_once(tmp_path: Path) -> None:
    """Nobody asks clusters again and again: their watches say when there is something to see."""
    async with released(tmp_path, "us", "eu", rules=HEARD) as given:
        await until_drift(given, "inSync")
        await hand(given, "eu", "set", "image", WEB, f"simple={V2}")
        told = await until_told(given, "out_of_sync", "drift: eu: Deployment default/simple")
        await hand(given, "eu", "set", "image", WEB, f"simple={V1}")
        after = await until_told(given, "synced")

    assert told.reason.endswith("(by kubectl-set)")
    assert after.run == told.run


async def test_scaling_by_hand_a_lost_object_and_one_too_many_are_drift(tmp_path: Path) -> None:
    async with released(tmp_path, "us", "eu") as given:
        extra = given.world.find("us", "ConfigMap", "simple")
        assert extra is not None
        marks = {key: extra["metadata"][key] for key in ("labels", "annotations")}
        key = "volary.dev/resource-key"
        marks["annotations"][key] = marks["annotations"][key].replace(":simple", ":left")
        left = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "left", **marks},
        }
        await hand(given, "us", "create", "-f", "-", text=json_text.dumps(left))
        await hand(given, "us", "scale", WEB, "--replicas=5")
        await hand(given, "us", "delete", "configmap/simple")

        shown = await until_drift(given, "outOfSync", "spec.replicas")
        # Each change may be compared by itself.
        async with asyncio.timeout(process_time.HANG):
            while len(objects_of(shown)) < 3:
                await asyncio.sleep(0.1)
                shown = await given.service.drift.get("simple")

    assert {(one.kind, one.name, one.drift) for one in objects_of(shown)} == {
        ("Deployment", "simple", "differs"),
        ("ConfigMap", "simple", "missing"),
        ("ConfigMap", "left", "extra"),
    }
    assert shown.status == "outOfSync"


async def test_an_autoscaler_is_left_to_scale(tmp_path: Path) -> None:
    scaler = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: simple}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: simple}
  minReplicas: 2
  maxReplicas: 9
"""
    async with released(tmp_path, "us", files={"scaler.yaml": scaler}) as given:
        await hand(given, "us", "scale", WEB, "--replicas=6")
        await hand(given, "us", "set", "env", WEB, "ADDED=1")  # not stated by Git, so theirs
        shown = await until_drift(given, "inSync")
        # Its own bounds are Git's.
        await hand(given, "us", "patch", "hpa/simple", "-p", '{"spec":{"maxReplicas":20}}')
        drifted = await until_drift(given, "outOfSync", "spec.maxReplicas")

    assert objects_of(shown) == []
    assert [one.kind for one in objects_of(drifted)] == ["HorizontalPodAutoscaler"]


OWN = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  driftDetection: %s
  ignoreDifferences:
    - group: apps
      kind: Deployment
      jsonPointers: [/spec/replicas]
    - kind: ConfigMap
      managedFieldsManagers: [meddler]
"""


def own_file(given_mode: str) -> dict[str, str]:
    return {"app.pipecd.yaml": OWN % given_mode}


async def test_what_the_file_ignores_is_no_drift(tmp_path: Path) -> None:
    async with released(tmp_path, "us", files=own_file("report")) as given:
        await hand(given, "us", "scale", WEB, "--replicas=4")
        data = '{"data":{"GREETING":"theirs"}}'
        await hand(given, "us", "patch", "cm/simple", "--field-manager=meddler", "-p", data)
        calm = await until_drift(given, "inSync")
        await hand(
            given, "us", "patch", "cm/simple", "--field-manager=else", "-p", data[:-3] + '2"}}'
        )
        drifted = await until_drift(given, "outOfSync", "data.GREETING")

    assert objects_of(calm) == []
    assert [one.kind for one in objects_of(drifted)] == ["ConfigMap"]


async def test_nobody_looks_where_that_is_off(tmp_path: Path) -> None:
    async with released(tmp_path, "us", files=own_file("off")) as given:
        await hand(given, "us", "set", "image", WEB, f"simple={V2}")
        shown = await given.service.drift.get("simple")

    assert (shown.mode, shown.status, shown.clusters) == ("off", "off", ())


PIPECD_TRIGGER = "    onOutOfSync: {disabled: false, minWindow: 1s}\n"


def repairing(tmp_path: Path) -> dict[str, str]:
    """PipeCD's file with its trigger for drift."""
    text = (command_world.EXAMPLES / "simple" / "app.pipecd.yaml").read_text()
    return {"app.pipecd.yaml": text.replace("spec:\n", f"spec:\n  trigger:\n{PIPECD_TRIGGER}", 1)}


async def test_drift_is_repaired_and_nothing_is_pruned(tmp_path: Path) -> None:
    """Once nothing keeps it from that: a pause does."""
    async with released(tmp_path, "us", "eu", files=repairing(tmp_path)) as given:
        before = await given.application()
        await given.service.ask_application("pause", "simple", ANA, reason="on television")
        await hand(given, "us", "set", "image", WEB, f"simple={V2}")
        await hand(given, "us", "delete", "configmap/simple")
        held = await until_told(given, "out_of_sync", "paused by ana")
        repair_after = (await given.service.drift.get("simple")).repair_after
        image = given.world.images("us").split()[0]

        await given.service.ask_application("resume", "simple", ANA)
        after = await until_told(given, "synced")
        restored = given.world.images("us").split()[0]
        (newest, *older) = await given.runs()
        noted = [action for action, _ in await audited(given)]
        run = await given.service.run(newest.id)

    assert image == V2
    assert "us: the application is paused by ana: on television" in held.reason
    assert repair_after is None
    assert restored == V1
    assert given.world.find("us", "ConfigMap", "simple") is not None
    assert newest.strategy == "quick_sync"
    assert newest.trigger.startswith("drift: us: ")
    assert run.summary.targets == ("us",)
    assert len(older) == 1
    assert after.running_commit == before.running_commit
    assert noted == ["drift.found", "drift.repair", "drift.gone"]


async def test_two_who_fight_over_a_field_are_left_to_people(tmp_path: Path) -> None:
    async with released(tmp_path, "us", files=repairing(tmp_path)) as given:
        patch = '{"spec":{"replicas":7}}'

        async def meddle() -> None:
            while True:
                body = given.world.find("us", "Deployment", "simple")
                if body is not None and body["spec"]["replicas"] == 2:
                    await hand(given, "us", "patch", WEB, "-p", patch)
                await asyncio.sleep(0.05)

        async with asyncio.TaskGroup() as group:
            meddling = group.create_task(meddle())
            told = await until_told(given, "out_of_sync", "no more repairs after 3 repairs")
            noted = [action for action, _ in await audited(given)]
            runs = len(await given.runs())
            shown = await until_drift(given, "outOfSync", "spec.replicas")
            meddling.cancel()

    assert "kubectl-patch changes spec.replicas back each time" in told.reason
    assert "name the manager or the field under ignoreDifferences" in shown.reason
    assert shown.repair_after is None
    assert noted.count("drift.repair") == 3
    assert noted.count("drift.given-up") == 1
    assert runs == 4


async def test_a_repair_that_is_refused_says_so(tmp_path: Path) -> None:
    """Fields of controllers are not taken from them, by a repair either."""
    async with released(tmp_path, "us", files=repairing(tmp_path)) as given:
        data = '{"data":{"GREETING":"theirs"}}'
        await hand(given, "us", "patch", "cm/simple", "--field-manager=meddler", "-p", data)
        told = await until_told(given, "out_of_sync", "no more repairs after 3 repairs: ")
        runs = [run.status for run in await given.runs()]

    assert "the last failed: " in told.reason
    assert "meddler owns .data.GREETING" in told.reason
    assert runs == ["failed"] * 3 + ["succeeded"]


async def test_a_cluster_that_is_silent_is_neither_in_nor_out_of_sync(tmp_path: Path) -> None:
    async with released(tmp_path, "us", "eu") as given:
        await hand(given, "us", "set", "image", WEB, f"simple={V2}")
        await until_told(given, "out_of_sync", "drift")
        given.world.running.clusters["us"].faults.change({"lost": "refuse"})
        shown = await until_drift(given, "unknown")
        known = await given.application()
        given.world.running.clusters["us"].faults.clear()
        again = await until_drift(given, "outOfSync", IMAGE)
        await hand(given, "us", "set", "image", WEB, f"simple={V1}")
        await until_told(given, "synced")
        noted = [action for action, _ in await audited(given)]

    assert [(one.name, one.status) for one in shown.clusters] == [
        ("us", "unknown"),
        ("eu", "inSync"),
    ]
    # What was known of it stays said, and once only.
    assert known.status == "out_of_sync"
    assert [one.name for one in again.clusters if one.status == "outOfSync"] == ["us"]
    assert noted == ["drift.found", "drift.gone"]


SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}
listen: 127.0.0.1:0
dataDirectory: {data}
driftDetection: report
repositories:
- {{name: shop, url: {repository}, interval: 1s}}
"""


@contextlib.asynccontextmanager
async def served(world: command_world.World, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """Given: a server in a process of its own; yields with what somebody types to it."""
    (data := tmp_path / "data").mkdir(mode=0o700)
    file = tmp_path / "volary-server.yaml"
    file.write_text(SETTINGS.format(fleet=world.fleet, data=data, repository=world.directory))
    words = ("token", "create", "ana", "--role", "admin", "--config", str(file))
    made = await world.volary(*words)
    async with world.start("server", "--config", str(file)) as process:
        await process.until("listening on http")
        found = re.search(r"http://127\.0\.0\.1:\d+", process.said)
        assert found
        yield {"VOLARY_SERVER": found.group(), "VOLARY_TOKEN": made.out.strip()}


async def test_volary_watch_goes_on_with_drift_and_its_repairs(tmp_path: Path) -> None:
    """Until somebody ends it: drift is told where no run is, and a repair is a run."""
    async with command_world.world(tmp_path, "us", "eu", tls=True, speed=SPEED) as world:
        world.write(repairing(tmp_path), message="As this test needs it")
        async with served(world, tmp_path) as given:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    if not (await world.volary("status", "simple", "--wait", **given)).code:
                        break
                    await asyncio.sleep(0.1)
            us = world.running.clusters["us"]
            lines = world.start("watch", "simple", "--follow", **given)
            events = world.start("watch", "simple", "--follow", "-o", "json", **given)
            async with lines as people, events as program:
                await people.until("K8S_SYNC")
                await kubectl.run(us, "set", "image", WEB, f"simple={V2}")
                await people.until("us: out of sync: Deployment default/simple: ")
                await people.until("us: in sync")
                people.interrupt(signal.SIGINT)
                await people.ended()
                program.interrupt(signal.SIGINT)
                told = (await program.ended()).events
            listed = await world.volary("get", "runs", "-o", "json", **given)
            runs = json_text.loads(listed.out)

    assert re.search(
        r"simple\"\]\.image is \S+:v2, Git says \S+:v1 \(by kubectl-set\)", people.said
    )
    changes = [one for one in told if one["event"] == "drift-changed"]
    assert changes[0]["clusters"] == []
    drifted = [[one["name"] for one in change["clusters"]] for change in changes]
    assert ["us"] in drifted
    repairs = [one for one in told if one["event"] == "run-started"]
    assert [one["run"] for one in repairs] == [one["id"] for one in reversed(runs)][: len(repairs)]
    assert repairs[-1]["targets"] == ["us"]


async def test_volary_diff_exits_as_kubectl_diff_does(tmp_path: Path) -> None:
    """A server in a process of its own, and somebody who types."""
    async with (
        command_world.world(tmp_path, "us", "eu", tls=True, speed=SPEED) as world,
        served(world, tmp_path) as given,
    ):

        async def until(code: int, *more: str, says: str = "") -> command_world.Ended:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    ended = await world.volary("diff", "simple", *more, **given)
                    if ended.code == code and says in ended.out:
                        return ended
                    await asyncio.sleep(0.1)

        same = await until(0)
        us = world.running.clusters["us"]
        await kubectl.run(us, "set", "image", WEB, f"simple={V2}")
        await kubectl.run(us, "delete", "configmap/simple")
        # Each of the two may be seen by itself.
        differs = await until(1, says="missing ConfigMap")
        whole = await until(1, "-o", "json")
        other = await until(0, "--cluster", "eu")
        wrong = await until(2, "--cluster", "ue")
        nobody = await world.volary("diff", "nothing", **given)
        world.running.clusters["eu"].faults.change({"lost": "refuse"})
        unclear = await until(5, "--cluster", "eu")

    assert same.out.splitlines()[1:] == [
        "us: in sync: 3 objects as Git says",
        "eu: in sync: 3 objects as Git says",
    ]
    lines = differs.out.splitlines()
    assert lines[0].startswith("simple ")
    assert "out of sync" in lines[0]
    assert "us: out of sync" in lines
    assert "  + missing ConfigMap default/simple (Git has it, and the cluster lacks it)" in lines
    assert "  ~ differs Deployment default/simple" in lines
    place = lines.index(f"      -{V2}")
    assert lines[place - 1].startswith(f"      @@ {IMAGE} @@ kubectl-set, ")
    assert lines[place + 1] == f"      +{V1}"
    assert lines[-1] == "eu: in sync: 3 objects as Git says"
    assert json_text.loads(whole.out)["status"] == "outOfSync"
    assert "us" not in other.out
    assert re.fullmatch("simple [0-9a-f]{7}: in sync", other.out.splitlines()[0])
    assert "hint: known here: us, eu" in wrong.err
    assert nobody.code == 2
    assert "eu: unknown: " in unclear.out
