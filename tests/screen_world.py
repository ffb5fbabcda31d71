"""Given a server on three clusters, and people with browsers; when they press buttons; then look.

The application asks before each rollout and waits for a person when one fails, so that everything
that people do about a run has its turn. What they see is found by role and by what the API says.
"""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import browser_world
import command_world
import process_time
import team_world
from kube_sandbox import fleet as kube_sandbox_fleet

AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"
V1, V2, V3 = (f"example/simple:v{number}" for number in (1, 2, 3))
CLUSTERS = ("us", "eu", "asia")
API = "/api/v1"
APPLICATION = """\
apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: simple
  labels: {team: shop}
  planner: {alwaysUsePipeline: true, holdOnFailure: true}
  plugins:
    kubernetes_multicluster:
      service: {kind: Service, name: simple}
      workloads: [{kind: Deployment, name: simple}]
  pipeline:
    stages:
      - name: WAIT_APPROVAL
        with: {approvers: ['token:ana']}
      - name: K8S_PRIMARY_ROLLOUT
        timeout: 5s
"""


@dataclass
class Screens:
    """A server with a release that somebody is asked about, and who looks at it."""

    world: command_world.World
    people: team_world.Team
    chromium: browser_world.Chromium

    @property
    def url(self) -> str:
        return self.people.url

    async def token(self, name: str, role: str) -> str:
        """Return a new token."""
        words = ("token", "create", name, "--role", role, "--config", str(self._settings))
        made = await self.world.volary(*words)
        assert made.code == 0, made
        return made.out.strip()

    @property
    def _settings(self) -> Path:
        return self.people.data.parent / "volary-server.yaml"

    async def kill_server(self) -> None:
        """End the server as a machine that loses power does."""
        self.people.process.process.kill()
        await self.people.process.process.wait()

    @contextlib.asynccontextmanager
    async def server_again(self) -> AsyncIterator[None]:
        """Start it again beside the block, as it was."""
        async with self.world.start("server", "--config", str(self._settings)) as process:
            await process.until("listening on http")
            yield

    @contextlib.asynccontextmanager
    async def tab(
        self, path: str, *, token: str = "", **how: Any
    ) -> AsyncIterator[browser_world.Tab]:
        """Open a page in a browser of somebody's own, who is logged in."""
        async with self.chromium.tab(self.url, **how) as tab:
            await tab.open(path)
            await tab.log_in(token or self.people.token)
            yield tab

    async def release(self, old: str, new: str, subject: str) -> str:
        """Push a version, and return its run once somebody is asked about it."""
        commit = self.world.edit("deployment.yaml", old, new, message=subject)
        await self.people.pushed(commit)
        return await self.asked(commit)

    async def asked(self, commit: str) -> str:
        """Wait until somebody is asked about a commit, and return its run."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                for run in await self.people_see("runs"):
                    if run["commit"] == commit and run["status"] == "waiting":
                        return str(run["id"])
                await asyncio.sleep(0.1)

    async def people_see(self, what: str) -> Any:
        """Return what the command line gets."""
        said = await self.people.volary("get", *what.split(), "-o", "json")
        assert said.code == 0, said
        return json.loads(said.out)

    async def until_run(self, run: str, is_so: Callable[[Any], bool]) -> Any:
        """Wait until a run is so, and return its summary."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                [shown] = [each for each in await self.people_see("runs") if each["id"] == run]
                if is_so(shown):
                    return shown
                await asyncio.sleep(0.1)

    async def until_ended(self) -> None:
        """Wait until no run is under way."""
        async with asyncio.timeout(process_time.HANG):
            while any(  # noqa: ASYNC110
                run["finished"] is None for run in await self.people_see("runs")
            ):
                await asyncio.sleep(0.1)

    async def until_images(self, **images: str) -> None:
        """Wait until clusters run these, all pods ready."""
        async with asyncio.timeout(process_time.HANG):
            while {name: self.world.images(name) for name in images} != {  # noqa: ASYNC110
                name: f"{image} 2/2" for name, image in images.items()
            }:
                await asyncio.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.asynccontextmanager
async def screens(
    base: Path,
    chromium: browser_world.Chromium,
    *,
    tls: bool = False,
) -> AsyncIterator[Screens]:
    """Serve v1 on all clusters beside the block; each commit from then on is asked about.

    With `tls` kubectl can be used too.
    """
    async with (
        command_world.world(base, *CLUSTERS, tls=tls) as world,
        # Written down: it comes back there, and cookies are called by it.
        team_world.team(base, world, port=_free_port()) as people,
    ):
        await people.known()
        given = Screens(world, people, chromium)
        commit = world.write(
            {"app.pipecd.yaml": APPLICATION},
            message="Ask first",
        )
        await people.pushed(commit)
        run = await given.asked(commit)
        said = await people.volary("approve", run, "--stage", "1-WAIT_APPROVAL")
        await given.until_run(run, lambda shown: shown["status"] == "succeeded")
        assert said.code == 0, said
        yield given


def cluster(given: Screens, name: str) -> kube_sandbox_fleet.Cluster:
    """Return a cluster, to break it and to mend it."""
    return given.world.running.clusters[name]


def button(tab: browser_world.Tab, verb: str) -> Any:
    """Find the buttons of a verb, as the API calls it."""
    return tab.page.locator(f"button[data-verb={verb}]")


async def confirm(tab: browser_world.Tab, *, reason: str = "", keys: bool = False) -> str:
    """Answer the question that is open with yes; returns the consequence that it showed.

    Where things move on while it is answered, the question says so, and has to be read again.
    """
    dialog = tab.page.get_by_role("dialog")
    await dialog.wait_for()
    if reason:
        await dialog.get_by_role("textbox").fill(reason)
    submit = dialog.locator("button[type=submit]")
    changed, refused = dialog.locator(".action-changed"), dialog.locator(".action-error")
    sending = dialog.locator("button[type=submit][aria-busy=true]")
    async with asyncio.timeout(process_time.HANG):
        while True:
            said = await dialog.locator("p").first.inner_text()
            if keys:
                await submit.focus()
                await tab.page.keyboard.press("Enter")
            else:
                await submit.click()
            while await sending.count():  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.05)
            if not await dialog.count():
                return str(said)
            assert not await refused.count(), await dialog.inner_text()
            # It changed before it was pressed, so that meant that it was read; or has by now.
            if await changed.count():
                await submit.click()
                await changed.wait_for(state="detached")


async def violations(tab: browser_world.Tab) -> list[str]:
    """Return what axe finds wrong with a page, a line each; contrasts too."""
    # Evaluated by the driver: the page's own policy lets no foreign script in.
    await tab.page.evaluate(AXE.read_text())
    found = await tab.page.evaluate("axe.run(document)")
    return [
        f"{broken['id']}: {node['html'][:200]} {re.sub(' +', ' ', node['failureSummary'])[:300]}"
        for broken in found["violations"]
        for node in broken["nodes"]
    ]
