"""Given clusters in which others than the server work, by signed orders; then look who wrote.

Workers and agents are processes of their own. Each knows the clusters by one of
`server_processes.ADDRESSES`, so that what arrives shows who sent it.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

import agent_world
import command_world
import server_processes
import silent_proxy
import temporal_server
from controller_world import SPEED
from kube_sandbox.apiserver import server

#: Under which names the server and those who work know the clusters.
CENTRE, BESIDE = server_processes.ADDRESSES
#: What an owner permits: kinds and stages are to be filled in.
OWNERS = """\
apiVersion: volary.dev/v1
kind: AgentPolicy
spec:
  read: true
  rules:
  - applications: [simple]
    namespaces: [default]
    kinds: %s
    stages: %s
"""
ALL = OWNERS % ("[]", "[]")


@dataclass
class Apart:
    """A server that leaves tasks to others, and what is written to its clusters."""

    world: command_world.World
    writes: server_processes.Writes
    base: Path
    temporal: str
    port: int
    #: The address that the server listens on.
    host: str = "127.0.0.1"
    heartbeat: str = "5s"
    namespace: str = "default"
    #: Who works where there is no agent: `apart` or `central`.
    workers: str = "apart"
    #: Of the server, in place of its usual one.
    fleet: str = ""
    #: More sections of its settings.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Told of each request to a cluster before it is carried out.
    before: Callable[[str], None] = lambda _: None

    @contextlib.asynccontextmanager
    async def server(
        self,
        store: str = "",
        address: str = CENTRE,
        port: int = 0,
        start: server_processes.Start | None = None,
    ) -> AsyncIterator[server_processes.ServerProcess]:
        """Run a server; it is killed at the end of the block.

        Args:
            store: Of its database; empty: a file of its own.
            address: What it knows the clusters by.
            port: Where it listens; 0: the usual place.
            start: Starts the command; None: as `command_world` does.
        """
        engine = {
            "address": self.temporal,
            "heartbeat": self.heartbeat,
            "namespace": self.namespace,
            "workers": self.workers,
        }
        settings = {**self.settings, **({"fleet": self.fleet} if self.fleet else {})}
        async with server_processes.started(
            self.world,
            self.base,
            store or f"sqlite:{self.base / 'volary.db'}",
            address=address,
            engine={"temporal": engine},
            start=start,
            listen=f"{self.host}:{port or self.port}",
            **settings,
        ) as server:
            yield server

    async def join(self, name: str = "hands") -> Path:
        """Register a worker for all clusters; return the file of its identity."""
        clusters = [word for each in self.world.running.clusters for word in ("--cluster", each)]
        url = f"http://127.0.0.1:{self.port}"
        ended = await self.world.volary("worker", "join", name, *clusters, "--server", url)
        assert ended.code == 0, ended
        file = self.base / f"{name}.json"
        file.write_text(ended.out)
        file.chmod(0o600)
        return file

    @contextlib.asynccontextmanager
    async def worker(
        self, identity: Path, *words: str, address: str = BESIDE
    ) -> AsyncIterator[command_world.Started]:
        """Run ``volary worker``, with more options; it is killed at the end of the block."""
        fleet = server_processes.fleet_of(self.world, self.base, address) / "fleet.yaml"
        async with self.world.start(
            "worker", "--identity", str(identity), "--fleet", str(fleet), *words
        ) as started:
            await started.until("takes tasks from")
            yield started

    def through_agents(self, *clusters: str) -> None:
        """Have the server know these clusters through their agents alone."""
        self.fleet = str(agent_world.write_fleet(self.world, self.base, *clusters))

    async def join_agent(
        self, server: server_processes.ServerProcess, cluster: str, policy: str = ALL
    ) -> agent_world.AgentFiles:
        """Register the agent of a cluster; return its files."""
        joined = await agent_world.join(self.world, server, cluster)
        files = agent_world.AgentFiles(self.base / f"agent-{cluster}", cluster)
        files.write(joined.token, policy)
        files.write_keys(joined)
        return files

    @contextlib.asynccontextmanager
    async def agent(
        self,
        files: agent_world.AgentFiles,
        server_url: str,
        *words: str,
        address: str = BESIDE,
        of: str = "",
        said: str = "takes tasks from",
        start: server_processes.Start | None = None,
    ) -> AsyncIterator[command_world.Started]:
        """Run ``volary agent``, which takes tasks; it is killed at the end of the block.

        Args:
            files: Of its identity.
            server_url: Where it connects to.
            words: More options.
            address: What it knows its cluster by.
            of: The cluster that it really reaches; empty: the one it says.
            said: What it is waited for to say.
            start: Starts the command; None: as `command_world` does.
        """
        directory = server_processes.fleet_of(self.world, self.base, address)
        async with (start or self.world.start)(
            *("agent", "--cluster", files.cluster, "--server", server_url),
            *("--token-file", str(files.token), "--policy", str(files.policy)),
            *("--kubeconfig", str(directory / f"{of or files.cluster}.kubeconfig")),
            *("--private-key", str(files.private_key)),
            *("--signing-key", str(files.signing_key)),
            *words,
        ) as started:
            await started.until(said)
            yield started

    @contextlib.asynccontextmanager
    async def far_agent(
        self, files: agent_world.AgentFiles, way: "Way"
    ) -> AsyncIterator[command_world.Started]:
        """Run the agent of a cluster, which has one way to the centre."""
        temporal = ("--temporal-address", f"127.0.0.1:{way.temporal.port}")
        async with self.agent(files, f"http://127.0.0.1:{way.server.port}", *temporal) as started:
            yield started


@dataclass(frozen=True)
class Way:
    """The way between an agent and the centre, on which everything may fall silent."""

    server: silent_proxy.SilentProxy
    temporal: silent_proxy.SilentProxy

    def fall_silent(self) -> None:
        """Nothing arrives any more, in neither direction, and nothing is closed."""
        self.server.fall_silent()
        self.temporal.fall_silent()

    def go_on(self) -> None:
        """What was sent meanwhile arrives late, and what is sent arrives."""
        self.server.go_on()
        self.temporal.go_on()


@contextlib.asynccontextmanager
async def ways(given: Apart, count: int) -> AsyncIterator[Sequence[Way]]:
    """Open so many ways to the centre."""
    temporal = int(given.temporal.rpartition(":")[2])
    async with contextlib.AsyncExitStack() as stack:
        yield [
            Way(
                await stack.enter_async_context(silent_proxy.opened(given.port)),
                await stack.enter_async_context(silent_proxy.opened(temporal)),
            )
            for _ in range(count)
        ]


@contextlib.asynccontextmanager
async def opened(
    base: Path, temporal: temporal_server.Server, *names: str, **settings: Any
) -> AsyncIterator[Apart]:
    """Start clusters beside a Temporal; nothing else runs yet."""
    writes = server_processes.Writes()
    port = agent_world.free_port()
    given = Apart(None, writes, base, temporal.address, port)  # type: ignore[arg-type]

    @web.middleware
    async def tell(request: web.Request, handler: server.Handler) -> web.StreamResponse:
        given.before(f"{request.host.partition(':')[0]} {request.method} {request.path}")
        return await handler(request)

    async with command_world.world(
        base, *names, middlewares=(tell, writes.middleware), **{"speed": SPEED, **settings}
    ) as given.world:
        yield given
