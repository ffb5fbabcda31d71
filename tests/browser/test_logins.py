"""Logins, seen from a real browser."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web

import browser_world
import login_issuer
import server_world
from volary.model import server_settings

PAUSE = "/api/v1/runs/run-web/pause"


async def test_somebody_logs_in_with_a_token_and_out_again(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world:
        token = world.token("deployer", "ana")["authorization"].removeprefix("Bearer ")
        async with chromium.tab(world.url) as ana:
            await ana.open("/fleet")
            await ana.log_in(token)
            ours, _ = await ana.ask("POST", PAUSE)
            kept = await ana.page.evaluate("[document.cookie, JSON.stringify(localStorage)]")
            address = ana.page.url
            out, _ = await ana.ask("POST", "/auth/logout")
            gone, _ = await ana.ask("GET", "/api/v1/runs")
            await ana.page.reload()
            await ana.page.get_by_label("API token").wait_for()
            ana.check()

    assert (ours, out, gone) == (409, 204, 401)
    assert address == f"{world.url}/fleet", "the page stays where it was"
    assert kept[0] == "", "no script sees the cookie"
    assert token not in kept[1]


async def test_somebody_logs_in_at_the_issuer(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(login_issuer.SECRET)
    roles = (server_settings.RoleBinding(server_settings.Role.VIEWER, group="shop"),)
    async with login_issuer.issuing() as issuer:
        issuer.groups = ["shop"]
        oidc = server_settings.Oidc(
            issuer.url,
            "volary",
            algorithms=("ES256",),
            client_id=login_issuer.CLIENT,
            client_secret_file=str(secret),
        )
        async with server_world.served(
            tmp_path / "data",
            web=build,
            url="http://127.0.0.1:1",
            auth=server_settings.Auth(oidc),
            roles=roles,
        ) as world:
            # Its port is known only now.
            settings = world.application.state.server_state.settings
            object.__setattr__(settings, "url", world.url)
            async with chromium.tab(world.url) as ana:
                await ana.open("/fleet")
                await ana.page.get_by_role("link", name="Log in").click()
                await ana.page.wait_for_url(f"{world.url}/fleet")
                _, who = await ana.ask("GET", "/api/v1/whoami")
                denied, problem = await ana.ask("POST", PAUSE)
                assert ana.violations == []
                assert ana.failures == []

    assert '"name":"oidc:ana@example.org"' in who
    assert (denied, "may not deploy here" in problem) == (403, True)
    assert issuer.redeemed == 1


async def test_a_write_that_is_not_of_a_page_is_refused(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world:
        token = world.token("deployer", "ana")["authorization"].removeprefix("Bearer ")
        async with _page_of_others() as others, chromium.tab(world.url) as ana:
            await ana.open()
            await ana.log_in(token)
            without, _ = await ana.ask("POST", PAUSE, csrf=False)
            # Of the same host, so that the browser sends the cookie along.
            await ana.page.goto(others)
            async with ana.page.expect_response(world.url + PAUSE) as answered:
                await ana.page.evaluate(
                    """(address) => {
                        const form = document.createElement('form');
                        form.method = 'post';
                        form.action = address;
                        document.body.append(form);
                        form.submit();
                    }""",
                    world.url + PAUSE,
                )
            answer = await answered.value
            cookie = (await answer.request.all_headers()).get("cookie", "")
            _, audit = await world.ask(
                "GET", "/api/v1/audit?action=run.pause", headers=world.token("admin")
            )

    assert (without, answer.status, audit["items"]) == (403, 403, [])
    assert "volary-session" in cookie


@contextlib.asynccontextmanager
async def _page_of_others() -> AsyncIterator[str]:
    """A page that this server knows nothing of, on the same machine."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><body>free shirts", content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_session_that_ends_in_mid_click_asks_to_log_in_and_keeps_the_page(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    reason = "the shop is closed"
    async with server_world.served(tmp_path, web=build) as world:
        token = world.token("deployer", "ana")["authorization"].removeprefix("Bearer ")
        async with chromium.tab(world.url) as ana:
            await ana.open("/applications/web?tab=placement")
            await ana.log_in(token)
            await ana.page.evaluate("window.isSamePage = true")
            await ana.page.locator("button[data-verb=pause]").click()
            question = ana.page.get_by_role("dialog").filter(has=ana.page.get_by_role("textbox"))
            await question.get_by_role("textbox").fill(reason)
            world.clock.forward(hours=13)
            await question.locator("button[type=submit]").click()
            # The login stands over the page, which is as it was.
            await ana.log_in(token)
            typed = await question.get_by_role("textbox").input_value()
            async with ana.page.expect_response("**/applications/web/pause") as answered:
                await question.locator("button[type=submit]").click()
            status = (await answered.value).status
            is_same = await ana.page.evaluate("window.isSamePage === true")
            address = ana.page.url
            ana.check()

    assert typed == reason
    assert is_same
    assert address == f"{world.url}/applications/web?tab=placement"
    assert status not in (401, 403), "the server knows who asks"


async def test_a_viewer_is_refused_what_a_viewer_may_not(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world:
        token = world.token("viewer", "eve")["authorization"].removeprefix("Bearer ")
        async with chromium.tab(world.url) as eve:
            await eve.open("/runs/run-web")
            await eve.log_in(token)
            buttons = eve.page.locator("button[data-verb]")
            await buttons.first.focus()
            await eve.page.get_by_text("token:eve may not deploy here").first.wait_for()
            pressable = await eve.page.locator("button[data-verb]:not([aria-disabled])").count()
            seen, _ = await eve.ask("GET", "/api/v1/runs/run-web")
            denied, problem = await eve.ask("POST", PAUSE)
            eve.check()

    assert pressable == 0, "each says why it cannot be pressed"
    assert (seen, denied) == (200, 403)
    assert "token:eve may not deploy here" in problem


async def test_no_screen_does_what_the_policy_refuses(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    paths = ("/", "/runs/run-web", "/applications/web", "/fleet", "/activity", "/insights")
    async with server_world.served(tmp_path, web=build) as world, chromium.tab(world.url) as ana:
        for path in paths:
            await ana.open(path)
            await ana.page.get_by_role("main").wait_for()
            inline = await ana.page.evaluate(
                """() => {
                    const script = document.createElement('script');
                    script.textContent = 'window.wasRun = true';
                    document.body.append(script);
                    return window.wasRun === true;
                }"""
            )
            assert inline is False
            mine = [text for text in ana.violations if "script-src" in text]
            assert mine, "the browser watches over the policy"
            ana.violations = [text for text in ana.violations if text not in mine]
            ana.check()


async def test_without_the_ui_there_is_no_page(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with (
        server_world.served(tmp_path, web=build, ui=False) as world,
        chromium.tab(world.url) as ana,
    ):
        answer = await ana.page.goto(world.url)

    assert answer.status == 404
