"""The sandbox against recorded answers of a real kube-apiserver.

The recordings lie in ``tests/truth/recorded``, a file for each case. Known deviations
stand in ``docs/conformance.md``.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kube_sandbox import fleet
from truth import compare, deviations, replay

RECORDED = Path(__file__).parents[1] / "truth" / "recorded"

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
    "ownership-upgrade",
    "authorization",
    "admission-policies",
    "quotas",
    "more-kinds",
    "ownership-migration",
    "crd-changes",
    "parameters",
)
#: Cases about who owns what.
MANAGED = (
    "ssa-basics",
    "ssa-deployment",
    "ownership-upgrade",
    "ownership-migration",
    "crd-changes",
    "parameters",
)
#: Cases in which controllers race with the recorded requests.
RACING = (
    "patches",
    "ssa-deployment",
    "deletion",
    "admission-policies",
    "ownership-migration",
)
#: How much faster than recorded the sandbox runs.
SPEED = 20.0
#: Seconds to wait at most for a recorded state.
PATIENCE = 8.0


def _load(case: str) -> list[dict[str, Any]]:
    loaded = json.loads((RECORDED / f"{case}.json").read_text())
    return list(loaded["steps"])


@pytest.fixture
async def player() -> AsyncIterator[replay.Player]:
    settings = fleet.Settings(speed=SPEED, seed=1, nodes=1)
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


async def _differences(
    player: replay.Player, case: str, step: dict[str, Any]
) -> list[compare.Difference]:
    if step["request"]["method"] == "WATCH":
        return await _watched(player, step)
    recorded, request = step["response"], step["request"]
    managed = case in MANAGED

    def told(answer: replay.Answer) -> list[compare.Difference]:
        racing = case in RACING and "deployments" in request["path"]
        return replay.found_differences(recorded, answer, managed=managed, racing=racing)

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

    stale = [each for each in known if each not in met and not each.sometimes]

    assert not unexplained, "\n".join(unexplained)
    assert not stale, f"listed, but no deviation any more: {stale}"


def _served(groups: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What aggregated discovery says, by kind and subresource: ``deployments.apps/v1/scale``."""
    found = {}
    for group in groups:
        for version in group["versions"]:
            for each in version["resources"]:
                where = f"{group['metadata'].get('name', '')}/{version['version']}"
                parts = each.pop("subresources", [])
                found[f"{each['resource']} {where}"] = {**each, "verbs": sorted(each["verbs"])}
                for part in parts:
                    name = f"{each['resource']}/{part['subresource']} {where}"
                    found[name] = {**part, "verbs": sorted(part["verbs"])}
    return found


def _parent(served: str) -> str:
    """The kind of a subresource; empty for a kind."""
    plural, _, where = served.partition(" ")
    kind, found, _ = plural.partition("/")
    return f"{kind} {where}" if found else ""


def _name(served: str) -> str:
    plural, _, where = served.partition(" ")
    group = where.partition("/")[0]
    return f"{plural}.{group}" if group else plural


async def test_discovery_tells_what_a_real_server_serves(player: replay.Player) -> None:
    aggregated = [
        step for step in _load("discovery") if "apidiscovery" in step["request"].get("accept", "")
    ]
    missing: list[str] = []
    for step in aggregated:
        answer = await player.send(step["request"])
        recorded, told = _served(step["response"]["body"]["items"]), _served(answer.body["items"])
        absent = [each for each in recorded if each not in told]
        missing.extend(_name(each) for each in absent if _parent(each) not in absent)
        shared = {each: recorded[each] for each in told}
        assert told == shared

    assert len(aggregated) == 2
    assert sorted(missing) == sorted(deviations.left_out())


def _plain_discovery() -> list[tuple[int, dict[str, Any]]]:
    """The recorded questions of clients that do not know aggregated discovery, and health."""
    return [
        (number, step)
        for number, step in enumerate(_load("discovery"), start=1)
        if "accept" not in step["request"]
    ]


