"""``volary demo`` and ``volary sandbox`` in processes of their own: they leave nothing behind."""

import asyncio
import json
import signal
from pathlib import Path

import yaml

import demo_world


async def test_every_scenario_tells_its_story_and_leaves_nothing_behind(tmp_path: Path) -> None:
    canary, istio, broken = await asyncio.gather(
        demo_world.demo(tmp_path / "canary", "canary", keep=False),
        demo_world.demo(tmp_path / "istio", "istio"),
        demo_world.demo(tmp_path / "broken", "broken"),
    )

    assert canary.code == 0, canary
    for line in ("simple 2/2  simple-baseline 1/1  simple-canary 1/1", "users: v2 100%"):
        assert canary.out.count(line) >= 3, canary
    assert "probe requests to simple during the release, 0.0% failed" in canary.out

    assert istio.code == 0, istio
    assert "80/10/10" in istio.out
    assert "users: v1 90%, v2 10%" in istio.out

    assert broken.code == 0, broken
    assert "eu K8S_CANARY_ROLLOUT failed" in broken.out
    assert "ImagePullBackOff" in broken.out
    assert "rollback verified on us, eu and asia" in broken.out


async def test_git_drives_and_nothing_is_lost(tmp_path: Path) -> None:
    """A push starts a run, kill -9 does not lose it, a person approves, a revert takes it back."""
    told = await demo_world.demo(tmp_path / "gitops", "gitops")

    assert told.code == 0, told
    listed = [line.split()[2] for line in told.out.splitlines() if "  simple  " in line][:3]
    assert listed == ["rolled_back", "succeeded", "succeeded"], told
    assert "takes it back; rollback verified on us, eu and asia" in told.out


async def test_a_sandbox_is_used_broken_and_ended(tmp_path: Path) -> None:
    typing = demo_world.shell(tmp_path)
    fleet = tmp_path / "clusters"
    command = ("sandbox", "up", "--clusters", "2", "--dir", str(fleet), "--speed", "30")
    async with typing.start(*command) as started:
        await started.until("ready: ")
        names = [
            each["name"] for each in yaml.safe_load((fleet / "fleet.yaml").read_text())["clusters"]
        ]
        where = ("--dir", str(fleet))
        broken = await typing.volary(
            "sandbox", "fault", "eu", "images.*:v9=bad", "latency=5ms", *where
        )
        cleared = await typing.volary("sandbox", "fault", "eu", "--clear", *where)
        unknown = await typing.volary("sandbox", "fault", "moon", *where)
        started.interrupt(signal.SIGINT)
        ended = await started.ended()

    assert names == ["us", "eu"]
    assert {each.name for each in fleet.iterdir()} >= {"us.kubeconfig", "eu.kubeconfig"}
    assert json.loads(broken.out) == {"latency": 0.005, "images": {"*:v9": "bad"}}
    assert json.loads(cleared.out) == {"images": {}}
    assert unknown.code == 2, unknown
    assert "moon" in unknown.err
    assert (ended.code, ended.out) == (0, ""), ended
    assert "Traceback" not in ended.err


async def test_a_sandbox_ends_cleanly_on_sigterm(tmp_path: Path) -> None:
    typing = demo_world.shell(tmp_path)
    async with typing.start("sandbox", "up", "--clusters", "1", "--dir", "clusters") as started:
        await started.until("ready: ")
        started.interrupt(signal.SIGTERM)
        ended = await started.ended()

    assert ended.code == 0, ended
    assert "Traceback" not in ended.err


async def test_impatience_does_not_break_off_the_end_of_a_demo(tmp_path: Path) -> None:
    typing = demo_world.shell(tmp_path)
    async with typing.start("demo", "--keep") as started:
        await demo_world.watch(await demo_world.told_until_it_stays(started))
        for _ in range(3):
            started.interrupt(signal.SIGINT)
            await asyncio.sleep(0.004)
        ended = await started.ended()

    assert "Traceback" not in ended.err
    assert "destroyed" not in ended.err
    assert list((tmp_path / "tmp").iterdir()) == []
