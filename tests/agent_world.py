"""Given clusters of which some are reached through agents only; when those run; then look.

The agents are processes, and only they have the kubeconfigs of their clusters.
"""

import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import command_world
import server_processes

POLICY = """\
apiVersion: volary.dev/v1
kind: AgentPolicy
spec:
  read: true
"""


@dataclass
class Joined:
    """What is applied to a cluster, taken apart."""

    token: str
    objects: list[dict[str, Any]]

    @classmethod
    def read(cls, text: str) -> "Joined":
        objects = list(yaml.safe_load_all(text))
        [secret] = [each for each in objects if each["kind"] == "Secret"]
        return cls(secret["stringData"]["token"], objects)


@dataclass
class AgentFiles:
    """The files of an agent, which a Secret and a ConfigMap are in a cluster."""

    directory: Path
    cluster: str

    @property
    def token(self) -> Path:
        return self.directory / "token"

    @property
    def policy(self) -> Path:
        return self.directory / "policy.yaml"

    @property
    def private_key(self) -> Path:
        return self.directory / "private-key.pem"

    @property
    def signing_key(self) -> Path:
        return self.directory / "signing-key"

    def write(self, token: str, policy: str = POLICY) -> None:
        self.directory.mkdir(exist_ok=True)
        self.token.write_text(token)
        self.policy.write_text(policy)

    def write_keys(self, joined: Joined) -> None:
        """Write what it takes tasks with."""
        config = next(each for each in joined.objects if each["kind"] == "ConfigMap")
        secret = next(each for each in joined.objects if each["kind"] == "Secret")
        self.private_key.write_text(secret["stringData"]["private-key.pem"])
        self.private_key.chmod(0o600)
        self.signing_key.write_text(config["data"]["signing-key"])


def write_fleet(world: command_world.World, base: Path, *through_agents: str) -> Path:
    """Write a fleet file without a word about how to reach these clusters."""
    directory = server_processes.fleet_of(world, base, "127.0.0.1")
    document = yaml.safe_load((directory / "fleet.yaml").read_text())
    for cluster in document["clusters"]:
        if cluster["name"] in through_agents:
            for key in ("kubeconfig", "context"):
                cluster.pop(key, None)
            cluster["agent"] = True
    file = directory / "agents.yaml"
    file.write_text(json.dumps(document))
    return file


async def join(
    world: command_world.World, server: server_processes.ServerProcess, cluster: str, *words: str
) -> Joined:
    """Register an agent, as people do."""
    ended = await world.volary("cluster", "join", cluster, "--server", server.url, *words)
    assert ended.code == 0, ended
    return Joined.read(ended.out)


@contextlib.asynccontextmanager
async def agent(
    world: command_world.World,
    server_url: str,
    files: AgentFiles,
    *words: str,
    of: str = "",
) -> AsyncIterator[command_world.Started]:
    """Run ``volary agent``; it is killed at the end of the block.

    Args:
        world: The clusters.
        server_url: Where it connects to.
        files: Its token and policy.
        words: More options.
        of: The cluster that it really reaches; empty: the one it says.
    """
    kubeconfig = world.running.clusters[of or files.cluster].kubeconfig_path
    async with world.start(
        *("agent", "--cluster", files.cluster, "--server", server_url),
        *("--token-file", str(files.token), "--policy", str(files.policy)),
        *("--kubeconfig", str(kubeconfig)),
        *words,
    ) as started:
        yield started


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


async def cluster_is(
    server: server_processes.ServerProcess, name: str, status: str, why: str = ""
) -> Any:
    """Wait until a cluster is so, for a reason."""

    def holds(body: Any) -> bool:
        return body["status"] == status and why in body["reason"]

    return await server.until(f"/api/v1/clusters/{name}", holds)


async def agent_is(server: server_processes.ServerProcess, holds: Callable[[Any], object]) -> Any:
    """Wait until the only agent is so."""
    body = await server.until(
        "/api/v1/agents", lambda body: body["items"] and holds(body["items"][0])
    )
    return body["items"][0]