@pytest.mark.parametrize(("number", "step"), _plain_discovery())
async def test_plain_discovery_agrees(
    player: replay.Player, number: int, step: dict[str, Any]
) -> None:
    answer = await player.send(step["request"])

    recorded = step["response"]
    assert answer.status == recorded["status"]
    assert answer.content_type == recorded["contentType"]
    expected, actual = recorded["body"], answer.body
    if step["request"]["path"] == "/openapi/v3":
        # What it leads to is compared by the kinds that are served; addresses end with hashes.
        served = json.loads(actual)["paths"] if isinstance(actual, str) else actual["paths"]
        assert {"api/v1", "apis/apps/v1"} <= served.keys() <= expected["paths"].keys()
        return
    if isinstance(expected, dict) and "resources" in expected:
        served = {each["name"] for each in actual["resources"]}
        left_out = {each.partition(".")[0] for each in deviations.left_out()}
        missing = {each["name"] for each in expected["resources"]} - served
        assert {name for name in missing if name.partition("/")[0] not in left_out} <= left_out
        kept = [each for each in expected["resources"] if each["name"] in served]
        expected = {**expected, "resources": kept}
    known = [each for each in deviations.read("discovery") if each.step == number]
    found = compare.differences({"body": expected}, {"body": actual})
    assert not [each for each in found if not any(one.covers(each.path) for one in known)]
    assert all(any(one.covers(each.path) for each in found) for one in known)


def test_every_recorded_case_is_compared() -> None:
    recorded = {path.stem for path in RECORDED.glob("*.json")}

    assert recorded == {*CASES, "discovery", "rollout-watch"}


ROLLOUT = _load("rollout-watch")


@pytest.mark.parametrize("number", range(len(ROLLOUT)))
async def test_a_watcher_of_a_rollout_sees_the_recorded_order(
    player: replay.Player, number: int
) -> None:
    """Not the same number of events: the same phases, and never a promise broken."""
    step = ROLLOUT[number]

    events = await _watch_rollout(player, step)

    recorded, seen = step["events"], events
    assert _phases(seen) == _phases(recorded)
    for each in seen:
        _check_promises(each["object"])


async def _watch_rollout(player: replay.Player, step: dict[str, Any]) -> list[dict[str, Any]]:
    async def during() -> AsyncIterator[None]:
        for each in step["during"]:
            await _rolled_out(player, step)
            answer = await player.send(each["request"])
            assert answer.status == each["response"]["status"]
            yield
        await _rolled_out(player, step)

    return await player.watch(step["request"], during, count=10_000, quiet=0.5)


async def _rolled_out(player: replay.Player, step: dict[str, Any]) -> None:
    """Wait until the Deployment is where the last request wanted it."""
    request = next(each["request"] for each in step["during"])
    reading = {"method": "GET", "path": request["path"]}

    def settled(answer: replay.Answer) -> bool:
        if answer.status == 404:
            return True
        told, wanted = answer.body["status"], answer.body["spec"]["replicas"]
        counts = [told.get(each, 0) for each in ("replicas", "updatedReplicas", "readyReplicas")]
        generation = answer.body["metadata"]["generation"]
        ended = not told.get("terminatingReplicas")
        return counts == [wanted] * 3 and told.get("observedGeneration") == generation and ended

    answer = await player.settle(reading, settled, PATIENCE)
    assert settled(answer), answer.body


def _phases(events: list[dict[str, Any]]) -> list[object]:
    """What has to come in this order: generations of a Deployment; else how many come and go."""
    kind = events[0]["object"]["kind"]
    if kind == "Deployment":
        seen = [(each["type"], each["object"]["metadata"]["generation"]) for each in events]
        return [each for index, each in enumerate(seen) if index == 0 or each != seen[index - 1]]
    return [sum(each["type"] == wanted for each in events) for wanted in ("ADDED", "DELETED")]


def _check_promises(obj: dict[str, Any]) -> None:
    if obj["kind"] != "Deployment":
        return
    told, wanted = obj["status"], obj["spec"]["replicas"]
    current = told.get("observedGeneration") == obj["metadata"]["generation"]
    ready, available = told.get("readyReplicas", 0), told.get("availableReplicas", 0)
    assert available <= ready <= told.get("replicas", 0)
    assert told.get("updatedReplicas", 0) <= told.get("replicas", 0)
    if current and obj["metadata"]["generation"] == 2:
        # 25% of 3: one more than wanted at most (surge), none unavailable.
        assert told["replicas"] <= wanted + 1
        assert available >= wanted
