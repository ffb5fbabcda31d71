"""Teams that share a server: every route × role × whose it is, and no word of another's anywhere.

Everything that is not of the project `shop` has `canary` in every name and text of it, so whatever
is answered to people of the shop can be searched for that.
"""

import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import server_world
from volary.controller.workspaces import workspace_states
from volary.model import projects, server_settings, workspaces
from volary.model.fleet import fleets
from volary.model.placement import rollouts
from volary.server import app, permissions
from volary.server.authorization import access, guard
from volary.store import records
from volary.tenancy import membership

CANARY = "canary"
API = "/api/v1"
ROLES = tuple(server_settings.Role)
WAYS = ("settings", "project", "token")
SEEN = {"seen": {"stage": "1-WAIT", "group": "", "version": 1}}
BODIES: dict[str, dict[str, object]] = {
    "tokens": {"name": "made", "role": "viewer", "project": "shop"},
    "adopt": {"repository": "shop-repo", "reason": "it has moved"},
    "forget": {"reason": "it is over"},
    "abandon": {"reason": "it is over"},
    "taint": {"key": "maintenance", "effect": "NoSchedule"},
    "untaint": {"key": "maintenance"},
    "skip": {"target": "us", "reason": "it is broken", **SEEN},
    "promote": {"reason": "it is urgent", "wave": "one", **SEEN},
    "unfreeze": {"reason": "the shop is down", **SEEN},
    **dict.fromkeys(("approve", "reject", "withdraw", "cancel", "retry"), SEEN),
}
#: What a parameter of a path stands for: the shop's, another's, and what is not there.
TARGETS: Mapping[str, tuple[str, str, str]] = {
    "application": ("app-a", f"b-{CANARY}", "nothing"),
    "run": ("run-app-a", f"run-b-{CANARY}", "nothing"),
    "cluster": ("shared", f"{CANARY}-cluster", "nothing"),
    "token": ("shop/ci", f"{CANARY}-project/{CANARY}-ci", "nothing"),
    "repository": ("shop-repo", f"{CANARY}-repo", "nothing"),
    "project": ("shop", f"{CANARY}-project", "nothing"),
    "workspace": ("shop-space", f"{CANARY}-space", "nothing"),
    "worker": ("hands", f"{CANARY}-hands", "nothing"),
}
FLEET = fleets.Fleet(
    (
        fleets.Cluster("shared", namespaces=("shop", f"{CANARY}-namespace")),
        fleets.Cluster(f"{CANARY}-cluster", labels={f"{CANARY}-label": CANARY}, region=CANARY),
        fleets.Cluster("of-the-app"),
    )
)


def destination(cluster: str, namespace: str) -> projects.Destination:
    return projects.Destination(rollouts.ClusterSelector(names=(cluster,)), (namespace,))


def all_projects(given: tuple[projects.ProjectRole, ...] = ()) -> membership.Projects:
    shop = projects.Project(
        "shop",
        sources=(projects.Source("shop-repo"),),
        destinations=(destination("shared", "shop"),),
        roles=given,
    )
    other = projects.Project(
        f"{CANARY}-project",
        sources=(projects.Source(f"{CANARY}-repo"),),
        destinations=(
            destination("shared", f"{CANARY}-*"),
            destination(f"{CANARY}-cluster", f"{CANARY}-*"),
        ),
    )
    return membership.Projects({each.name: each for each in (shop, other)})


async def keep(world: server_world.Served, name: str, project: str) -> None:
    """Store an application with a run, a log and an entry of the audit."""
    canary = "" if project == "shop" else CANARY
    store = world.service.store
    record = records.ApplicationRecord(
        name,
        f"{canary or 'shop'}-repo",
        f"{canary or 'shop'}/volary.yaml",
        project=project,
        labels={"team": "shop", f"{canary or 'shop'}-label": canary or "shop"},
        status="failed",
        reason=f"it failed {canary}",
        document={
            "releases": {
                "clusters": {f"{CANARY}-cluster" if canary else "of-the-app": {"commit": "c0ffee"}}
            }
        },
    )
    await store.applications.keep(record, fence=None)
    await world.keep_run(f"run-{name}", name)
    await world.tell(f"run-{name}", 1, f"{canary or 'shop'}-happened")
    await world.say(f"run-{name}", f"a line {canary}")
    entry = records.AuditRecord(
        world.clock.now(),
        f"token:{canary or 'shop'}",
        "application.sync",
        "ok",
        application=name,
        document={"why": canary},
    )
    await store.audit.write(entry)


