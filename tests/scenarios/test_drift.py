"""Somebody changes with stock kubectl what a server has released: it is seen, told, and repaired."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import command_world
import kubectl
import process_time
from controller_world import ANA, RULES, SPEED, Controlled, controlled
from volary.controller.api import live_representations, representations
from volary.model import drift_rules
from volary.store import records

pytestmark = kubectl.needed

V1, V2 = "example/simple:v1", "example/simple:v2"
QUICK = {"rules": replace(RULES, drift_period=timedelta(seconds=1))}
IMAGE = 'spec.template.spec.containers[name="simple"].image'
WEB = "deployment/simple"
Drift = live_representations.Drift


@contextlib.asynccontextmanager
async def released(
    tmp_path: Path,
    *names: str,
    files: dict[str, str] | None = None,
    mode: drift_rules.DriftMode = drift_rules.DriftMode.REPORT,
) -> AsyncIterator[Controlled]:
    """Given: an application that a server has released, and compares again and again."""
    async with command_world.world(tmp_path, *names, tls=True, speed=SPEED) as world:
        if files:
            world.write(files, message="As this test needs it")
        async with controlled(world, parts=QUICK, drift_detection=mode) as given:
            await given.until_application(lambda each: each.status == "synced")
            yield given


async def hand(given: Controlled, name: str, *words: str, text: str = "", **more: str) -> str:
    """Somebody types ``kubectl …``."""
    cluster = given.world.running.clusters[name]
    return await kubectl.run(cluster, *words, text=text, **more)


async def until_drift(given: Controlled, status: str, *paths: str) -> Drift:
    """Wait until the application compares so, with differences at these paths."""
    shown: Drift | None = None
    try:
        async with asyncio.timeout(process_time.HANG):
            while True:
                shown = await given.service.drift.get("simple")
                told = [each.path for one in objects_of(shown) for each in one.differences]
                if shown.status == status and all(path in told for path in paths):
                    return shown
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"it never was {status} at {paths}, but: {shown}") from None


def objects_of(shown: Drift) -> list[live_representations.ObjectDrift]:
    return [one for cluster in shown.clusters for one in cluster.objects]


async def until_told(given: Controlled, status: str, text: str = "") -> representations.Application:
    return await given.until_application(
        lambda each: each.status == status and text in each.reason
    )


async def audited(given: Controlled) -> list[tuple[str, Any]]:
    """Return what the server did by itself about drift, in order."""
    page = await given.service.audit(records.AuditFilter(), oldest_first=True)
    return [(one.action, one.details) for one in page.items if one.action.startswith("drift.")]


async def test_what_a_release_leaves_is_in_sync(tmp_path: Path) -> None:
    """Neither defaults nor what controllers write is drift, nor what controllers add."""
    async with released(tmp_path, "us", "eu") as given:
        await hand(given, "us", "annotate", WEB, "example.com/theirs=1")
        await hand(given, "eu", "label", "service/simple", "theirs=1")
        shown = await until_drift(given, "inSync")

    assert [(one.name, one.status) for one in shown.clusters] == [
        ("us", "inSync"),
        ("eu", "inSync"),
    ]
    assert (shown.mode, shown.reason) == ("report", "every object is as Git says")


async def test_a_change_by_hand_is_said_and_taken_back_by_hand(tmp_path: Path) -> None:
    async with released(tmp_path, "us", "eu") as given:
        before = await given.application()
        await hand(given, "us", "set", "image", WEB, f"simple={V2}")

        told = await until_told(given, "out_of_sync", "drift: us: Deployment default/simple")
        shown = await until_drift(given, "outOfSync", IMAGE)
        await hand(given, "us", "set", "image", WEB, f"simple={V1}")
        after = await until_told(given, "synced")
        gone = await given.service.drift.get("simple")
        noted = await audited(given)

    assert told.reason == (
        f"drift: us: Deployment default/simple: {IMAGE} is {V2}, Git says {V1} (by kubectl-set)"
    )
    assert [(one.name, one.status) for one in shown.clusters] == [
        ("us", "outOfSync"),
        ("eu", "inSync"),
    ]
    (item,) = objects_of(shown)
    (field,) = item.differences
    assert (item.kind, item.name, item.drift) == ("Deployment", "simple", "differs")
    assert (field.path, field.wanted, field.live, field.sides) == (IMAGE, V1, V2, "both")
    assert field.owners[0].manager == "kubectl-set"
    assert field.owners[0].since is not None
    assert shown.since is not None
    assert after.reason == before.reason
    assert gone.since is None
    assert [action for action, _ in noted] == ["drift.found", "drift.gone"]
    assert noted[0][1]["clusters"] == ["us"]
    assert after.run == before.run
