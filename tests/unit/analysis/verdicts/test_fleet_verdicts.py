"""Many clusters: who decides, who is an outlier, and what hardly any traffic does."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.verdicts import fleet_verdicts, rule_verdicts
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, Judgement, Kind, Range, Result, Role, Strategy

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LOOKS = 10

ERRORS = analysis.Rule(
    "errors",
    "prom",
    "q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
    minimum_samples=500,
    minimum_effect=0,
)
LATENCY = replace(ERRORS, name="latency", total_query="", kind=Kind.VALUE, minimum_samples=1)

#: Requests on canary a look, share of errors there, share of errors on the other side.
Region = tuple[int, float, float]


def measured(
    target: str, number: int, role: Role, values: tuple[float, ...], totals: tuple[float, ...] = ()
) -> analysis.Measurement:
    # The clusters do not look at quite the same moment.
    late = timedelta(seconds=len(target))
    return analysis.Measurement(
        "metric",
        "q",
        START + number * MINUTE + late,
        target=target,
        variant="canary" if role is Role.JUDGED else "baseline",
        role=role,
        values=values,
        totals=totals,
    )


def series(target: str, measurements: list[analysis.Measurement]) -> analysis.Series:
    late = timedelta(seconds=len(target))
    return analysis.Series(
        START + late,
        START + LOOKS * MINUTE + late,
        START + 60 * MINUTE,
        target,
        tuple(measurements),
    )


def released(regions: Mapping[str, Region], looks: int = LOOKS) -> dict[str, analysis.Series]:
    """Return what was counted, at exactly the given shares, nine times as much beside canary."""
    found = {}
    for target, (requests, canary, other) in regions.items():
        found[target] = series(
            target,
            [
                measured(target, at, role, (share * total,), (total,))
                for at in range(1, looks + 1)
                for role, share, total in (
                    (Role.JUDGED, canary, requests),
                    (Role.REFERENCE, other, 9 * requests),
                )
                if requests
            ],
        )
    return found


def judge(
    rule: analysis.Rule, measured: Mapping[str, analysis.Series], minute: int = LOOKS + 1
) -> analysis.FleetVerdict:
    return fleet_verdicts.judge(rule, measured, START + minute * MINUTE)


def results(verdicts: Mapping[str, analysis.Verdict]) -> dict[str, str]:
    return {target: each.result.value for target, each in verdicts.items()}


def by(decider: Decider) -> analysis.Rule:
    return replace(ERRORS, decider=decider)


#: Each has its own level of errors, and canary fits it.
HEALTHY: dict[str, Region] = {"eu": (300, 0.01, 0.01), "us": (300, 0.03, 0.03), "ap": (100, 0, 0)}
ONE_BAD = {**HEALTHY, "us": (300, 0.10, 0.03)}
QUIET: dict[str, Region] = {**HEALTHY, "ap": (3, 0, 0)}
SILENT: dict[str, Region] = {**HEALTHY, "ap": (0, 0, 0)}


def test_a_healthy_fleet_passes_whoever_decides() -> None:
    for decider in Decider:
        found = judge(by(decider), released(HEALTHY))
        assert set(results(found.decided).values()) == {"pass"}
        assert found.pooled.outliers == ()
        assert found.pooled.sentence.startswith("errors over 3 clusters: ")


@pytest.mark.parametrize(
    ("decider", "expected"),
    [
        (Decider.PER_CLUSTER, {"eu": "pass", "us": "fail", "ap": "pass"}),
        (Decider.POOLED, {"eu": "fail", "us": "fail", "ap": "fail"}),
        (Decider.BOTH, {"eu": "pass", "us": "fail", "ap": "pass"}),
    ],
)
def test_one_bad_region_and_who_decides(decider: Decider, expected: dict[str, str]) -> None:
    found = judge(by(decider), released(ONE_BAD))

    assert results(found.decided) == expected
    assert found.pooled.outliers == ("us",)
    assert found.pooled.sentence.endswith("us differs from the other clusters")


@pytest.mark.parametrize("regions", [QUIET, SILENT])
@pytest.mark.parametrize(
    ("decider", "quiet"),
    [(Decider.PER_CLUSTER, "inconclusive"), (Decider.POOLED, "pass"), (Decider.BOTH, "pass")],
)
def test_a_region_with_hardly_any_traffic_does_not_block(
    regions: dict[str, Region], decider: Decider, quiet: str
) -> None:
    found = judge(by(decider), released(regions))

    assert results(found.decided) == {"eu": "pass", "us": "pass", "ap": quiet}
    assert found.own["ap"].result is Result.INCONCLUSIVE


@pytest.mark.parametrize("decider", [Decider.POOLED, Decider.BOTH])
def test_a_region_with_hardly_any_traffic_does_not_blind(decider: Decider) -> None:
    """What all of them show counts there too."""
    bad = {target: (requests, 0.1, 0.02) for target, (requests, _, _) in QUIET.items()}
    found = judge(by(decider), released(bad))

    assert set(results(found.decided).values()) == {"fail"}
    assert not found.own["ap"].is_condemned


def test_no_traffic_anywhere_is_no_pass() -> None:
    nothing: dict[str, Region] = dict.fromkeys(HEALTHY, (0, 0, 0))

    for decider in Decider:
        assert set(results(judge(by(decider), released(nothing)).decided).values()) == {
            "inconclusive"
        }


def test_many_small_regions_find_together_what_none_finds_alone() -> None:
    """Two percent more errors, at eight requests a look on each of thirty clusters."""
    regions = {f"edge-{number}": (8, 0.05, 0.01) for number in range(30)}
    rule = replace(by(Decider.POOLED), minimum_samples=1)

    found = judge(rule, released(regions))

    assert {each.result for each in found.own.values()}.isdisjoint({Result.FAIL})
    assert found.pooled.result is Result.FAIL
    assert found.pooled.numbers.samples == 30 * 8 * LOOKS
    assert found.pooled.outliers == ()


def test_differing_regions_do_not_confound() -> None:
    """Canary's traffic is mostly where errors are common; mixed, it has six times as many."""
    regions = {"calm": (100, 0.001, 0.001), "rough": (900, 0.1, 0.1)}
    history = released(regions)
    # Make the other side's traffic lie mostly in the calm region.
    history["calm"] = series(
        "calm",
        [
            replace(each, values=(each.values[0] * 90,), totals=(each.totals[0] * 90,))
            if each.role is Role.REFERENCE
            else each
            for each in history["calm"].measurements
        ],
    )
    found = judge(by(Decider.POOLED), history)

    assert (found.pooled.numbers.value or 0) > 5 * (found.pooled.numbers.reference or 1)
    assert found.pooled.numbers.effect == pytest.approx(1, rel=0.01)
    assert found.pooled.result is Result.PASS


