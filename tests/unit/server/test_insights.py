"""Charts, comparisons and figures over HTTP: what is answered, and to whom."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import command_world
import git_feed
import server_world
from volary.clusters.observe import cluster_facts
from volary.controller.api.insights import calendar_service, insight_service
from volary.model import server_settings, statuses
from volary.model.fleet import fleets
from volary.model.runs import run_records
from volary.store import records

API = "/api/v1"
TOKENS = {"authentication": server_settings.Authentication.REQUIRED}


async def measured(world: server_world.Served, run: str, value: float) -> None:
    """Store a measurement and a verdict of a run."""
    now = world.clock.now()
    findings = [
        records.Finding(
            run,
            server_world.STAGE,
            "us",
            1,
            now,
            kind,
            "errors",
            document,
            key=f"{kind} {value}",
        )
        for kind, document in (
            ("measurement", {"variant": "canary", "values": [value], "query": "sum(x)"}),
            (
                "verdict",
                {"result": "pass", "isFinal": True, "sentence": f"errors on us: {value:g}"},
            ),
        )
    ]
    await world.service.store.findings.append(findings, fence=None)


async def told_traffic(world: server_world.Served, run: str, canary: int) -> None:
    stored = await world.service.store.runs.load(run)
    assert stored is not None
    weights = {"primary": 100 - canary, "canary": canary}
    told = run_records.EventRecord(
        world.clock.now(),
        "task-traffic",
        {"wantedWeights": weights, "observedWeights": {}},
        server_world.STAGE,
        "us",
    )
    made = run_records.Transition(stored.head, stored.version, world.clock.now(), feed=(told,))
    await world.service.store.keep_transition(made, fence=None)


async def ended(
    world: server_world.Served,
    run: str,
    application: str,
    status: statuses.RunStatus = statuses.RunStatus.SUCCEEDED,
    *,
    minutes: float = 1,
) -> None:
    """Store a run that ended so many minutes from now."""
    await world.keep_run(run, application)
    stored = await world.service.store.runs.load(run)
    assert stored is not None
    finished = world.clock.now() + timedelta(minutes=minutes)
    head = replace(stored.head, status=status, finished=finished)
    made = run_records.Transition(head, stored.version, finished)
    await world.service.store.keep_transition(made, fence=None)


def by_name(answer: Any) -> dict[str, Any]:
    return {figure["name"]: figure for figure in answer["figures"]}


async def test_a_chart_follows_what_is_measured(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        path = f"{API}/runs/run-web/analysis"
        _, empty = await world.ask("GET", path)
        await measured(world, "run-web", 1.0)
        _, first = await world.ask("GET", path)
        await measured(world, "run-web", 2.0)
        _, second = await world.ask("GET", path)
        _, elsewhere = await world.ask("GET", f"{path}?cluster=eu")

    assert (empty["sentence"], empty["metrics"]) == ("", [])
    assert [each["value"] for each in first["metrics"][0]["series"][0]["samples"]] == [1.0]
    assert [each["value"] for each in second["metrics"][0]["series"][0]["samples"]] == [1.0, 2.0]
    assert second["metrics"][0]["query"] == "sum(x)"
    assert second["sentence"] == "1 metric passed on 1 cluster"
    assert elsewhere["metrics"] == []


async def test_a_chart_of_traffic_follows_it(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        path = f"{API}/runs/run-web/traffic"
        _, empty = await world.ask("GET", path)
        for canary in (10, 50):
            await told_traffic(world, "run-web", canary)
        _, moved = await world.ask("GET", path)

    assert empty == {"run": "run-web", "samples": [], "now": [], "omitted": 0}
    assert [each["wanted"]["canary"] for each in moved["samples"]] == [10, 50]
    assert [each["wanted"]["canary"] for each in moved["now"]] == [50]


async def test_marks_go_on_where_they_were_read_last_and_tell_what_people_did(
    tmp_path: Path,
) -> None:
    async with server_world.served(tmp_path) as world:
        path = f"{API}/runs/run-web/marks"
        await told_traffic(world, "run-web", 10)
        _, first = await world.ask("GET", path)
        await told_traffic(world, "run-web", 50)
        decided = records.AuditRecord(
            world.clock.now(), "ana", "run.pause", "ok", run_id="run-web", document={"reason": "x"}
        )
        await world.service.store.audit.write(decided)
        await told_traffic(world, "run-web", 90)
        _, second = await world.ask("GET", path)
        missing, _ = await world.ask("GET", f"{API}/runs/none/marks")

    weights = [mark["sentence"] for mark in second["items"] if mark["kind"] == "weights"]
    assert [mark["kind"] for mark in first["items"]] == ["weights"]
    assert [said.split(": ")[1].split(",")[0] for said in weights] == [
        "canary 10",
        "canary 50",
        "canary 90",
    ]
    assert "ana paused the run: x" in [mark["sentence"] for mark in second["items"]]
    assert missing == 404


async def test_only_runs_of_one_application_are_compared(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await ended(world, "run-next", "web", statuses.RunStatus.FAILED, minutes=5)
        path = f"{API}/runs/run-next/comparison"
        status, same = await world.ask("GET", f"{path}?before=run-web")
        refused, said = await world.ask("GET", f"{path}?before=run-pay")
        unknown, as_well = await world.ask("GET", f"{path}?before=nothing")

    assert status == 200
    assert (same["before"]["id"], same["after"]["id"]) == ("run-web", "run-next")
    assert "it is failed, the other succeeded: done" in same["differences"]
    assert (refused, unknown) == (404, 404)
    assert said["detail"].replace("run-pay", "…") == as_well["detail"].replace("nothing", "…")


async def test_figures_count_what_may_be_seen_only(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, **TOKENS) as world:
        await ended(world, "run-bad", "pay", statuses.RunStatus.FAILED, minutes=0)
        everything, shop = world.token("viewer"), world.token("viewer", team="shop")
        answers = {
            name: await world.ask("GET", f"{API}/insights?days=2{query}", headers=headers)
            for name, headers, query in (
                ("all", everything, ""),
                ("web", everything, "&application=web"),
                ("mine", shop, ""),
                ("other", shop, "&application=pay"),
                ("project", everything, "&project=nothing"),
            )
        }

    assert {status for status, _ in answers.values()} == {200}
    assert {name: answer["runs"] for name, (_, answer) in answers.items()} == {
        "all": 3,
        "web": 1,
        "mine": 1,
        "other": 0,
        "project": 0,
    }
    assert by_name(answers["all"][1])["changeFailureRate"]["value"] == 1 / 3
    assert answers["all"][1]["days"] == [0, 2]
    assert all(figure["definition"] for figure in answers["mine"][1]["figures"])


async def test_figures_follow_what_ends(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        _, before = await world.ask("GET", f"{API}/insights")
        await ended(world, "run-next", "web", minutes=0)
        _, after = await world.ask("GET", f"{API}/insights")

    assert (before["runs"], after["runs"]) == (2, 3)


async def test_figures_are_made_once_until_a_run_ends_or_they_are_old(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        _, first = await world.ask("GET", f"{API}/insights")
        await world.keep_run("going", "web", ended=False)
        await world.tell("going", 1, "run-changed")
        world.clock.forward(seconds=1)
        _, same = await world.ask("GET", f"{API}/insights")
        world.clock.forward(seconds=insight_service.FRESH.total_seconds())
        _, fresh = await world.ask("GET", f"{API}/insights")

    assert same["until"] == first["until"]
    assert fresh["until"] > first["until"]


FLEET = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu/west")))


async def keep_on(
    world: server_world.Served, name: str, commits: Mapping[str, str], **labels: str
) -> None:
    """Store an application that is on clusters, with the commit that each has."""
    clusters = {cluster: {"commit": commit} for cluster, commit in commits.items()}
    record = records.ApplicationRecord(
        name,
        "shop",
        f"{name}/volary.yaml",
        labels=labels,
        status="synced",
        document={"run": f"run-{name}", "releases": {"completed": "c2", "clusters": clusters}},
    )
    await world.service.store.applications.keep(record, fence=None)


async def test_clusters_say_what_they_are_made_of_and_what_is_there(tmp_path: Path) -> None:
    room = cluster_facts.Resources(110, 7.5, 2**34)
    async with server_world.served(tmp_path, members=FLEET, **TOKENS) as world:
        now = world.clock.now()
        facts = world.service.fleet.register.facts
        facts["us"] = cluster_facts.ClusterFacts(now, "v1.36.0", 3, 2, room)
        await keep_on(world, "web", {"us": "c1", "eu/west": "c2"}, team="shop")
        await keep_on(world, "pay", {"us": "c2"}, team="money")
        everything, shop = world.token("viewer"), world.token("viewer", team="shop")
        _, listed = await world.ask("GET", f"{API}/clusters", headers=everything)
        _, mine = await world.ask("GET", f"{API}/clusters/us", headers=shop)
        there = [
            await world.ask("GET", f"{API}/clusters/{path}/applications", headers=headers)
            for path, headers in (("us", everything), ("us", shop), ("eu/west", shop))
        ]
        unknown, _ = await world.ask("GET", f"{API}/clusters/x/applications", headers=everything)
        path = f"{API}/clusters/us/preview?action=cordon"
        _, all_of_them = await world.ask("GET", path, headers=everything)
        _, own = await world.ask("GET", path, headers=shop)
        world.service.fleet.register.is_leader = False
        _, unread = await world.ask("GET", f"{API}/clusters/eu/west", headers=everything)

    us, eu = listed["items"]
    assert (us["applications"], eu["applications"], mine["applications"]) == (2, 1, 1)
    assert us["facts"] == mine["facts"]
    assert (us["facts"]["version"], us["facts"]["nodes"], us["facts"]["readyNodes"]) == (
        "v1.36.0",
        3,
        2,
    )
    assert us["facts"]["capacity"] == {"pods": 110, "cpu": 7.5, "memory": 2**34}
    assert (us["facts"]["free"], eu["facts"]) == (None, None)
    assert us["factsMissing"] == ""
    assert eu["factsMissing"] == "version and capacity are read once the cluster has answered"
    assert unread["factsMissing"] == (
        "version and capacity are known to the leader only, and this server is on standby"
    )
    names = [[(each["name"], each["commit"]) for each in body["items"]] for _, body in there]
    assert names == [[("pay", "c2"), ("web", "c1")], [("web", "c1")], [("web", "c2")]]
    assert there[0][1]["items"][0]["completed"] == "c2"
    assert unknown == 404
    assert [each["application"] for each in all_of_them["applications"]] == ["pay", "web"]
    assert [each["application"] for each in own["applications"]] == ["web"]
    assert own["sentence"].startswith("nothing new begins on us; 1 application there")


WINDOWS = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: %s}
spec:
  windows:
    deny:
      - {name: year end, schedule: "0 0 20 12 *", duration: 336h}
"""


