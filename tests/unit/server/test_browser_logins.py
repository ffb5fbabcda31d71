"""Logins in the browser, by a client that keeps cookies as browsers do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from http import cookies
from pathlib import Path
from typing import Any
from urllib import parse

import aiohttp
import pytest

import login_issuer
import server_world
from volary.model import server_settings
from volary.server import server_state
from volary.server.authentication import sessions
from volary.server.connections import request_rates
from volary.store import records
from volary.store.sql.repositories import sessions as session_store

API = "/api/v1"
#: Nobody listens there: browsers of these tests go to the server itself instead.
PUBLIC = "http://localhost:1"
COOKIE = "volary-session-1"


@dataclass
class Browser:
    """Sends its cookies, and what it knows of CSRF."""

    world: server_world.Served
    jar: dict[str, str] = field(default_factory=dict)
    csrf: str = ""
    last: list[str] = field(default_factory=list)

    async def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, **more: Any
    ) -> tuple[int, Any]:
        sent = {"x-csrf-token": self.csrf} if self.csrf else {}
        if self.jar:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        async with self.world.session.request(
            method,
            path if path.startswith("http") else self.world.url + path,
            headers={**sent, **(headers or {})},
            allow_redirects=False,
            **more,
        ) as answer:
            self.last = answer.headers.getall("set-cookie", [])
            self._keep()
            if answer.status in (302, 303):
                return answer.status, answer.headers["location"]
            kind = answer.headers.get("content-type", "")
            return answer.status, await (
                answer.json(content_type=None) if "json" in kind else answer.text()
            )

    def _keep(self) -> None:
        for text in self.last:
            for name, kept in cookies.SimpleCookie(text).items():
                self.jar[name] = kept.value
                if kept["max-age"] == "0":
                    del self.jar[name]

    async def log_in(self, header: dict[str, str]) -> tuple[int, Any]:
        """Log in with the token of a header."""
        token = header["authorization"].removeprefix("Bearer ")
        status, shown = await self.ask("POST", "/auth/token", json={"token": token})
        if status == 200:
            self.csrf = shown["csrfToken"]
        return status, shown

    async def come_back(self, issuer_address: str) -> str:
        """Log in at the issuer, come back, and return where one is sent then."""
        status, address = await self.ask("GET", issuer_address)
        assert status == 302, address
        assert address.startswith(f"{PUBLIC}/auth/callback?")
        status, address = await self.ask("GET", address.removeprefix(PUBLIC))
        assert status == 303, address
        return str(address)

    async def session(self) -> Any:
        _, shown = await self.ask("GET", f"{API}/session")
        self.csrf = shown["csrfToken"]
        return shown


@contextlib.asynccontextmanager
async def served(directory: Path, **more: Any) -> AsyncIterator[server_world.Served]:
    async with server_world.served(directory, url=PUBLIC, **more) as world:
        yield world


@contextlib.asynccontextmanager
async def with_issuer(
    directory: Path, **more: Any
) -> AsyncIterator[tuple[server_world.Served, login_issuer.Issuer]]:
    """A server whose people are those of an issuer; the clock is that of the tests."""
    secret = directory / "client-secret"
    secret.write_text(login_issuer.SECRET)
    roles = (server_settings.RoleBinding(server_settings.Role.VIEWER, group="shop"),)
    async with login_issuer.issuing() as issuer:
        oidc = server_settings.Oidc(
            issuer.url,
            "volary",
            algorithms=("ES256",),
            client_id=login_issuer.CLIENT,
            client_secret_file=str(secret),
        )
        auth = server_settings.Auth(oidc)
        async with served(directory / "data", auth=auth, roles=roles, **more) as world:
            yield world, issuer


async def test_a_token_is_shown_once_and_a_cookie_from_then_on(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        token = world.token("deployer", "ana")
        ana = Browser(world)
        before = await ana.session()
        status, shown = await ana.log_in(token)
        said = ana.last
        _, who = await ana.ask("GET", f"{API}/whoami")
        paused, _ = await ana.ask("POST", f"{API}/runs/run-web/pause")
        _, again = await ana.ask("GET", f"{API}/session")
        _, audit = await world.ask("GET", f"{API}/audit", headers=world.token("admin"))

    assert (before["authenticated"], before["methods"], before["version"]) == (False, ["token"], "")
    assert (status, shown["name"], who["name"]) == (200, "token:ana", "token:ana")
    assert paused == 409, "only because the run has ended"
    assert again == shown
    assert audit["items"][-1]["action"] == "session.begin"
    assert len(said) == 1
    assert said[0].startswith(f"{COOKIE}=")
    assert all(word in said[0] for word in ("HttpOnly", "Path=/", "SameSite=lax"))
    assert "Secure" not in said[0]
    assert shown["csrfToken"] not in said[0]


async def test_with_https_the_cookie_is_this_hosts_alone(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, url="https://volary.example.org") as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer"))

    assert ana.last[0].startswith("__Host-volary-session=")
    assert "Secure" in ana.last[0]
    assert "domain" not in ana.last[0].lower()


async def test_the_store_has_nothing_that_lets_anybody_in(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer", "ana"))
        [kept] = await world.service.store.sessions.of_person("token:ana")

    assert kept.hash == sessions.digest(ana.jar[COOKIE])
    assert ana.jar[COOKIE] not in repr(kept)


async def test_a_write_needs_the_token_of_the_session(tmp_path: Path) -> None:
    path = f"{API}/runs/run-web/pause"
    async with served(tmp_path) as world:
        ana, ben = Browser(world), Browser(world)
        await ana.log_in(world.token("deployer", "ana"))
        await ben.log_in(world.token("deployer", "ben"))
        refused = [
            await ana.ask("POST", path, headers={"x-csrf-token": ""}),
            await ana.ask("POST", path, headers={"x-csrf-token": ben.csrf}),
            await ana.ask("POST", path, headers={"sec-fetch-site": "same-site"}),
            await ana.ask("POST", path, headers={"sec-fetch-site": "cross-site"}),
            await ana.ask("POST", path, headers={"origin": "https://evil.example"}),
            await ana.ask("POST", "/auth/logout", headers={"x-csrf-token": ""}),
        ]
        ours, _ = await ana.ask(
            "POST", path, headers={"sec-fetch-site": "same-origin", "origin": world.url}
        )
        read, _ = await ana.ask("GET", f"{API}/runs/run-web", headers={"x-csrf-token": ""})

    assert [status for status, _ in refused] == [403] * 6
    assert "does not show that it comes from a page" in refused[0][1]["detail"]
    assert "load the page again" in refused[0][1]["hint"]
    assert (ours, read) == (409, 200)


async def test_a_token_in_the_header_needs_no_csrf_token_and_goes_before_the_cookie(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer", "ana"))
        ci = world.token("deployer", "ci")
        paused, _ = await ana.ask(
            "POST", f"{API}/runs/run-web/pause", headers={"x-csrf-token": "", **ci}
        )
        _, who = await ana.ask("GET", f"{API}/whoami", headers=ci)

    assert (paused, who["name"]) == (409, "token:ci")


async def test_no_other_site_logs_somebody_in(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        token = world.token("viewer")["authorization"].removeprefix("Bearer ")
        for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            ana = Browser(world)
            status, _ = await ana.ask("POST", "/auth/token", json={"token": token}, headers=headers)
            assert (status, ana.jar) == (403, {})


async def test_a_guessed_token_is_counted_and_not_repeated(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        world.token("viewer")
        ana = Browser(world)
        said = [
            await ana.ask("POST", "/auth/token", json={"token": f"volary_guess{i}"})
            for i in range(11)
        ]

    assert [status for status, _ in said] == [401] * 10 + [429]
    assert "guess" not in str(said)


async def test_a_logout_ends_it_for_every_copy_of_the_cookie(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer"))
        copy = Browser(world, dict(ana.jar))
        status, _ = await ana.ask("POST", "/auth/logout")
        gone, problem = await copy.ask("GET", f"{API}/runs")
        shown = await copy.session()

    assert (status, gone, problem["detail"]) == (204, 401, "your login is over")
    assert problem["title"] == "Unauthorized"
    assert ana.jar == {}
    assert (shown["authenticated"], shown["csrfToken"]) == (False, "")


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([{"hours": 11}, {"hours": 11}], 200),
        ([{"hours": 12}], 401),
        ([{"hours": 11}, {"hours": 11}, {"hours": 2}], 401),
    ],
    ids=["used", "idle", "at last"],
)
async def test_it_ends_without_use_and_at_last(
    tmp_path: Path, steps: list[dict[str, float]], status: int
) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer"))
        ended = 0
        for step in steps:
            world.clock.forward(**step)
            ended, _ = await ana.ask("GET", f"{API}/runs")

    assert ended == status


async def test_who_loses_the_token_is_logged_out_and_who_loses_a_role_may_no_more(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("deployer", "ana"))
        world.tokens.revoke("ana", now=world.clock.now())
        status, _ = await ana.ask("GET", f"{API}/runs")

        ben = Browser(world)
        await ben.log_in(world.token("deployer", "ben"))
        world.tokens.revoke("ben", now=world.clock.now())
        world.token("viewer", "ben")
        other, _ = await ben.ask("GET", f"{API}/runs")

    assert (status, other) == (401, 401), "another token of the same name is another one"


async def test_a_persons_sessions_are_bounded_and_the_oldest_goes(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        token, browsers = world.token("viewer", "ana"), []
        for _ in range(sessions.MOST + 2):
            world.clock.forward(seconds=1)
            browsers.append(Browser(world))
            await browsers[-1].log_in(token)
        kept = await world.service.store.sessions.of_person("token:ana")
        said = [(await browser.ask("GET", f"{API}/runs"))[0] for browser in browsers]

    assert len(kept) == sessions.MOST
    assert said == [401] * 2 + [200] * sessions.MOST


async def test_the_secret_changes_while_it_is_used(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer"))
        first = ana.jar[COOKIE]
        world.clock.forward(minutes=16)
        # Two requests at a time, whose answers may come in any order.
        one, two = Browser(world, dict(ana.jar)), Browser(world, dict(ana.jar))
        await one.ask("GET", f"{API}/runs")
        await two.ask("GET", f"{API}/runs")
        # As long as the new one was not seen its answer may have been lost.
        world.clock.forward(hours=1)
        lost = Browser(world, {COOKIE: first})
        waited, _ = await lost.ask("GET", f"{API}/runs")
        assert first != one.jar[COOKIE] == two.jar[COOKIE] == lost.jar[COOKIE]

        late = Browser(world, {COOKIE: first})
        seen, _ = await one.ask("GET", f"{API}/runs")
        within, _ = await late.ask("GET", f"{API}/runs")

    assert (waited, seen, within) == (200, 200, 200)


async def test_a_secret_that_was_changed_long_ago_ends_the_login_for_everybody(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer"))
        stolen = Browser(world, dict(ana.jar))
        world.clock.forward(minutes=16)
        await ana.ask("GET", f"{API}/runs")
        await ana.ask("GET", f"{API}/runs")
        world.clock.forward(minutes=2)
        thief, _ = await stolen.ask("GET", f"{API}/runs")
        owner, _ = await ana.ask("GET", f"{API}/runs")

    assert (thief, owner) == (401, 401)


async def test_a_stream_goes_on_while_the_secret_changes_and_ends_with_the_login(
    tmp_path: Path,
) -> None:
    patience = server_state.StreamTimeouts(heartbeat=0.05)
    async with server_world.served(tmp_path, patience, url=PUBLIC) as world:
        ana = Browser(world)
        await ana.log_in(world.token("viewer"))
        headers = {"cookie": f"{COOKIE}={ana.jar[COOKIE]}"}
        async with world.session.get(f"{world.url}{API}/events/stream", headers=headers) as stream:
            for _ in range(2):
                world.clock.forward(minutes=16)
                await ana.ask("GET", f"{API}/runs")
                await ana.ask("GET", f"{API}/runs")
            assert "still here" in await _until(stream, b"still here", 3)
            await ana.ask("POST", "/auth/logout")
            assert "closing" in await _until(stream, b"closing", 1)


async def test_sessions_of_many_streams_are_looked_at_in_one_question(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        ids = []
        for number in range(30):
            ana = Browser(world)
            await ana.log_in(world.token("viewer", f"ana-{number}"))
            [kept] = await world.service.store.sessions.of_person(f"token:ana-{number}")
            ids.append(kept.id)
        authenticator = world.application.state.server_state.authenticator
        store = _CountingStore(world.service.store.sessions)
        browsers = sessions.Sessions(store, authenticator.settings.auth.sessions, world.clock)
        found = await asyncio.gather(*(browsers.again(one) for one in [*ids, "none"]))
        later = await browsers.again(ids[0])

    assert [one.id if one else "" for one in found] == [*ids, ""]
    assert later is not None
    assert store.questions == [31, 1]


class _CountingStore(session_store.Sessions):
    """The sessions of a store, and how many each question was about."""

    def __init__(self, real: session_store.Sessions) -> None:
        self._real = real
        self.questions: list[int] = []

    async def get(self, ids: Collection[str]) -> dict[str, records.SessionRecord]:
        self.questions.append(len(ids))
        return await self._real.get(ids)


async def _until(stream: aiohttp.ClientResponse, wanted: bytes, times: int) -> str:
    read = b""
    while read.count(wanted) < times:
        read += (await stream.content.readline()) or pytest.fail(f"it ended after {read!r}")
    return read.decode()


async def test_people_log_in_at_the_issuer_and_come_back_to_their_page(tmp_path: Path) -> None:
    async with with_issuer(tmp_path) as (world, issuer):
        issuer.groups = ["shop", "everybody"]
        ana = Browser(world)
        shown = await ana.session()
        _, address = await ana.ask("GET", "/auth/login?next=/runs/run-web%3Ftab=log")
        asked = dict(parse.parse_qsl(parse.urlsplit(address).query))
        page = await ana.come_back(address)
        who = await ana.session()
        fine, _ = await ana.ask("GET", f"{API}/runs/run-web")
        denied, problem = await ana.ask("POST", f"{API}/runs/run-web/pause")

    assert shown["methods"] == ["oidc", "token"]
    assert asked["tenant"] == "shop"
    assert asked["redirect_uri"] == f"{PUBLIC}/auth/callback"
    assert asked["scope"] == "openid profile"
    assert page == "/runs/run-web?tab=log"
    assert who["name"] == "oidc:ana@example.org"
    assert list(ana.jar) == [COOKIE], "what was kept for the login is gone"
    assert (fine, denied) == (200, 403)
    assert "oidc:ana@example.org may not deploy here" in problem["detail"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "volary"},
        {"aud": "another-client"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"azp": "another-client"},
        {"sub": ""},
        {"sub": "a\nb"},
    ],
    ids=str,
)
async def test_a_token_that_was_not_made_for_this_login_lets_nobody_in(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async with with_issuer(tmp_path) as (world, issuer):
        issuer.claims = wrong
        ana = Browser(world)
        _, address = await ana.ask("GET", "/auth/login?next=/fleet")
        page = await ana.come_back(address)

    assert (page, ana.jar, issuer.redeemed) == ("/login?problem=refused&next=%2Ffleet", {}, 1)


async def test_only_the_browser_that_began_ends_a_login_and_once(tmp_path: Path) -> None:
    async with with_issuer(tmp_path) as (world, issuer):
        ana, eve = Browser(world), Browser(world)
        _, address = await eve.ask("GET", "/auth/login")
        _, back = await eve.ask("GET", address)
        callback = back.removeprefix(PUBLIC)
        # Eve has Ana open the address that would log Ana in as Eve.
        without = await ana.ask("GET", callback)
        await ana.ask("GET", "/auth/login")
        with_own = await ana.ask("GET", callback)
        hers = await eve.ask("GET", callback)
        twice = await eve.ask("GET", callback)

    assert without == with_own == twice == (303, "/login?problem=expired&next=%2F")
    assert hers == (303, "/")
    assert issuer.redeemed == 1


async def test_a_login_takes_ten_minutes_at_most_and_the_issuer_may_say_no(tmp_path: Path) -> None:
    async with with_issuer(tmp_path) as (world, issuer):
        slow, refused, unlucky = Browser(world), Browser(world), Browser(world)
        _, address = await slow.ask("GET", "/auth/login")
        world.clock.forward(minutes=11)
        late = await slow.come_back(address)

        _, address = await refused.ask("GET", "/auth/login")
        issuer.error = "access_denied"
        denied = await refused.come_back(address)
        issuer.error, issuer.is_down = "", True
        _, address = await unlucky.ask("GET", "/auth/login")
        down = await unlucky.come_back(address)

    assert late == "/login?problem=expired&next=%2F"
    assert denied == "/login?problem=refused&next=%2F"
    assert down == "/login?problem=unavailable&next=%2F"


async def test_the_role_of_a_group_is_that_of_the_settings_of_this_moment(tmp_path: Path) -> None:
    async with with_issuer(tmp_path) as (world, issuer):
        issuer.groups = ["shop"]
        ana = Browser(world)
        _, address = await ana.ask("GET", "/auth/login")
        await ana.come_back(address)
        here = world.application.state.server_state.authenticator
        before, _ = await ana.ask("GET", f"{API}/runs")
        object.__setattr__(here.settings, "roles", ())
        after, _ = await ana.ask("GET", f"{API}/runs")

    assert (before, after) == (200, 403)


async def test_a_session_of_another_issuer_is_none(tmp_path: Path) -> None:
    async with with_issuer(tmp_path) as (world, _):
        ana = Browser(world)
        _, address = await ana.ask("GET", "/auth/login")
        await ana.come_back(address)
        [kept] = await world.service.store.sessions.of_person("oidc:ana@example.org")
        changed = replace(kept, issuer="https://before.example")
        await world.service.store.sessions.change(changed, expected=kept.hash)
        status, _ = await ana.ask("GET", f"{API}/whoami")

    assert status == 401


async def test_without_an_issuer_or_https_it_is_said_what_is_missing(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        world.token("viewer")
        status, problem = await Browser(world).ask("GET", "/auth/login")
    assert (status, problem["detail"]) == (400, "there is no issuer to log in at")
    async with server_world.served(
        tmp_path / "plain",
        host="0.0.0.0",
        authentication=server_settings.Authentication.REQUIRED,
    ) as world:
        shown = await Browser(world).session()
        status, problem = await Browser(world).log_in(world.token("viewer"))
    assert shown["methods"] == []
    assert (status, problem["detail"]) == (
        400,
        "nobody logs in in a browser here: over plain http a login is read on its way",
    )


async def test_an_open_server_needs_no_login(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        shown = await Browser(world).session()

    assert (shown["authenticated"], shown["name"], shown["methods"]) == (True, "local", ["local"])
    assert shown["csrfToken"] == ""


async def test_cookies_that_are_none_are_bounded_as_requests_without_credentials_are(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as world:
        world.token("viewer")
        rates = request_rates.RequestRates(burst=5, rate=1e-9)
        world.application.state.server_state.rates = rates
        ana = Browser(world, {COOKIE: "x" * 43})
        said = [(await ana.ask("GET", f"{API}/runs"))[0] for _ in range(7)]

    assert said == [401] * 5 + [429] * 2
