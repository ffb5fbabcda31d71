"""The first screen over HTTP: what needs a person, what runs where, and never what is another's."""

import asyncio
import collections
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import server_world
from volary.controller.api.screens import overview, overview_service
from volary.model.fleet import fleets
from volary.store import records

API = "/api/v1"
FLEET = fleets.Fleet(
    (
        fleets.Cluster("dev-1", labels={"env": "dev"}),
        fleets.Cluster("eu-1", labels={"env": "prod"}, region="eu"),
        fleets.Cluster("us-1", labels={"env": "prod"}, region="us"),
    )
)
OLD, NEW = "0ld1111", "aaaa222"


async def keep(
    world: server_world.Served,
    name: str,
    *,
    status: str = "synced",
    project: str = "shop",
    run: str = "",
    commits: dict[str, str] | None = None,
    **document: Any,
) -> None:
    """Store an application that is on clusters."""
    clusters = {cluster: {"commit": commit} for cluster, commit in (commits or {}).items()}
    record = records.ApplicationRecord(
        name,
        "shop",
        f"{name}/volary.yaml",
        project=project,
        labels={"team": f"{project}-team"},
        status=status,
        reason=f"{name} is {status}",
        document={
            "run": run,
            "head": NEW,
            "releases": {"clusters": clusters, "running": OLD},
            **document,
        },
        updated=world.clock.now(),
    )
    await world.service.store.applications.keep(record, fence=None)
    world.service.kept.notify_all()


@asynccontextmanager
async def fleet_of_two_teams(directory: Path) -> AsyncIterator[server_world.Served]:
    async with server_world.served(directory, members=FLEET) as world:
        everywhere = {"dev-1": NEW, "eu-1": OLD, "us-1": OLD}
        await keep(world, "cart", commits=everywhere)
        await keep(world, "web", status="failed", run="run-web", commits={"eu-1": OLD})
        await world.keep_run("run-web", "web")
        await keep(world, "refused", status="failed", run="never-begun", commits={"us-1": OLD})
        await keep(world, "secret", status="failed", project="money", commits={"us-1": OLD})
        await keep(world, "busy", status="running", run="run-busy", commits={"us-1": OLD})
        await world.keep_run("run-busy", "busy", ended=False)
        yield world


async def test_what_needs_a_person_comes_first_and_then_what_runs_where(tmp_path: Path) -> None:
    async with fleet_of_two_teams(tmp_path) as world:
        _, shown = await world.ask("GET", f"{API}/overview")
        _, rows = await world.ask("GET", f"{API}/overview/applications")

    assert shown["sentence"] == "3 of 5 applications need you; 1 run is under way"
    assert [(one["kind"], one["application"], one["run"]) for one in shown["attention"]] == [
        ("failed", "web", "run-web"),
        ("refusedCommit", "refused", ""),
        ("refusedCommit", "secret", ""),
    ]
    assert shown["attention"][0]["sentence"] == "web is failed"
    [running] = shown["running"]
    assert (running["run"], running["application"]) == ("run-busy", "busy")
    assert (running["stagesDone"], running["stagesTotal"], running["clustersTotal"]) == (0, 1, 2)
    assert (shown["places"], shown["placesBy"]) == (["dev", "prod"], "environment")
    assert {one["value"]: one["count"] for one in shown["facets"]["project"]} == {
        "shop": 4,
        "money": 1,
    }
    assert {one["value"]: one["count"] for one in shown["facets"]["cluster"]} == {
        "us-1": 4,
        "eu-1": 2,
        "dev-1": 1,
    }
    names = [row["name"] for row in rows["items"]]
    assert names == ["refused", "secret", "web", "busy", "cart"]
    assert rows["items"][2]["released"] == world.clock.now().isoformat().replace("+00:00", "Z")
    dev, prod = rows["items"][4]["places"]
    assert (dev["place"], dev["commits"], dev["clusters"]) == ("dev", [NEW], 1)
    assert (prod["place"], prod["commits"], prod["clusters"], prod["current"]) == (
        "prod",
        [OLD],
        2,
        2,
    )
    assert (prod["health"], prod["drift"]) == ("unknown", "unknown")