async def keep_workspace(world: server_world.Served, name: str, project: str) -> None:
    """Store a workspace that is on every cluster."""
    canary = "" if project == "shop" else CANARY
    states = {
        cluster.name: workspace_states.ClusterState(
            reason=f"it failed {canary}", namespaces=(f"{name}-1",)
        )
        for cluster in FLEET.clusters
    }
    state = workspace_states.WorkspaceState(
        workspaces.Workspace(
            name, project=project, namespaces=(workspaces.WorkspaceNamespace(f"{name}-1"),)
        ),
        states,
    )
    record = workspace_states.to_record(state, world.clock.now())
    await world.service.store.workspaces.keep([record], fence=None)


@dataclass
class Person:
    """Somebody with one role for the shop, or none."""

    name: str
    headers: dict[str, str]
    role: server_settings.Role | None

    @property
    def permissions(self) -> frozenset[permissions.Permission]:
        return permissions.ROLES[self.role] if self.role else frozenset()


@contextlib.asynccontextmanager
async def shared(tmp_path: Path) -> AsyncIterator[tuple[server_world.Served, list[Person]]]:
    """Serve two projects, and what is in none."""
    everybody = [(role, way) for role in ROLES for way in WAYS]
    carriers = {(role, way): f"{role.value}-{way}" for role, way in everybody}
    bound = tuple(
        server_settings.RoleBinding(
            role,
            subject=f"token:nowhere/{name}",
            applications=server_settings.Subjects(projects=("shop",)),
        )
        for (role, way), name in carriers.items()
        if way == "settings"
    )
    given = tuple(
        projects.ProjectRole(role, subjects=(f"token:nowhere/{name}",))
        for (role, way), name in carriers.items()
        if way == "project"
    )
    async with server_world.served(tmp_path, members=FLEET, roles=bound) as world:
        world.service.dependencies.projects = lambda: all_projects(given)
        for name, project in (
            *(("app-a", "shop"), (f"b-{CANARY}", f"{CANARY}-project")),
            *((f"c-{CANARY}", ""), ("d", "shop"), (f"e-{CANARY}", f"{CANARY}-project")),
        ):
            await keep(world, name, project)
        await keep_workspace(world, "shop-space", "shop")
        await keep_workspace(world, f"{CANARY}-space", f"{CANARY}-project")
        world.token("viewer", "ci", project="shop")
        world.token("viewer", f"{CANARY}-ci", project=f"{CANARY}-project")
        world.token("admin", f"{CANARY}-platform")
        people = [
            # What only carries a name has a role in a project that is not there.
            Person(
                name,
                world.token(role.value, name, project="shop")
                if way == "token"
                else world.token("viewer", name, project="nowhere"),
                role,
            )
            for (role, way), name in carriers.items()
        ]
        people.append(Person("none", world.token("viewer", "none", project="nowhere"), None))
        yield world, people


def routes() -> Iterator[tuple[str, str, access.Access]]:
    for router in app.ROUTERS:
        for route in router.routes:
            if isinstance(route, guard.AgentSocketRoute):
                continue  # for agents only: tests/unit/server/test_agent_link.py
            assert isinstance(route, guard.GuardedRoute)
            for method in route.methods or ():
                yield method, route.path.replace(":path}", "}"), route.access


def parameter(path: str) -> str:
    found = re.search(r"{(\w+)}", path)
    return found[1] if found else ""


def refusals(who: Person, needed: access.Access, path: str, whose: int) -> set[int]:
    """Return what has to be answered; empty: anything but a refusal."""
    scope, permission = needed.scope, needed.permission
    if permission in (permissions.Permission.PUBLIC, permissions.Permission.KNOWN):
        return set() if whose == 0 or not path.startswith("/webhooks") else {404}
    if scope is access.Scope.EVERYTHING:
        # Nobody but an agent is known there.
        return {401, 429} if permission is permissions.Permission.AGENT else {403}
    if scope is access.Scope.PROJECT:
        is_admin = permission in who.permissions
        return {403} if not is_admin else {404} if whose else set()
    if scope is access.Scope.OWN:
        # Who has a role in some project only that is not there sees lists, and nothing in them.
        return {404} if parameter(path) and (whose or not who.role) else set()
    if whose or not who.role:
        return {404}
    return set() if permission in who.permissions else {403}


