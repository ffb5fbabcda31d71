"""``volary sandbox up --traffic`` and ``volary sandbox load``, as somebody types them."""

import json
import signal
from pathlib import Path

import demo_world
from kube_sandbox import fleet
from kube_sandbox.faults import faults_client
from sandbox_fixtures import Kubectl


class Place:
    """What `Kubectl` needs to know of a cluster in another process."""

    def __init__(self, path: Path) -> None:
        self.kubeconfig_path = path


async def test_requests_are_sent_and_counted(tmp_path: Path, kubectl: Kubectl) -> None:
    typing = demo_world.shell(tmp_path / "home")
    clusters = tmp_path / "clusters"
    command = ("sandbox", "up", "--clusters", "2", "--traffic", "--speed", "30")
    async with typing.start(*command, "--dir", str(clusters)) as started:
        await started.until("ready: ")
        for name in ("us", "eu"):
            where: fleet.Cluster = Place(clusters / f"{name}.kubeconfig")  # type: ignore[assignment]
            shop = ("deployment", "shop", "--image=shop:v1", "--port=8080", "--replicas=2")
            await kubectl(where, "create", *shop)
            await kubectl(where, "expose", "deployment", "shop", "--port=80", "--target-port=8080")
            await kubectl(where, "rollout", "status", "deployment", "shop", "--timeout=300s")
        asked = ("sandbox", "load", "shop", "--dir", str(clusters), "--for", "1s", "--rate", "40")
        shown = await typing.volary(*asked)
        address = faults_client.locate(clusters, "eu")
        await faults_client.change(address, {"images": {"shop:v1": "error-rate=100%"}})
        told = await typing.volary(*asked, "--output", "json")
        wrong = await typing.volary(*asked, "--cluster", "moon")
        bad = await typing.volary(*asked, "--header", "no colon")
        started.interrupt(signal.SIGINT)
        ended = await started.ended()
    after = await typing.volary(*asked)

    assert shown.code == 0, shown
    assert "us: 40 requests, 0 failed" in shown.out
    assert told.code == 1, told
    counted = json.loads(told.out)
    assert counted["us"]["failed"] == 0
    assert counted["eu"]["failed"] == 40
    assert [each["status"] for each in counted["eu"]["answers"]] == [500]
    assert counted["us"]["answers"][0]["version"] == "v1"
    assert wrong.code == 2, wrong
    assert "one of us, eu" in wrong.err
    assert bad.code == 2, bad
    assert "'no colon' is not NAME:VALUE" in bad.err
    assert ended.code == 0, ended
    assert after.code == 2, after
    assert "no sandbox with real traffic runs in" in after.err