def latencies(
    shifts: Mapping[str, tuple[float, float]], generator: random.Random, points: int = 5
) -> dict[str, analysis.Series]:
    """Return values of both sides: each region's own level, and canary's shift there."""
    return {
        target: series(
            target,
            [
                measured(
                    target,
                    at,
                    role,
                    tuple(generator.gauss(level + extra, 1) for _ in range(points)),
                )
                for at in range(1, LOOKS + 1)
                for role, extra in ((Role.JUDGED, shift), (Role.REFERENCE, 0.0))
            ],
        )
        for target, (level, shift) in shifts.items()
    }


def test_latency_over_regions_at_different_levels() -> None:
    generator = random.Random(8)
    rule = replace(LATENCY, decider=Decider.POOLED)
    healthy = latencies({"eu": (10, 0), "us": (50, 0), "ap": (200, 0)}, generator)
    slower = latencies({"eu": (10, 0.7), "us": (50, 0.7), "ap": (200, 0.7)}, generator)
    one = latencies({"eu": (10, 0), "us": (50, 0), "ap": (200, 3)}, generator)

    assert judge(rule, healthy).pooled.result is Result.PASS
    assert judge(rule, slower).pooled.result is Result.FAIL
    assert judge(rule, slower).pooled.outliers == ()
    assert judge(rule, one).pooled.outliers == ("ap",)


def test_each_look_over_the_fleet() -> None:
    """Counted look by look, the looks of all clusters at one time are one look."""
    rule = replace(by(Decider.POOLED), judgement=Judgement.EACH, minimum_samples=10)
    found = judge(rule, released(ONE_BAD))

    assert found.pooled.result is Result.FAIL
    assert judge(rule, released(HEALTHY)).pooled.numbers.looks == LOOKS


def test_a_range_over_the_fleet_is_that_of_the_middle_cluster() -> None:
    rule = replace(
        LATENCY,
        strategy=Strategy.THRESHOLD,
        judgement=Judgement.EACH,
        expected=Range(maximum=300),
        decider=Decider.POOLED,
    )
    levels = {"eu": 100.0, "us": 120.0, "ap": 900.0}
    history = {
        target: series(
            target,
            [
                # One of them has as many series as all the others together.
                measured(target, at, Role.JUDGED, (level,) * (3 if target == "ap" else 1))
                for at in range(1, LOOKS + 1)
            ],
        )
        for target, level in levels.items()
    }

    found = judge(rule, history)

    assert found.pooled.result is Result.PASS
    assert "120 is within the expected ≤ 300" in found.pooled.sentence
    assert found.pooled.outliers == ("ap",)
    assert results(found.own) == {"eu": "pass", "us": "pass", "ap": "fail"}