def hidden(body: bytes, asked: str) -> str:
    """Return a body without what was asked for, and with its cursor in clear."""
    text = body.decode()
    with contextlib.suppress(ValueError):
        document = json.loads(text)
        cursor = document.get("cursor", "") if isinstance(document, dict) else ""
        text += base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    return text.replace(asked, "…")


@pytest.mark.parametrize("way", [*WAYS, "none"])
async def test_every_route_lets_people_of_a_project_to_their_own_only(
    tmp_path: Path, way: str
) -> None:
    async with shared(tmp_path) as (world, people):
        wrong: list[object] = []
        count = 0
        for method, path, needed in routes():
            named = TARGETS.get(parameter(path), ("",))
            assert bool(parameter(path)) is (named != ("",)), path
            if path.endswith("/stream"):
                continue
            for who in people:
                if not who.name.endswith(way):
                    continue
                answers = []
                for whose, name in enumerate(named):
                    filled = re.sub(r"{\w+}", name, path)
                    async with world.session.request(
                        method,
                        world.url + filled,
                        headers=who.headers,
                        json=BODIES.get(path.rpartition("/")[2]),
                    ) as answer:
                        status, text = answer.status, hidden(await answer.read(), name)
                    count += 1
                    expected = refusals(who, needed, path, whose)
                    is_webhook = path.startswith("/webhooks")
                    fine = status in expected if expected else status not in (401, 403)
                    if (not fine and not is_webhook) or status >= 500 or CANARY in text:
                        wrong.append((who.name, method, filled, status, expected, text))
                    answers.append((status, text))
                # What is another's is answered as what is not there.
                if answers[1:] and answers[1] != answers[2]:
                    wrong.append((who.name, method, path, answers[1:]))

    assert wrong == []
    assert count > 100


async def test_no_page_of_any_list_tells_of_others(tmp_path: Path) -> None:
    lists = ("applications", "runs", "events", "audit", "tokens", "clusters", "approvals")
    async with shared(tmp_path) as (world, people):
        [admin] = [who for who in people if who.name == "admin-project"]
        walked: dict[str, list[Any]] = {}
        for path in lists:
            cursor, items = "", []
            for _ in range(100):
                async with world.session.get(
                    f"{world.url}{API}/{path}?limit=1&cursor={cursor}", headers=admin.headers
                ) as answer:
                    body = await answer.read()
                    assert answer.status == 200, body
                assert CANARY not in hidden(body, "\0"), path
                assert CANARY not in str(answer.headers).lower(), path
                page = json.loads(body)
                items += page["items"]
                cursor = page["cursor"]
                if not cursor:
                    break
            assert not cursor, path
            walked[path] = items
        _, filtered = await world.ask(
            "GET", f"{API}/applications?label=team=shop", headers=admin.headers
        )
        _, others = await world.ask(
            "GET", f"{API}/applications?project={CANARY}-project", headers=admin.headers
        )
        _, guessed = await world.ask(
            "GET", f"{API}/events?application=b-{CANARY}", headers=admin.headers
        )

    assert [each["name"] for each in walked["applications"]] == ["app-a", "d"]
    assert {each["id"] for each in walked["runs"]} == {"run-app-a", "run-d"}
    assert {each["application"] for each in walked["events"]} == {"app-a", "d"}
    assert {each["project"] for each in walked["audit"]} == {"shop"}
    assert {each["project"] for each in walked["tokens"]} == {"shop"}
    assert [each["name"] for each in walked["clusters"]] == ["shared", "of-the-app"]
    assert [each["namespaces"] for each in walked["clusters"]] == [["shop"], []]
    assert [each["name"] for each in filtered["items"]] == ["app-a", "d"]
    assert others["items"] == guessed["items"] == []


async def test_a_stream_of_everything_has_ones_own_events_only(tmp_path: Path) -> None:
    async with shared(tmp_path) as (world, people):
        [viewer] = [who for who in people if who.name == "viewer-settings"]
        async with world.session.get(
            f"{world.url}{API}/events/stream?after=0", headers=viewer.headers
        ) as answer:
            # The other projects' events were written before this one.
            await world.tell("run-d", 2, "shop-the-end")
            read = await until(answer, b"shop-the-end")
        refused = []
        for path in ("events/stream", "logs/stream"):
            async with world.session.get(
                f"{world.url}{API}/runs/run-b-{CANARY}/{path}", headers=viewer.headers
            ) as answer:
                refused.append(answer.status)

    assert CANARY not in read.decode()
    assert read.count(b"event: shop-happened") == 2
    assert refused == [404, 404]