async def test_nobody_learns_of_the_applications_of_others_not_even_how_many(
    tmp_path: Path,
) -> None:
    async with fleet_of_two_teams(tmp_path) as world:
        money = world.token("viewer", project="money")
        status, shown = await world.ask("GET", f"{API}/overview", headers=money)
        _, rows = await world.ask("GET", f"{API}/overview/applications", headers=money)
        _, narrowed = await world.ask(
            "GET", f"{API}/overview/applications?project=shop", headers=money
        )

    assert status == 200
    assert shown["applications"] == 1
    assert shown["sentence"] == "1 of 1 application needs you"
    assert [one["application"] for one in shown["attention"]] == ["secret"]
    assert shown["running"] == []
    # The one cluster that its application is on.
    assert shown["places"] == ["prod"]
    assert [one["value"] for one in shown["facets"]["project"]] == ["money"]
    assert [one["value"] for one in shown["facets"]["cluster"]] == ["us-1"]
    assert [row["name"] for row in rows["items"]] == ["secret"]
    assert narrowed["items"] == []


async def test_rows_are_searched_narrowed_and_paged(tmp_path: Path) -> None:
    async with fleet_of_two_teams(tmp_path) as world:

        async def names(query: str) -> list[str]:
            status, page = await world.ask("GET", f"{API}/overview/applications?{query}")
            assert status == 200, page
            return [row["name"] for row in page["items"]]

        found = {
            query: await names(query)
            for query in (
                "search=CAR",
                "search=money",
                f"search={NEW[:4]}",
                "search=nothing",
                "status=failed&project=shop",
                "cluster=eu-1",
                "region=eu",
                "team=money-team",
                "label=team=money-team",
            )
        }
        cursor, walked = "", list[str]()
        for _ in range(10):
            _, page = await world.ask("GET", f"{API}/overview/applications?limit=2&cursor={cursor}")
            walked += [row["name"] for row in page["items"]]
            if not (cursor := page["cursor"]):
                break
            # What is gone by then neither repeats nor hides others.
            await keep(world, "another", status="failed")
        garbage, _ = await world.ask("GET", f"{API}/overview/applications?cursor=bm8")

    assert found == {
        "search=CAR": ["cart"],
        "search=money": ["secret"],
        f"search={NEW[:4]}": ["refused", "secret", "web", "busy", "cart"],
        "search=nothing": [],
        "status=failed&project=shop": ["refused", "web"],
        "cluster=eu-1": ["web", "cart"],
        "region=eu": ["web", "cart"],
        "team=money-team": ["secret"],
        "label=team=money-team": ["secret"],
    }
    assert walked == ["refused", "secret", "web", "busy", "cart"]
    assert garbage == 400


async def test_what_was_stored_before_somebody_asked_is_in_the_answer(tmp_path: Path) -> None:
    async with fleet_of_two_teams(tmp_path) as world:
        await world.ask("GET", f"{API}/overview")
        for round_number in range(5):
            await keep(world, f"new-{round_number}", status="broken")
            _, shown = await world.ask("GET", f"{API}/overview")
            broken = [one for one in shown["attention"] if one["kind"] == "broken"]
            assert len(broken) == round_number + 1


