"""Given a run that waits for approval; when something else changes before it goes on; then look."""

import contextlib
from collections.abc import Mapping
from typing import Any

import command_world
from controller_world import Controlled, controlled

V1, V2, V3 = (f"example/simple:v{number}" for number in (1, 2, 3))
#: Who asks a server without credentials is called local.
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: WAIT_APPROVAL, with: {approvers: [ana, local]}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


def describe(
    world: command_world.World, text: str = APPLICATION, files: Mapping[str, str] | None = None
) -> str:
    """Describe the application so, and commit that with more files; returns the commit."""
    (world.directory / "app.pipecd.yaml").unlink()
    return world.write({"volary.yaml": text, **(files or {})}, message="Deploy v1")


def life(
    world: command_world.World, **more: Any
) -> contextlib.AbstractAsyncContextManager[Controlled]:
    """Run a controller that goes on with what earlier ones left."""
    return controlled(world, store=f"sqlite:{world.directory.parent / 'volary.db'}", **more)