async def test_the_calendar_has_what_the_files_of_visible_applications_close(
    tmp_path: Path,
) -> None:
    repository = tmp_path / "git"
    for name, text in (("web", WINDOWS % "web"), ("pay", WINDOWS % "pay"), ("bad", "kind: [")):
        (repository / name).mkdir(parents=True)
        (repository / name / "volary.yaml").write_text(text)
    commit = command_world.commit(repository, "Windows")
    async with server_world.served(tmp_path / "data", members=FLEET, **TOKENS) as world:
        world.service.dependencies.repositories = git_feed.Feed(repository)
        for name, team in (("web", "shop"), ("pay", "money"), ("bad", "shop"), ("new", "shop")):
            record = records.ApplicationRecord(
                name,
                "shop",
                f"{name}/volary.yaml",
                labels={"team": team},
                document={} if name == "new" else {"wanted": commit},
            )
            await world.service.store.applications.keep(record, fence=None)
        everything, shop = world.token("viewer"), world.token("viewer", team="shop")
        path = f"{API}/calendar?days=30"
        _, all_of_them = await world.ask("GET", path, headers=everything)
        _, mine = await world.ask("GET", path, headers=shop)
        _, other = await world.ask("GET", f"{path}&application=pay", headers=shop)
        _, shared = await world.ask("GET", path, headers=everything)
        world.clock.forward(seconds=calendar_service.FRESH.total_seconds())
        _, fresh = await world.ask("GET", path, headers=everything)

    assert [each["application"] for each in all_of_them["unread"]] == ["bad"]
    assert [each["application"] for each in all_of_them["items"]] == ["pay", "web"]
    assert [each["application"] for each in mine["items"]] == ["web"]
    [window] = mine["items"]
    assert (window["reason"], window["clusters"]) == ("denied by year end", [])
    assert window["starts"][5:10] == "12-20"
    assert [each["application"] for each in mine["unread"]] == ["bad"]
    # What some asked for a moment ago is what others see.
    assert shared["since"] == all_of_them["since"] < fresh["since"]
    assert mine["unread"][0]["reason"]
    assert (other["items"], other["unread"], other["pending"]) == ([], [], 0)
