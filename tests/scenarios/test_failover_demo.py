"""``volary demo --scenario failover`` in a process of its own."""

from pathlib import Path

from demo_world import demo


async def test_a_lost_cluster_is_replaced_and_nothing_moves_when_three_are(tmp_path: Path) -> None:
    told = await demo(tmp_path / "failover", "failover")

    assert told.code == 0, told
    pods = [line.strip() for line in told.out.splitlines() if line.strip().startswith("pods:")]
    after = "pods: asia 2, eu 0, sa 2, us 2"
    assert pods == [
        "pods: asia 2, eu 2, sa 2, us 0",
        "pods: asia 2, eu gone, sa 2, us 2",
        after,
        after,
    ]
    assert "and the external probe has said for" in told.out
    assert (
        "; failover suppressed: at least 55 %"
        " unreachable, so the controller's own network is suspected" in told.out
    )
    assert "rebalances: new on eu; off us" in told.out
