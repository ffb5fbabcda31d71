"""The sandbox against recorded answers of a real kube-apiserver.

The recordings lie beside the repository, where they are at hand. Known deviations
stand in ``docs/reference/sandbox-conformance.md``.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from truth import compare, deviations, replay
from volary.sandbox import fleet

RECORDED = Path(__file__).parents[2].parent / "shared" / "kube-truth"
pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(
        not RECORDED.is_dir(), reason="the recorded answers (../shared/kube-truth) are not here"
    ),
]

CASES = (
    "crud",
    "ssa-basics",
    "ssa-deployment",
    "patches",
    "lists",
    "watch",
    "deletion",
    "namespaces",
    "crds",
    "rollout",
    "defaults",
    "validation",
)
#: Cases about who owns what.
MANAGED = ("ssa-basics", "ssa-deployment")
#: Cases in which controllers race with the recorded requests.
RACING = ("patches", "ssa-deployment", "deletion")
#: How much faster than recorded the sandbox runs.
SPEED = 20.0
#: Seconds to wait at most for a recorded state.
PATIENCE = 8.0


def _load(case: str) -> list[dict[str, Any]]:
    loaded = json.loads((RECORDED / f"{case}.json").read_text())
    return list(loaded["steps"])


@pytest.fixture
async def player() -> AsyncIterator[replay.Player]:
    settings = fleet.Settings(speed=SPEED, seed=1)
    async with fleet.start(["truth"], settings=settings) as running:
        cluster = running.clusters["truth"]
        async with replay.Player(cluster.url, cluster.token, "truth-ns-1").connected() as found:
            namespace = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "truth-ns-1"},
            }
            answer = await found.send(
                {
                    "method": "POST",
                    "path": "/api/v1/namespaces",
                    "contentType": "application/json",
                    "body": namespace,
                }
            )
            assert answer.status == 201
            yield found


def _racing(path: str) -> bool:
    """Tell whether a difference says only how soon a controller reacted."""
    return path.startswith("body.status") or "deployment.kubernetes.io/revision" in path


async def _differences(
    player: replay.Player, case: str, step: dict[str, Any]
) -> list[compare.Difference]:
    if step["request"]["method"] == "WATCH":
        return await _watched(player, step)
    recorded, request = step["response"], step["request"]
    managed = case in MANAGED

    def told(answer: replay.Answer) -> list[compare.Difference]:
        found = replay.found_differences(recorded, answer, managed=managed)
        racing = case in RACING and recorded["body"].get("kind") == "Deployment"
        return [each for each in found if not (racing and _racing(each.path))]

    if request["method"] == "GET":
        wait = PATIENCE if "after_seconds" in request else 0.0
        return told(await player.settle(request, lambda answer: not told(answer), wait))
    return told(await player.send(request))


async def _watched(player: replay.Player, step: dict[str, Any]) -> list[compare.Difference]:
    async def during() -> AsyncIterator[None]:
        for each in step["during"]:
            answer = await player.send(each["request"])
            assert not replay.found_differences(each["response"], answer)
            yield

    wanted = step["events"]
    events = await player.watch(step["request"], during, len(wanted), quiet=1.0)
    return compare.differences({"events": wanted}, {"events": events})


@pytest.mark.parametrize("case", CASES)
async def test_answers_are_those_of_a_real_server(player: replay.Player, case: str) -> None:
    known = deviations.read(case)
    unexplained: list[str] = []
    met: set[deviations.Deviation] = set()
    for number, step in enumerate(_load(case), start=1):
        for each in await _differences(player, case, step):
            covering = [one for one in known if one.step == number and one.covers(each.path)]
            met.update(covering)
            if not covering:
                unexplained.append(f"step {number} ({step.get('note', '')}): {each}")

    stale = [each for each in known if each not in met]

    assert not unexplained, "\n".join(unexplained)
    assert not stale, f"listed, but no deviation any more: {stale}"