def test_outliers_of_a_proportion_against_a_limit() -> None:
    rule = replace(ERRORS, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.2))

    regions: dict[str, Region] = {"eu": (300, 0.01, 0), "us": (300, 0.1, 0), "ap": (90, 0.01, 0)}

    assert judge(rule, released(regions)).pooled.outliers == ("us",)


def test_each_that_stands_out_is_named() -> None:
    regions: dict[str, Region] = {
        **dict.fromkeys(("a", "b", "c", "d"), (300, 0.02, 0.02)),
        "e": (300, 0.1, 0.02),
        "f": (300, 0.3, 0.02),
    }

    found = judge(by(Decider.POOLED), released(regions))

    assert found.pooled.outliers == ("e", "f")
    assert found.pooled.sentence.endswith("e, f differ from the other clusters")


def test_of_two_the_one_with_a_difference_is_named() -> None:
    regions: dict[str, Region] = {"a": (300, 0.02, 0.02), "b": (300, 0.1, 0.02)}

    assert judge(by(Decider.BOTH), released(regions)).pooled.outliers == ("b",)


def test_both_verdicts_share_the_level() -> None:
    """What condemns a cluster that decides alone is not enough where twenty share the chance."""
    regions: dict[str, Region] = dict.fromkeys(
        [f"calm-{at}" for at in range(19)], (300, 0.02, 0.02)
    )
    regions["doubtful"] = (300, 0.031, 0.02)
    alone = judge(ERRORS, released({"doubtful": regions["doubtful"]}))
    shared = judge(by(Decider.BOTH), released(regions))
    p_value = alone.own["doubtful"].numbers.p_value or 0

    assert 0.05 / 2 / 20 < p_value < 0.05 / 2
    assert alone.own["doubtful"].is_condemned
    assert not shared.own["doubtful"].is_condemned
    assert shared.pooled.result is Result.PASS


def test_the_pooled_verdict_has_half_of_the_level_where_both_decide() -> None:
    regions: dict[str, Region] = dict.fromkeys(("a", "b", "c"), (90, 0.03, 0.02))
    alone = judge(by(Decider.POOLED), released(regions))
    shared = judge(by(Decider.BOTH), released(regions))

    assert 0.025 < (alone.pooled.numbers.p_value or 0) < 0.05
    assert alone.pooled.result is Result.FAIL
    assert shared.pooled.result is Result.PASS


def test_alike_clusters_are_rarely_named() -> None:
    generator = random.Random(9)
    named = 0
    for _ in range(200):
        history = latencies({"eu": (10, 0.5), "us": (50, 0.5), "ap": (200, 0.5)}, generator)
        named += bool(judge(LATENCY, history).pooled.outliers)

    assert named <= 8


@pytest.mark.parametrize("decider", Decider)
def test_false_alarms_of_a_fleet_stay_below_the_level(decider: Decider) -> None:
    """150 healthy releases on three clusters, judged at their ends (bets remember the best)."""
    generator = random.Random(10)
    rule = replace(LATENCY, decider=decider)
    alarms = 0
    for _ in range(150):
        found = judge(rule, latencies({"eu": (1, 0), "us": (5, 0), "ap": (9, 0)}, generator, 3))
        failed = [each.result is Result.FAIL for each in found.decided.values()]
        alarms += sum(failed) if decider is Decider.PER_CLUSTER else any(failed)

    runs = 3 * 150 if decider is Decider.PER_CLUSTER else 150
    assert alarms / runs <= 0.05


def test_a_single_cluster_is_its_own_fleet() -> None:
    for decider in Decider:
        alone = released({"eu": (300, 0.1, 0.01)})
        found = judge(by(decider), alone)
        assert found.own["eu"].result is Result.FAIL
        assert found.decided["eu"].result is Result.FAIL
        assert found.pooled.sentence.startswith("errors on eu: ")


@given(
    st.dictionaries(
        st.sampled_from(["eu", "us", "ap", "af"]),
        st.tuples(st.integers(0, 400), st.floats(0, 0.2), st.floats(0, 0.2)),
        min_size=1,
    ),
    st.sampled_from(Decider),
)
def test_the_order_of_the_clusters_means_nothing(
    regions: dict[str, Region], decider: Decider
) -> None:
    history = released(regions, looks=3)
    backwards = dict(reversed(history.items()))

    found, other = judge(by(decider), history), judge(by(decider), backwards)

    assert results(found.own) == results(other.own)
    assert results(found.decided) == results(other.decided)
    assert set(found.pooled.outliers) == set(other.pooled.outliers)
    if decider is Decider.PER_CLUSTER:
        assert found.decided == found.own