async def test_admins_of_a_project_make_tokens_of_it_and_no_others(tmp_path: Path) -> None:
    async with shared(tmp_path) as (world, people):
        [admin] = [who for who in people if who.name == "admin-project"]
        made = []
        for name, project in (
            ("release", "shop"),
            ("release", f"{CANARY}-project"),
            ("release", "not-there"),
            ("release", ""),
        ):
            made.append(
                await world.ask(
                    "POST",
                    f"{API}/tokens",
                    headers=admin.headers,
                    json={"name": name, "role": "admin", "project": project},
                )
            )
        (_, own), *others = made
        key = {"authorization": f"Bearer {own['token']}"}
        _, who = await world.ask("GET", f"{API}/whoami", headers=key)
        _, seen = await world.ask("GET", f"{API}/applications", headers=key)
        known = {token.full_name for token in world.tokens.all() if token.revoked is None}
        by_id = next(
            token.id for token in world.tokens.all() if token.full_name == f"{CANARY}-platform"
        )
        revoked = [
            (await world.ask("POST", f"{API}/tokens/{name}/revoke", headers=admin.headers))[0]
            for name in ("shop/release", f"{CANARY}-platform", by_id)
        ]
        after, _ = await world.ask("GET", f"{API}/whoami", headers=key)

    assert [status for status, _ in made] == [201, 403, 403, 403]
    assert own["name"] == "shop/release"
    assert who["name"] == "token:shop/release"
    assert [(role["role"], role["matchLabels"], role["projects"]) for role in who["roles"]] == [
        ("admin", {}, ["shop"])
    ]
    assert "administer" in who["roles"][0]["permissions"]
    assert [each["name"] for each in seen["items"]] == ["app-a", "d"]
    assert {name for name in known if name.endswith("release")} == {"shop/release"}
    assert {answer["detail"].rpartition(" of ")[0] for _, answer in others[:2]} == {
        "token:nowhere/admin-project may not make tokens"
    }
    assert (revoked, after) == ([202, 404, 404], 401)


async def test_a_name_of_a_projects_token_means_nobody_else(tmp_path: Path) -> None:
    """Whoever makes tokens of a project could otherwise take a name that the settings trust."""
    bound = server_settings.RoleBinding(server_settings.Role.ADMIN, subject="token:release")
    async with server_world.served(tmp_path, roles=(bound,)) as world:
        impostor = world.token("viewer", "release", project="shop")
        _, who = await world.ask("GET", f"{API}/whoami", headers=impostor)

    assert who["roles"] == [
        {"role": "viewer", "matchLabels": {}, "projects": ["shop"], "permissions": ["view"]}
    ]


async def test_roles_of_projects_follow_their_files_at_once(tmp_path: Path) -> None:
    ana = projects.ProjectRole(server_settings.Role.DEPLOYER, subjects=("token:nowhere/ana",))
    async with server_world.served(
        tmp_path, members=FLEET, patience=server_world.server_state.StreamTimeouts(heartbeat=0.1)
    ) as world:
        await keep(world, "app-a", "shop")
        key = world.token("viewer", "ana", project="nowhere")
        seen = []

        async def look(known: membership.Projects) -> None:
            world.service.dependencies.projects = lambda: known
            seen.append((await world.ask("GET", f"{API}/runs/run-app-a", headers=key))[0])

        await look(all_projects((ana,)))
        await world.keep_run("run-open", "app-a", ended=False)
        streams = f"{world.url}{API}"
        async with (
            world.session.get(f"{streams}/events/stream", headers=key) as everything,
            world.session.get(f"{streams}/runs/run-open/events/stream", headers=key) as one,
        ):
            await look(all_projects())
            # It ends by itself: the run is nobody's any more who reads.
            ended = await one.read()
            for _ in range(2):
                await until(everything, b": still here")
            await world.tell("run-app-a", 2, "shop-meanwhile")
            await until(everything, b": still here")
            await look(all_projects((ana,)))
            for _ in range(2):
                await until(everything, b": still here")
            await world.tell("run-app-a", 3, "shop-again")
            told = await until(everything, b"shop-again")
        await look(membership.Projects(unknown="the Git host is away"))
        await look(all_projects((ana,)))

    assert seen == [200, 404, 200, 404, 200]
    assert b"event: closing" in ended
    assert b"shop-meanwhile" not in told


async def until(answer: aiohttp.ClientResponse, wanted: bytes) -> bytes:
    """Return what is read of a stream until a line has what is wanted."""
    read = b""
    async for line in answer.content:
        read += line
        if wanted in line:
            break
    return read
