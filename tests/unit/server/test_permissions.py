"""Every endpoint × role, generated from the API's own description."""

import re
from pathlib import Path

import fastapi
import pytest

import server_world
from volary.server import app, permissions
from volary.server.authorization import access, guard

ALL = frozenset({"viewer", "deployer", "approver", "responder", "admin"})
#: Reading that is not for everybody with a role.
ADMINS_ONLY = {f"/api/v1/{what}" for what in ("audit", "audit/head", "tokens", "agents", "workers")}
DEPLOY, APPROVE, ADMIN = ALL - {"viewer", "approver"}, {"approver", "admin"}, {"admin"}
BREAK_GLASS = {"responder", "admin"}
#: Written down by hand, on purpose: what a route declares must not decide what is expected.
COMMANDS = {
    "/api/v1/applications/{application}/sync": DEPLOY,
    "/api/v1/applications/{application}/fetch": ALL,
    "/api/v1/applications/{application}/plan": DEPLOY,
    "/api/v1/applications/{application}/rollback": DEPLOY,
    "/api/v1/applications/{application}/rebalance": DEPLOY,
    "/api/v1/applications/{application}/rebalance/plan": DEPLOY,
    "/api/v1/applications/{application}/rollback/plan": DEPLOY,
    "/api/v1/applications/{application}/pause": DEPLOY,
    "/api/v1/applications/{application}/resume": DEPLOY,
    "/api/v1/applications/{application}/adopt": ADMIN,
    "/api/v1/applications/{application}/forget": ADMIN,
    "/api/v1/workers/{worker}": ADMIN,
    "/api/v1/workers/{worker}/rotate": ADMIN,
    "/api/v1/workers/{worker}/remove": ADMIN,
    "/api/v1/tokens": ADMIN,
    "/api/v1/tokens/{token}/revoke": ADMIN,
    "/api/v1/workspaces/{workspace}/delete": ADMIN,
    "/auth/logout": ALL,
    "/api/v1/runs/{run}/approve": APPROVE,
    "/api/v1/runs/{run}/reject": APPROVE,
    "/api/v1/runs/{run}/withdraw": APPROVE,
    "/api/v1/runs/{run}/promote": APPROVE,
    "/api/v1/runs/{run}/unfreeze": BREAK_GLASS,
    "/api/v1/runs/{run}/pause": DEPLOY,
    "/api/v1/runs/{run}/resume": DEPLOY,
    "/api/v1/runs/{run}/cancel": DEPLOY,
    "/api/v1/runs/{run}/abandon": DEPLOY,
    "/api/v1/runs/{run}/retry": DEPLOY,
    "/api/v1/runs/{run}/skip": DEPLOY,
    **dict.fromkeys(
        (
            f"/api/v1/clusters/{{cluster}}/{verb}"
            for verb in (
                *("cordon", "drain", "uncordon", "taint", "untaint"),
                *("agent", "agent/rotate", "agent/remove"),
            )
        ),
        ADMIN,
    ),
}
#: Agents' own: nobody else gets in, whatever their role.
OF_AGENTS = {
    f"/api/v1/agent/{what}"
    for what in (
        *("hello", "artifact", "admit", "report", "measure", "meet"),
        *("state/load", "state/save", "state/found", "state/recall", "state/keep"),
    )
}
PUBLIC = {
    *("/healthz", "/readyz", "/webhooks/{repository}"),
    *("/api/v1/session", "/auth/token", "/auth/login", "/auth/callback"),
}
SEEN = {"seen": {"stage": "1-WAIT", "group": "", "version": 1}}
BODIES: dict[str, dict[str, object]] = {
    **{verb: {"sealingKey": f"{'A' * 43}="} for verb in ("agent", "rotate")},
    "{worker}": {"sealingKey": f"{'A' * 43}=", "clusters": ["us"]},
    "tokens": {"name": "made", "role": "viewer"},
    "adopt": {"repository": "platform", "reason": "it has moved"},
    "forget": {"reason": "it is over"},
    "delete": {"confirm": "team-a"},
    "abandon": {"reason": "it is over"},
    "taint": {"key": "maintenance", "effect": "NoSchedule"},
    "untaint": {"key": "maintenance"},
    "skip": {"target": "us", "reason": "it is broken", **SEEN},
    "promote": {"reason": "it is urgent", "wave": "one", **SEEN},
    "unfreeze": {"reason": "the shop is down", **SEEN},
    **dict.fromkeys(("approve", "reject", "withdraw", "cancel", "retry"), SEEN),
}


def _expected(method: str, path: str) -> frozenset[str] | set[str]:
    if path in OF_AGENTS:
        return frozenset()
    if method == "POST":
        return COMMANDS[path]
    return ADMIN if path in ADMINS_ONLY else ALL


