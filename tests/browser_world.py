"""Given a chromium of this machine; when somebody opens a page of a server; then look.

Each page tells what a person would not see: what the content security policy refused, what scripts
failed with, and requests that went anywhere but to the server.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import process_time

BUILD = Path(__file__).parents[1] / "web" / "dist"
#: As Debian and others call it; never one that was downloaded.
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
#: Milliseconds that nothing on a page takes, however busy the machine is.
PATIENCE = int(process_time.HANG * 1000)
#: What a browser says, in words that later tests look for.
_WATCH = """
addEventListener('securitypolicyviolation', (event) => {
  console.error(`refused by the policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


@dataclass
class Tab:
    """One page, and what went wrong on it."""

    page: Any
    #: Of this server all requests are.
    url: str
    violations: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    #: What the browser and the page complained of on its console.
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.failures.append(str(error)))
        self.page.on("request", lambda request: self._note_request(request.url))

    def _note(self, kind: str, text: str) -> None:
        if "refused by the policy" in text or "Content Security Policy" in text:
            self.violations.append(text)
        elif kind in ("error", "warning"):
            self.complaints.append(text)

    async def until(self, script: str) -> None:
        """Wait until a script says so; asked from here, since the policy forbids a page to eval."""
        async with asyncio.timeout(process_time.HANG):
            while not await self.page.evaluate(script):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.05)

    async def another(self) -> "Tab":
        """Open one more tab of the same person."""
        tab = Tab(await self.page.context.new_page(), self.url)
        tab.watch()
        return tab

    def _note_request(self, address: str) -> None:
        if not address.startswith(self.url):
            self.elsewhere.append(address)

    async def open(self, path: str = "/") -> None:
        await self.page.goto(self.url + path)

    async def ask(self, method: str, path: str, csrf: bool = True, **more: Any) -> tuple[int, Any]:
        """Send a request as a script of the page does; return its status and JSON."""
        said = await self.page.evaluate(
            """async ([method, path, csrf, body]) => {
                const session = await (await fetch('/api/v1/session')).json();
                const headers = {'content-type': 'application/json'};
                if (csrf) headers['x-csrf-token'] = session.csrfToken;
                const sent = body === null ? undefined : JSON.stringify(body);
                const answer = await fetch(path, {method, headers, body: sent});
                const text = await answer.text();
                return [answer.status, text];
            }""",
            [method, path, csrf, more.get("body")],
        )
        return said[0], said[1]

    async def log_in(self, token: str) -> None:
        """Type an API token into the login, and wait until it is gone."""
        await self.page.get_by_label("API token").fill(token)
        await self.page.get_by_role("button", name="Log in with the token").click()
        await self.page.get_by_label("API token").wait_for(state="detached")

    def check(self) -> None:
        """Fail when something went wrong that nobody saw.

        Complaints are not looked at: a browser complains of each answer that is a refusal.
        """
        assert self.violations == []
        assert self.failures == []
        assert self.elsewhere == []


@dataclass
class Chromium:
    """A browser."""

    browser: Any

    @contextlib.asynccontextmanager
    async def tab(self, url: str, *, width: int = 1280, dark: bool = False) -> AsyncIterator[Tab]:
        """A person of their own: with cookies and a storage that nobody else has."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(PATIENCE)
        await context.add_init_script(_WATCH)
        tab = Tab(await context.new_page(), url)
        tab.watch()
        try:
            yield tab
        finally:
            await context.close()


def program() -> str:
    """Return the browser of this machine; empty: there is none."""
    named = os.environ.get("VOLARY_CHROMIUM", "")
    return named or next(filter(None, map(shutil.which, _PROGRAMS)), "")


@contextlib.asynccontextmanager
async def launched() -> AsyncIterator[Chromium]:
    """Start a browser, or skip the test where there is none."""
    playwright = pytest.importorskip(
        "playwright.async_api", reason="playwright is not installed (pip install playwright)"
    )
    if not program():
        pytest.skip("there is no chromium: apt-get install chromium, or name it: VOLARY_CHROMIUM")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=program(),
            # The user of containers is often root, for whom the sandbox of chromium does not work.
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        try:
            yield Chromium(browser)
        finally:
            await browser.close()


def require_build() -> Path:
    """Return where the web UI was built to, or skip the test where it was not."""
    if not (BUILD / "index.html").is_file():
        pytest.skip("the web UI was not built: make web")
    return BUILD
