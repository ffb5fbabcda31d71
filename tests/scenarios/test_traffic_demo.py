"""The demos whose users really ask, in processes of their own."""

import asyncio
import re
from pathlib import Path

import command_world
from demo_world import demo

CLUSTERS = ("us", "eu", "asia")


def lost(told: command_world.Ended) -> int:
    """Requests that failed on the way, not by the bad version itself."""
    found = re.search(r"(\d+) were lost on the way", told.out)
    assert found is not None, told
    return int(found[1])


def answers(told: command_world.Ended) -> dict[tuple[str, ...], int]:
    """The table of the end: requests by cluster, perhaps group, version and answer."""
    rows = told.out.partition("responses during")[2].partition("requests were sent")[0].splitlines()
    table = [row.split() for row in rows if row.split()[:1] and row.split()[0] in CLUSTERS]
    return {tuple(row[:-3]): int(row[-3]) for row in table}


async def test_a_bad_version_is_found_by_what_users_see(tmp_path: Path) -> None:
    """Found in seconds by the analysis; traffic goes back, canaries go, in every cluster."""
    everywhere, one = await asyncio.gather(
        demo(tmp_path / "all", "bad-canary"), demo(tmp_path / "one", "one-bad-region")
    )

    assert everywhere.code == 0, everywhere
    # One that is worse than the others by chance is taken back by itself, before or after them.
    assert re.search(r"failed: errors (on \w+|over \d clusters): canary has", everywhere.out)
    assert re.search(r"rollback verified on \w+(, \w+)? and \w+", everywhere.out), everywhere
    assert everywhere.out.count("shop 2/2   users: v1 100%") >= 6, everywhere
    assert lost(everywhere) == 0, everywhere
    met = answers(everywhere)
    for name in CLUSTERS:
        assert met[name, "v1", "good"] > met[name, "v2", "good"] > 0, met

    assert one.code == 0, one
    assert "asia ANALYSIS failed: errors on asia" in one.out
    assert "succeeded with exceptions" in one.out
    released, _, kept = one.out.partition("responses during")
    ended = released.partition("in the end")[2]
    for name, version in (("us", "v2"), ("eu", "v2"), ("asia", "v1")):
        assert re.search(rf" {name} +shop 2/2 +users: {version} 100%\n", ended), one
        # What a demo that stays up releases next starts from the same version everywhere.
        assert re.search(rf" {name} +shop 2/2 +users: v1 100%\n", kept), one
    assert not re.search(r"(us|eu) ANALYSIS: ✗ failed", one.out), one
    assert lost(one) == 0, one
    failed = {row[0] for row in answers(one) if row[-1] == "500"}
    assert failed == {"asia"}, one
    assert "v2 failed 0.0% in us, 0.0% in eu, " in one.out, one


async def test_traffic_is_moved_in_steps_or_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    progressive, switched = await asyncio.gather(
        demo(tmp_path / "steps", "progressive"), demo(tmp_path / "switch", "blue-green")
    )

    assert progressive.code == 0, progressive
    for weight in (5, 20, 50):
        said = re.findall(rf"advance: canary weight {weight}\b", progressive.out)
        assert len(said) == len(CLUSTERS), progressive
    assert switched.code == 0, switched
    assert switched.out.count("Service shop: all traffic to canary") == 3, switched
    for told in (progressive, switched):
        assert ", 0.00% failed" in told.out
        met = answers(told)
        assert {row[-1] for row in met} == {"good"}, told
        for name in CLUSTERS:
            assert met[name, "v1", "good"] > 0
            assert met[name, "v2", "good"] > 0


async def test_an_ab_test_is_for_its_group_also_without_other_programs(tmp_path: Path) -> None:
    """Without Traefik, Envoy and Prometheus the sandbox has what it needs itself."""
    whole, alone = await asyncio.gather(
        demo(tmp_path / "whole", "ab"),
        demo(tmp_path / "alone", "ab", keep=False, KUBE_SANDBOX_PROGRAMS="none"),
    )

    for told in (whole, alone):
        assert told.code == 0, told
        assert ", 0.00% failed" in told.out
        met = answers(told)
        for name in CLUSTERS:
            everybody = met[name, "everybody", "v1", "good"], met[name, "everybody", "v2", "good"]
            beta = met[name, "beta", "v1", "good"], met[name, "beta", "v2", "good"]
            assert everybody[0] > everybody[1], told
            assert beta[1] > beta[0], told
    assert "the sandbox's own proxy, as traefik is not installed" in alone.out
    assert "the sandbox's own counters, as Prometheus is not installed here" in alone.out