async def test_every_endpoint_lets_in_whom_it_should(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        keys = {role: world.token(role) for role in sorted(ALL)}
        people = {**keys, "stranger": {}, "forger": {"authorization": "Bearer volary_no"}}
        paths = world.application.openapi()["paths"]
        wrong = []
        for path, operations in paths.items():
            filled = path.replace("{run}", "run-web").replace("{application}", "web")
            filled = filled.replace("{cluster}", "nowhere").replace("{token}", "nobody")
            filled = filled.replace("{workspace}", "team-a").replace("{worker}", "hands")
            for method in operations:
                if path in PUBLIC:
                    continue
                allowed = _expected(method.upper(), path)
                for who, headers in people.items():
                    world.application.state.server_state.authenticator.failed.__init__()
                    body = BODIES.get(path.rpartition("/")[2])
                    async with world.session.request(
                        method, world.url + filled, headers=headers, json=body
                    ) as answer:
                        status = answer.status
                    denied = 403 if who in ALL and path not in OF_AGENTS else 401
                    fine = status not in (401, 403) if who in allowed else status == denied
                    if not fine or status >= 500:
                        wrong.append((who, method, path, status))

        assert wrong == []
        assert len(paths) > 25


async def test_roles_hold_for_applications_with_the_labels_only(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        shop = world.token("admin", team="shop")
        seen = {}
        for path in ("applications/web", "applications/pay", "runs/run-web", "runs/run-pay"):
            seen[path], _ = await world.ask("GET", f"/api/v1/{path}", headers=shop)
        _, listed = await world.ask("GET", "/api/v1/applications?limit=1", headers=shop)
        _, runs = await world.ask("GET", "/api/v1/runs", headers=shop)
        _, others = await world.ask("GET", "/api/v1/runs?application=pay", headers=shop)
        _, events = await world.ask("GET", "/api/v1/events", headers=shop)
        denied, _ = await world.ask("POST", "/api/v1/runs/run-pay/cancel", headers=shop)
        audit, _ = await world.ask("GET", "/api/v1/audit", headers=shop)

    assert list(seen.values()) == [200, 404, 200, 404]
    assert [each["name"] for each in listed["items"]] == ["web"]
    assert [each["id"] for each in runs["items"]] == ["run-web"]
    assert others["items"] == []
    assert {each["application"] for each in events["items"]} <= {"web"}
    assert (denied, audit) == (404, 403)


async def test_denied_wishes_are_in_the_audit(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        viewer, admin = world.token("viewer", "eve"), world.token("admin")
        for path in (
            "runs/run-web/cancel",
            "applications/web/sync",
            "clusters/us/drain",
        ):
            await world.ask("POST", f"/api/v1/{path}", headers=viewer)
        await world.ask("POST", "/api/v1/runs/run-web/cancel", headers=admin, json=SEEN)
        _, audit = await world.ask("GET", "/api/v1/audit", headers=admin)

    last, drain, sync, first = audit["items"]
    assert (sync["action"], sync["application"]) == ("application.sync", "web")
    assert (drain["action"], drain["document"]) == ("cluster.drain", {"cluster": "us"})
    assert (first["by"], first["action"], first["result"]) == ("token:eve", "run.cancel", "denied")
    assert (first["source"], first["run"]) == ("127.0.0.1", "run-web")
    assert (last["action"], last["result"]) == ("run.cancel", "failed")
    assert "succeeded" in last["document"]["refusal"]


def test_a_route_that_declares_nothing_does_not_start() -> None:
    router = fastapi.APIRouter(route_class=guard.GuardedRoute)

    async def endpoint() -> None: ...

    with pytest.raises(access.UndeclaredError, match=re.escape("endpoint declares no")):
        router.get("/free")(endpoint)


def test_a_route_that_is_not_guarded_does_not_start() -> None:
    router = fastapi.APIRouter()

    @router.get("/free")
    async def endpoint() -> None: ...

    with pytest.raises(access.UndeclaredError, match="not guarded"):
        app.check(router)


async def test_a_route_checks_names_and_permission_before_it_is_entered(tmp_path: Path) -> None:
    router = fastapi.APIRouter(route_class=guard.GuardedRoute)
    entered = []

    @router.post("/test/deploys")
    @access.needs(permissions.Permission.DEPLOY, access.Scope.OWN)
    async def deploys() -> None:
        entered.append("deploys")

    @router.post("/test/clusters/{cluster}/{word}", status_code=202)
    @access.needs(permissions.Permission.VIEW)
    async def names(cluster: str, word: str) -> None:
        entered.append(f"{cluster}/{word}")

    async with server_world.served(tmp_path) as world:
        world.application.router.routes[:0] = router.routes
        statuses = {}
        for role in ("viewer", "deployer"):
            key = world.token(role, team="shop")
            statuses[role], _ = await world.ask("POST", "/test/deploys", headers=key)
        admin = world.token("admin")
        for path in ("us/web", "eu.example_1/web", "us/..%5Cweb", "us/-web", "us/a%20b", "a%20b/c"):
            statuses[path], _ = await world.ask("POST", f"/test/clusters/{path}", headers=admin)

    assert statuses == {
        "viewer": 403,
        "deployer": 200,
        "us/web": 202,
        "eu.example_1/web": 202,
        "us/..%5Cweb": 404,
        "us/-web": 404,
        "us/a%20b": 404,
        "a%20b/c": 404,
    }
    assert entered == ["deploys", "us/web", "eu.example_1/web"]


async def test_failed_logins_and_denials_are_counted(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        viewer = world.token("viewer")
        await world.ask("GET", "/api/v1/runs", headers={"authorization": "Bearer volary_no"})
        for _ in range(2):
            await world.ask("GET", "/api/v1/runs")
        await world.ask("POST", "/api/v1/applications/web/sync", headers=viewer)
        _, metrics = await world.ask("GET", "/metrics", headers=viewer)

    counted = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if "_total " in line)
    assert counted["volary_failed_logins_total"] == "1.0", "nobody who gave no login has failed"
    assert counted["volary_denied_total"] == "1.0"
