"""Dividing clusters into waves: nobody twice, nobody lost, and one rule for every share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import errors
from volary.model.fleet import fleets
from volary.model.placement import rollouts
from volary.placement.waves import planned_waves

CLUSTERS = tuple(
    fleets.Cluster(
        f"{region}-{number}",
        {"region": region, "ring": str(number), **({"tier": "gold"} if number == 1 else {})},
    )
    for region in ("us", "eu", "asia")
    for number in (10, 9, 1)
)
NAMES = tuple(each.name for each in CLUSTERS)


def divided(*found: rollouts.Wave, **more: object) -> dict[str, tuple[str, ...]]:
    division = planned_waves.divide(rollouts.Waves(found, **more), CLUSTERS)  # type: ignore[arg-type]
    return {each.wave.name: each.targets for each in division.waves}


def test_a_cluster_belongs_to_the_first_wave_that_takes_it() -> None:
    gold = rollouts.ClusterSelector(match_labels={"tier": "gold"})
    found = divided(
        rollouts.Wave("gold", gold),
        rollouts.Wave("us", rollouts.ClusterSelector(match_labels={"region": "us"})),
        rollouts.Wave("others"),
    )

    assert found["gold"] == ("us-1", "eu-1", "asia-1")
    assert found["us"] == ("us-10", "us-9")
    assert found["others"] == ("eu-10", "eu-9", "asia-10", "asia-9")


def test_one_per_region_then_a_third_of_all() -> None:
    found = divided(
        rollouts.Wave("first", one_per="region", order_by="ring"),
        rollouts.Wave("second", size=rollouts.Share(33, is_percentage=True)),
        rollouts.Wave("third"),
    )

    assert found["first"] == ("asia-1", "eu-1", "us-1")
    assert found["second"] == ("us-10", "us-9")  # 33 % of nine, rounded down
    assert len(found["third"]) == 4


def test_labels_that_are_numbers_are_ordered_as_numbers() -> None:
    (targets,) = divided(rollouts.Wave("all", order_by="ring")).values()

    assert [name.split("-")[1] for name in targets] == ["1"] * 3 + ["9"] * 3 + ["10"] * 3


def test_a_seed_decides_the_order_alone() -> None:
    one = divided(rollouts.Wave("all", shuffle="seed"))["all"]
    again = divided(rollouts.Wave("all", shuffle="seed"))["all"]
    other = divided(rollouts.Wave("all", shuffle="other"))["all"]

    assert one == again
    assert set(one) == set(NAMES)
    assert one != other


def test_clusters_in_no_wave_are_refused_by_name_or_come_last() -> None:
    only = rollouts.Wave("first", rollouts.ClusterSelector(match_labels={"region": "us"}))

    with pytest.raises(errors.UserError, match=r"eu-10, eu-9.* are in no wave") as refused:
        divided(only)
    assert "unmatchedClusters: last" in refused.value.problems[0].hint
    division = planned_waves.divide(
        rollouts.Waves((only,), unmatched=rollouts.Unmatched.LAST), CLUSTERS
    )
    assert [each.wave.name for each in division.waves] == ["first", "rest"]
    assert division.waves[1].targets == NAMES[3:]
    assert "eu-10" in division.warnings[0]


def test_an_empty_wave_stays_and_is_said() -> None:
    nowhere = rollouts.Wave("moon", rollouts.ClusterSelector(match_labels={"region": "moon"}))
    division = planned_waves.divide(rollouts.Waves((nowhere, rollouts.Wave("rest"))), CLUSTERS)

    assert division.waves[0].targets == ()
    assert "moon" in division.warnings[0]


@pytest.mark.parametrize(
    ("share", "of", "least", "expected"),
    [("25%", 10, 0, 2), ("25%", 3, 0, 0), ("25%", 3, 1, 1), ("3", 2, 0, 2), ("0", 5, 0, 0)],
)
def test_shares_are_rounded_down(share: str, of: int, least: int, expected: int) -> None:
    found = rollouts.Share(int(share.removesuffix("%")), share.endswith("%"))

    assert found.of(of, least=least) == expected


SHARES = st.builds(rollouts.Share, st.integers(1, 100), st.booleans())
WAVES = st.lists(
    st.builds(
        rollouts.Wave,
        name=st.uuids().map(str),
        targets=st.none()
        | st.sampled_from(("us", "eu")).map(
            lambda region: rollouts.ClusterSelector(match_labels={"region": region})
        ),
        size=st.none() | SHARES,
        one_per=st.sampled_from(("", "region", "tier")),
        max_concurrency=st.none() | SHARES,
        order_by=st.sampled_from(("", "ring")),
        budget=st.builds(rollouts.Budget, SHARES, SHARES),
    ),
    min_size=1,
    max_size=4,
)


@given(WAVES)
def test_every_cluster_is_in_exactly_one_wave(found: list[rollouts.Wave]) -> None:
    division = planned_waves.divide(
        rollouts.Waves(tuple(found), unmatched=rollouts.Unmatched.LAST), CLUSTERS
    )

    members = [name for each in division.waves for name in each.targets]
    assert sorted(members) == sorted(NAMES)
    for each in division.waves:
        assert 0 <= each.failures <= len(each.targets)
        assert each.concurrency <= max(1, len(each.targets))
        if each.wave.max_concurrency is not None and each.targets:
            assert each.concurrency >= 1


ALL = rollouts.Share(100, is_percentage=True)
HALF = rollouts.Share(50, is_percentage=True)


@pytest.mark.parametrize(
    ("on_failure", "failures", "expected"),
    [
        (rollouts.OnWaveFailure.STOP, HALF, 1),
        (rollouts.OnWaveFailure.ROLLBACK_ALL, rollouts.NONE, 0),
        # Nothing stops the run, so all may fail.
        (rollouts.OnWaveFailure.CONTINUE, rollouts.NONE, 3),
    ],
)
def test_how_many_of_a_wave_may_fail(
    on_failure: rollouts.OnWaveFailure, failures: rollouts.Share, expected: int
) -> None:
    wave = rollouts.Wave("all", on_failure=on_failure, budget=rollouts.Budget(failures, HALF))
    planned = planned_waves.PlannedWave(wave, ("us", "eu", "asia"))

    assert (planned.failures, planned.unreachable) == (expected, 1)


def test_at_least_one_cluster_is_worked_on_and_without_a_limit_all_are() -> None:
    few = rollouts.Wave("few", max_concurrency=rollouts.Share(10, is_percentage=True))

    assert planned_waves.PlannedWave(few, ("us", "eu")).concurrency == 1
    assert planned_waves.PlannedWave(rollouts.Wave("all"), ("us", "eu")).concurrency == 0


def test_numbers_come_before_texts_and_what_has_no_label_comes_last() -> None:
    labels = {"none": "", "text": "canary", "later": "b", "ten": "10", "minus": "-1", "two": "2"}
    clusters = [
        fleets.Cluster(name, {"ring": ring} if ring else {}) for name, ring in labels.items()
    ]
    waves = rollouts.Waves((rollouts.Wave("all", order_by="ring"),))

    (planned,) = planned_waves.divide(waves, clusters).waves
    assert planned.targets == ("minus", "two", "ten", "later", "text", "none")


def test_one_per_label_takes_no_cluster_without_the_label() -> None:
    found = divided(rollouts.Wave("gold", one_per="tier"), rollouts.Wave("others"))

    assert found["gold"] == ("us-1",)
    assert "us-1" not in found["others"]


def test_one_per_region_of_the_fleets_own_fields() -> None:
    clusters = [fleets.Cluster(name, region=name[:2]) for name in ("us-1", "us-2", "eu-1")]
    waves = rollouts.Waves((rollouts.Wave("first", one_per="region"), rollouts.Wave("others")))

    first, others = planned_waves.divide(waves, clusters).waves
    assert (first.targets, others.targets) == (("us-1", "eu-1"), ("us-2",))
