"""What a crashing container's status says."""

import asyncio
from typing import Any

import pytest

import living_cluster
import sandbox_world as world
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.kubelet import containers

pytestmark = pytest.mark.looptime
TIMING = containers.Timing()


async def _start(living: living_cluster.Living) -> None:
    living.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": world.template("crash:1")["spec"],
        }
    )
    await asyncio.sleep(TIMING.pull + 0.1)


def _status(living: living_cluster.Living) -> dict[str, Any]:
    found: dict[str, Any] = objects.status(living.get("Pod", "web"))["containerStatuses"][0]
    return found


async def test_the_first_crash_shows_an_exit_and_then_a_restart(
    living: living_cluster.Living,
) -> None:
    await _start(living)
    await asyncio.sleep(1.0)
    exited = _status(living)
    assert exited["state"]["terminated"]["reason"] == "Error"
    assert exited["state"]["terminated"]["exitCode"] == 1
    assert (exited["restartCount"], exited["lastState"]) == (0, {})

    await asyncio.sleep(TIMING.restart)

    restarted = _status(living)
    assert "running" in restarted["state"]
    assert restarted["restartCount"] == 1
    assert restarted["lastState"] == exited["state"]


async def test_the_second_crash_is_backed_off_from(living: living_cluster.Living) -> None:
    await _start(living)
    await asyncio.sleep(2 * (1.0 + TIMING.restart))

    backed_off = _status(living)

    uid = objects.uid(living.get("Pod", "web"))
    assert backed_off["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 10s restarting failed container=main pod=web_shop({uid})",
        }
    }
    assert backed_off["restartCount"] == 1
    assert backed_off["lastState"]["terminated"]["exitCode"] == 1
    assert objects.status(living.get("Pod", "web"))["phase"] == "Running"

    await asyncio.sleep(10)
    assert _status(living)["restartCount"] == 2


async def test_long_waits_are_told_in_minutes(living: living_cluster.Living) -> None:
    await _start(living)

    await asyncio.sleep(20 * 60)

    message = _status(living)["state"]["waiting"]["message"]
    assert message.startswith("back-off 5m0s restarting failed container=main")
