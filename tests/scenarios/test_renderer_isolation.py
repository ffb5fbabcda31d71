"""Somebody who may push has the server render what names the server itself."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import command_world
import server_processes

#: Who did what there, as the server answers it on its own machine.
ATTACK = """
resources: [deployment.yaml, service.yaml, config.yaml]
generators:
- |
  apiVersion: builtin
  kind: ConfigMapGenerator
  metadata: {{name: stolen}}
  options: {{disableNameSuffixHash: true}}
  files: ['audit={url}/api/v1/audit']
"""
HARMLESS = "resources: [deployment.yaml, service.yaml, config.yaml]\n"


@dataclasses.dataclass
class Health:
    """Asks a server ten times a second whether it is there."""

    server: server_processes.ServerProcess
    asked: int = 0
    answered: int = 0

    async def watch(self) -> None:
        while True:
            self.asked += 1
            status, _ = await self.server.get("/healthz")
            self.answered += status == 200
            await asyncio.sleep(0.1)


async def test_a_server_does_not_render_what_names_itself_and_goes_on(tmp_path: Path) -> None:
    """It is refused with file and line, nothing of it gets to a cluster, and the next push does."""
    async with (
        command_world.world(tmp_path, "us") as world,
        server_processes.started(world, tmp_path, f"sqlite:{tmp_path}/volary.db") as server,
    ):
        await server.synced()
        health = Health(server)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(health.watch())
            attack = {"kustomization.yaml": ATTACK.format(url=server.url)}
            world.write(attack, message="Read the audit")

            def refused(body: Any) -> bool:
                return "/api/v1/audit is remote" in str(body)

            said = await server.until("/api/v1/applications", refused)
            assert world.find("us", "ConfigMap", "stolen") is None
            await server.synced(world.write({"kustomization.yaml": HARMLESS}, message="Mend it"))
            watching.cancel()

        assert f"kustomization.yaml:4: generators[0].files[0]: {server.url}" in str(said)
        assert world.find("us", "ConfigMap", "stolen") is None
        assert health.answered >= health.asked - 1 > 0
        assert "renderers run " in server.process.said