class Counted:
    """What is asked of a store's part, by the names of its methods."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self.asked: collections.Counter[str] = collections.Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._part, name)

        async def counted(*given: Any, **more: Any) -> Any:
            self.asked[name] += 1
            return await method(*given, **more)

        return counted


async def look(world: server_world.Served) -> int:
    service = world.service.overview
    shown = await service.get(overview_service.EVERYBODY)
    page = await service.rows(overview_service.EVERYBODY, overview.Narrowing())
    return id(shown) + id(page)


async def test_two_hundred_viewers_cost_as_much_as_one(tmp_path: Path) -> None:
    async with fleet_of_two_teams(tmp_path) as world:
        store = world.service.store
        store.applications = applications = Counted(store.applications)  # type: ignore[assignment]
        store.runs = runs = Counted(store.runs)  # type: ignore[assignment]
        await look(world)
        one = applications.asked + runs.asked
        applications.asked.clear(), runs.asked.clear()
        world.service.kept.notify_all()
        looked = await asyncio.gather(*(look(world) for _ in range(200)))
        many = applications.asked + runs.asked

    # One reading may have begun before the last of them came.
    assert all(many[name] <= 2 * one[name] for name in many), (one, many)
    assert len(set(looked)) <= 2


async def test_of_a_thousand_applications_only_runs_under_way_are_read(tmp_path: Path) -> None:
    members = fleets.Fleet(tuple(fleets.Cluster(f"c{number}") for number in range(20)))
    async with server_world.served(tmp_path, members=members) as world:
        commits = {cluster.name: OLD for cluster in members.clusters}
        for first in range(0, 1000, 250):
            await asyncio.gather(
                *(
                    keep(
                        world,
                        f"app-{number:04}",
                        status="failed" if number % 50 == 0 else "synced",
                        run=f"run-{number}",
                        commits=commits,
                    )
                    for number in range(first, first + 250)
                )
            )
        for number in (1, 2, 3):
            await world.keep_run(f"run-{number}", f"app-{number:04}", ended=False)
        store = world.service.store
        store.applications = applications = Counted(store.applications)  # type: ignore[assignment]
        store.runs = runs = Counted(store.runs)  # type: ignore[assignment]
        shown = await world.service.overview.get(overview_service.EVERYBODY)
        await look(world)

    assert shown.sentence == "20 of 1000 applications need you; 3 runs are under way"
    assert len(shown.places) == 12
    # Two full pages and the end; one list of runs, one of those that failed, one for the rows.
    assert applications.asked == {"list": 2}
    assert runs.asked == {"list": 1, "summaries": 1, "load": 3, "last_good_ends": 1}


async def test_a_cluster_shows_what_a_run_under_way_has_brought_to_it(tmp_path: Path) -> None:
    members = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu")))
    async with server_world.served(tmp_path, members=members) as world:
        on_both = {"us": OLD, "eu": OLD}
        await keep(world, "busy", status="running", run="run-busy", commits=on_both)
        await keep(world, "cart", commits=on_both)
        await world.keep_run("run-busy", "busy", ended=False, done_on="us")
        world.service.kept.notify_all()
        shown = {
            cluster: [
                (one["name"], one["commit"])
                for one in (await world.ask("GET", f"{API}/clusters/{cluster}/applications"))[1][
                    "items"
                ]
            ]
            for cluster in ("us", "eu")
        }
        _, rows = await world.ask("GET", f"{API}/overview/applications")
        _, application = await world.ask("GET", f"{API}/applications/busy")

    assert shown == {
        "us": [("busy", "c0ffee"), ("cart", OLD)],
        "eu": [("busy", OLD), ("cart", OLD)],
    }
    # The first screen says the same, and how the run is as the application's own page does.
    busy, cart = rows["items"]
    assert [one["commits"] for one in busy["places"]] == [["c0ffee"], [OLD]]
    assert (busy["runStatus"], cart["runStatus"]) == ("running", "")
    assert (application["status"], application["runStatus"]) == ("running", "running")


async def test_a_cluster_is_where_its_labels_say_unless_the_fleet_says_it(tmp_path: Path) -> None:
    labels = {"region": "eu", "zone": "eu-1a", "provider": "acme"}
    members = fleets.Fleet(
        (
            fleets.Cluster("labelled", labels=labels),
            fleets.Cluster("written", labels=labels, region="us", zones=("b", "a")),
            fleets.Cluster("bare"),
        )
    )
    async with server_world.served(tmp_path, members=members) as world:
        _, shown = await world.ask("GET", f"{API}/clusters")
        _, overviewed = await world.ask("GET", f"{API}/overview")

    told = [(one["name"], one["provider"], one["region"], one["zones"]) for one in shown["items"]]
    assert told == [
        ("labelled", "acme", "eu", ["eu-1a"]),
        ("written", "acme", "us", ["b", "a"]),
        ("bare", "", "", []),
    ]
    assert overviewed["places"] == ["eu", "us", "others"]