def healthy(generator: random.Random, clusters: int) -> dict[str, analysis.Series]:
    """Return what a healthy release shows on so many clusters, 1 % errors everywhere."""

    def drawn(requests: int) -> float:
        return sum(generator.random() < 0.01 for _ in range(requests))

    return {
        f"c{number}": series(
            f"c{number}",
            [
                measured(f"c{number}", at, role, (drawn(requests),), (requests,))
                for at in range(1, 4)
                for role, requests in ((Role.JUDGED, 40), (Role.REFERENCE, 80))
            ],
        )
        for number in range(clusters)
    }


@pytest.mark.parametrize("judgement", Judgement)
def test_a_hundred_clusters_share_the_chance_of_a_false_alarm(judgement: Judgement) -> None:
    """Each at 5 % most of the releases would have a cluster that fails."""
    rule = replace(ERRORS, judgement=judgement, minimum_samples=1)
    generator, alarms, alone = random.Random(11), 0, 0
    for _ in range(6):
        fleet = healthy(generator, 100)
        for each, share in ((rule, 1), (fleet_verdicts.own_rule(rule, 100), 100)):
            failed = any(
                rule_verdicts.judge(each, history, history.ends).result is Result.FAIL
                for history in fleet.values()
            )
            alone += failed and share == 1
            alarms += failed and share == 100

    assert alarms <= 1
    assert alone >= (4 if judgement is Judgement.EACH else 0)


def test_later_waves_share_it_too() -> None:
    """Ten of a hundred clusters have a tenth of the chance, together and each by itself."""
    rule = by(Decider.BOTH)

    assert fleet_verdicts.own_rule(rule, 100).significance == pytest.approx(0.00025)
    assert fleet_verdicts.pooled_rule(rule, 10, 100).significance == pytest.approx(0.0025)
    alone = fleet_verdicts.judge(
        ERRORS, released({"eu": (300, 0.031, 0.02)}), START + 11 * MINUTE, clusters=20
    )
    assert not alone.own["eu"].is_condemned


#: Nothing fails anywhere but for one region's canary, in the biggest or in a small one.
@pytest.mark.parametrize(
    "regions",
    [
        {"eu": (100, 0.3, 0), "us": (100, 0, 0), "ap": (100, 0, 0)},
        {"eu": (900, 0.05, 0), "us": (100, 0, 0), "ap": (100, 0, 0)},
        {"eu": (100, 0.3, 0), "us": (900, 0, 0), "ap": (300, 0, 0)},
        {"eu": (300, 0.1, 0.01), "us": (300, 0.01, 0.01)},
    ],
)
def test_at_no_look_does_one_bad_region_take_the_others_along(regions: dict[str, Region]) -> None:
    history = released(regions)
    rule = replace(by(Decider.BOTH), minimum_samples=1)
    found = [judge(rule, history, minute) for minute in range(1, LOOKS + 2)]

    for verdict in found:
        assert "fail" not in {
            result for target, result in results(verdict.decided).items() if target != "eu"
        }
    assert found[-1].decided["eu"].result is Result.FAIL


def test_an_outlier_fails_alone_when_it_is_the_pool_that_shows_it() -> None:
    """Its own data are just not enough for its share of the level, the pool's are."""
    regions: dict[str, Region] = {
        "eu": (300, 0.031, 0.02),
        **{f"calm-{at}": (60, 0.0, 0.0) for at in range(9)},
    }
    rule = replace(by(Decider.BOTH), minimum_samples=1)
    found = judge(rule, released(regions))

    assert found.own["eu"].result is Result.FAIL
    assert found.own["eu"].sentence.startswith("errors on eu: canary has 3.1 % (3000 requests)")
    assert "; without eu nothing speaks against the others, with it: " in found.own["eu"].sentence
    assert found.pooled.sentence.endswith("; without eu, which fails alone")
    assert {found.decided[f"calm-{at}"].result for at in range(9)} == {Result.PASS}


def test_who_is_bad_by_itself_fails_alone_also_when_it_hardly_differs_from_the_others() -> None:
    """So few errors that chance may explain the difference, but the others show none at all."""
    regions: dict[str, Region] = {"eu": (60, 0.04, 0), "us": (15, 0, 0), "ap": (15, 0, 0)}
    rule = replace(by(Decider.BOTH), minimum_samples=1)
    found = next(
        verdict
        for verdict in (judge(rule, released(regions), minute) for minute in range(1, LOOKS))
        if verdict.decided["eu"].result is Result.FAIL
    )

    assert "fail" not in (results(found.decided)[name] for name in ("us", "ap")), found
    assert found.pooled.outliers == ("eu",)
