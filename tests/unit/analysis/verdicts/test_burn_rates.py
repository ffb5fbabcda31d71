"""Error budgets: how fast they burn, over which windows, and what a release may do to them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.verdicts import fleet_verdicts, rule_verdicts
from volary.model import analysis
from volary.model.analysis import Decider, Judgement, Kind, NoData, Result

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LOOKS = 20
SLO = analysis.Slo(99.9)
RULE = analysis.Rule(
    "availability",
    "prom",
    "bad",
    total_query="all",
    kind=Kind.PROPORTION,
    judgement=Judgement.SEQUENTIAL,
    slo=SLO,
    expected=analysis.Range(maximum=6 * SLO.budget),
)


def series(
    share: Callable[[int], float], target: str = "eu", *, requests: int = 1000, looks: int = LOOKS
) -> analysis.Series:
    measurements = tuple(
        analysis.Measurement(
            "availability",
            "bad",
            START + number * MINUTE,
            target=target,
            values=(share(number) * requests,),
            totals=(float(requests),),
        )
        for number in range(1, looks + 1)
    )
    return analysis.Series(
        START, START + LOOKS * MINUTE, START + 2 * LOOKS * MINUTE, target, measurements
    )


def judge(
    share: Callable[[int], float],
    minute: int = LOOKS,
    rule: analysis.Rule = RULE,
    looks: int = LOOKS,
) -> analysis.Verdict:
    return rule_verdicts.judge(rule, series(share, looks=looks), START + minute * MINUTE)


def test_the_bounds_of_30_days_are_those_of_the_workbook() -> None:
    hours = [timedelta(hours=1), timedelta(hours=6)]
    found = SLO.bounds(timedelta(days=1))

    assert [bound.rate for bound in found] == [14.4, 6]
    assert [bound.long for bound in found] == hours
    assert [bound.short for bound in found] == [hour / 12 for hour in hours]


def test_another_window_has_the_same_parts_of_its_budget() -> None:
    found = analysis.Slo(99.9, timedelta(days=7)).bounds(timedelta(days=1))

    assert [bound.rate for bound in found] == [3.36, 1.4]


def test_the_windows_of_a_short_analysis_shrink_and_the_rates_do_not() -> None:
    found = SLO.bounds(timedelta(minutes=36))

    assert [bound.rate for bound in found] == [14.4, 6]
    assert [bound.long for bound in found] == [6 * MINUTE, 36 * MINUTE]
    assert [bound.short for bound in found] == [MINUTE / 2, 3 * MINUTE]


def test_what_burns_the_budget_too_fast_fails_with_rate_windows_and_what_is_left() -> None:
    found = judge(lambda _: 0.02, 4)

    assert (found.result, found.is_final, found.is_condemned) == (Result.FAIL, True, True)
    assert found.sentence.startswith(
        "availability on eu: burn rate 20 over 4m and 20 over 2m, 6 is allowed by 99.9 % in "
        "30 days; 2.0 % of 4000 requests failed, p "
    )
    assert found.sentence.endswith(
        "of a budget that was whole 99.8 % is left, for 1.5 days if all requests burn it at 20"
    )


def test_what_stays_below_passes_and_says_so() -> None:
    found = judge(lambda _: 0.001)

    assert (found.result, found.is_final) == (Result.PASS, True)
    assert "burn rate 1 over 20m and 1 over 2m, 6 is allowed" in found.sentence
    assert "would have been found with 80 %" in found.sentence


def test_what_is_over_does_not_fail_any_more() -> None:
    """The long window is above the bound, the short one is not."""
    found = judge(lambda number: 0.008 if number < 17 else 0.0)

    assert found.result is Result.PASS
    assert "6.4 over 20m and 0 over 2m" in found.sentence


def test_what_is_above_the_bounds_without_proof_does_not_pass() -> None:
    above = lambda _: 0.0065  # noqa: E731 - the same share twice
    waiting, late = judge(above), judge(above, 2 * LOOKS)

    assert (waiting.result, waiting.is_final) == (Result.INCONCLUSIVE, False)
    assert "that may be chance; waiting for data" in waiting.sentence
    assert (late.result, late.is_condemned) == (Result.FAIL, False)
    assert judge(above, rule=replace(RULE, no_data=NoData.PASS)).result is Result.PASS


def test_nobody_passes_for_want_of_requests() -> None:
    thin = rule_verdicts.judge(
        RULE, series(lambda _: 0.0, requests=1, looks=3), START + LOOKS * MINUTE
    )

    assert thin.result is Result.INCONCLUSIVE


def fleet(shares: Mapping[str, float]) -> analysis.FleetVerdict:
    measured = {name: series(lambda _, at=at: at, name) for name, at in shares.items()}  # type: ignore[misc]
    rule = replace(RULE, decider=Decider.BOTH)
    return fleet_verdicts.judge(rule, measured, START + LOOKS * MINUTE)


def test_clusters_share_a_budget_and_one_that_burns_it_alone_fails_alone() -> None:
    one = fleet({"us": 0.0005, "eu": 0.03, "asia": 0.0005})
    every = fleet({"us": 0.02, "eu": 0.02, "asia": 0.02})

    assert {name: found.result for name, found in one.decided.items()} == {
        "us": Result.PASS,
        "eu": Result.FAIL,
        "asia": Result.PASS,
    }
    assert {found.result for found in every.decided.values()} == {Result.FAIL}
    assert every.pooled.sentence.startswith("availability over 3 clusters: burn rate 20 over 20m")


#: Shares of bad events, look by look.
SHARES = st.lists(
    st.sampled_from([0.0, 0.001, 0.005, 0.02, 0.5, 1.0]), min_size=LOOKS, max_size=LOOKS
)


@given(SHARES, st.integers(1, LOOKS))
def test_within_the_budget_nothing_ever_fails(shares: list[float], minute: int) -> None:
    good = [min(share, 0.005) for share in shares]

    assert judge(lambda number: good[number - 1], minute).result is not Result.FAIL


@given(SHARES, st.integers(1, LOOKS))
def test_nothing_passes_while_a_bound_is_exceeded_in_both_windows(
    shares: list[float], minute: int
) -> None:
    found = judge(lambda number: shares[number - 1], minute)
    newest = shares[max(0, minute - 2) : minute]

    if sum(shares[:minute]) / minute > 6.01 * SLO.budget and min(newest) > 6.01 * SLO.budget:
        assert found.result is not Result.PASS


@pytest.mark.parametrize("objective", [90.0, 99.0, 99.95, 99.999])
def test_a_budget_is_what_users_wrote(objective: float) -> None:
    assert f"{analysis.Slo(objective).budget:g}" == f"{(100 - objective) / 100:g}"


def counted_before(name: str, bad: float, requests: float) -> analysis.Measurement:
    role = analysis.Role.BUDGET
    return analysis.Measurement(
        "availability", "bad", START + MINUTE, target=name, variant="primary", role=role,
        values=(bad,), totals=(requests,),
    )  # fmt: skip


def with_budget(
    one: analysis.Series, bad: float = 400, requests: float = 1_000_000
) -> analysis.Series:
    before = counted_before(one.target, bad, requests)
    return replace(one, measurements=(before, *one.measurements))


def test_what_was_burnt_before_says_how_much_is_left() -> None:
    """A budget of 1,000 requests, of which 400 were bad before and 80 are now."""
    found = rule_verdicts.judge(RULE, with_budget(series(lambda _: 0.02)), START + 4 * MINUTE)
    spent = rule_verdicts.judge(
        RULE, with_budget(series(lambda _: 0.0), 1_001), START + LOOKS * MINUTE
    )

    assert found.result is Result.FAIL
    assert found.sentence.endswith(
        "of the budget of 30 days 52.0 % is left, 60.0 % before, "
        "for 18h43m12s if all requests burn it at 20"
    )
    assert "of the budget of 30 days nothing is left" in spent.sentence
    assert spent.result is Result.PASS, "it did not burn it"


def test_clusters_have_one_budget_where_all_of_them_know_it() -> None:
    known = {name: with_budget(series(lambda _: 0.0, name)) for name in ("us", "eu")}
    partly = known | {"eu": series(lambda _: 0.0, "eu")}
    rule = replace(RULE, decider=Decider.POOLED)
    said = [
        fleet_verdicts.judge(rule, measured, START + LOOKS * MINUTE).pooled.sentence
        for measured in (known, partly)
    ]

    assert "of the budget of 30 days 60.0 % is left, 60.0 % before" in said[0]
    assert "of a budget that was whole 100.0 % is left" in said[1]


def test_what_was_burnt_before_changes_no_verdict() -> None:
    for share in (0.0, 0.02):
        plain = series(lambda _, share=share: share)  # type: ignore[misc]
        alone, known = (
            rule_verdicts.judge(RULE, one, START + LOOKS * MINUTE)
            for one in (plain, with_budget(plain))
        )
        assert (alone.result, alone.numbers) == (known.result, known.numbers)
