"""What comes after a move was decided: its steps, what failed, and what is withdrawn."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failover_world import BY_HAND, NAMES, NOW, app, situation
from volary.model.placement import failover_rules
from volary.placement.failover import evictions, move_plans, observed_durations, situations


def leaving(**options: object) -> situations.Eviction:
    made = situations.Eviction(
        "us",
        situations.Cause.CLUSTER,
        "us is flooded",
        NOW,
        grace=timedelta(minutes=10),
        replacements=("asia",),
    )
    return replace(made, **options)  # type: ignore[arg-type]


def followed(
    each: situations.Eviction, *, lost: Sequence[str] = (), now: datetime = NOW
) -> evictions.NextSteps:
    looked = situation(app(), now, lost=lost)
    return evictions.next_steps(looked, [each], ("eu", "asia"))


def test_the_replacement_comes_first_and_nothing_is_removed_where_nobody_answers() -> None:
    found = followed(leaving(lost=True), lost=["us"])

    assert found.shift == move_plans.MovePlan(place=("asia",))


def test_a_cluster_that_is_back_is_cleaned_up_after_the_replacement_was_seen_healthy() -> None:
    waiting = followed(leaving(lost=True, replaced=True), lost=["us"])
    back = followed(leaving(lost=True, replaced=True))

    assert waiting.shift is None
    assert waiting.waiting["us"].endswith("us is cleaned up once it answers again")
    assert back.shift == move_plans.MovePlan(place=("asia",), last=("us",))
    assert back.reason == (
        "us answers again: what moved away at 2026-03-01 12:00:00 is removed there"
    )


def test_a_cluster_that_answers_is_left_in_the_same_run_but_last() -> None:
    assert followed(leaving()).shift == move_plans.MovePlan(place=("asia",), last=("us",))


OVERDUE = observed_durations.ObservedDuration(NOW, NOW, timedelta(minutes=10))


def test_after_its_grace_period_it_goes_without_a_replacement_but_not_where_it_was_lost() -> None:
    over = leaving(waited=OVERDUE, attempts=1)

    found = followed(over)
    assert found.shift == move_plans.MovePlan(first=("us",), place=("asia",))
    assert found.reason == "no healthy replacement within 10 min: us is flooded"
    untried = followed(replace(over, attempts=0))
    assert untried.shift == move_plans.MovePlan(place=("asia",), last=("us",)), "held up so far"
    assert followed(replace(over, lost=True)).shift == move_plans.MovePlan(
        place=("asia",), last=("us",)
    )


def test_what_was_replaced_in_time_is_removed_last() -> None:
    in_time = followed(leaving(waited=OVERDUE, attempts=1, replaced=True))

    assert in_time.shift == move_plans.MovePlan(place=("asia",), last=("us",))
    assert in_time.reason.startswith("us is left: what moved away at")


def test_a_cluster_lost_after_it_was_replaced_is_remembered_as_lost() -> None:
    (silent,) = followed(leaving(replaced=True), lost=["us"]).leaving

    assert silent.lost
    assert followed(silent).reason.startswith("us answers again: what moved away at")


def test_directly_removes_first_and_never_leaves_it() -> None:
    directly = followed(leaving(purge=failover_rules.Purge.DIRECTLY))
    never = leaving(purge=failover_rules.Purge.NEVER)

    assert directly.shift == move_plans.MovePlan(first=("us",), place=("asia",))
    assert followed(never).shift == move_plans.MovePlan(place=("asia",))
    assert followed(replace(never, replaced=True)).shift is None


def test_what_failed_is_tried_again_later_and_later() -> None:
    tried = leaving(tried=NOW, attempts=3)

    early = followed(tried, now=NOW + timedelta(seconds=119))
    due = followed(tried, now=NOW + timedelta(seconds=120))

    assert early.shift is None
    assert "it failed 3 times" in early.waiting["us"]
    assert due.shift is not None
    assert due.leaving[0].attempts == 4


def test_a_replacement_that_is_lost_as_well_is_replaced_by_who_is_left() -> None:
    found = followed(leaving(), lost=["asia"])
    anew = evictions.next_steps(situation(app()), [leaving()], ("eu", "sa"))

    assert found.shift is None
    assert anew.shift == move_plans.MovePlan(place=("eu", "sa"), last=("us",))


@pytest.mark.parametrize(
    ("placed", "removed", "left"),
    [
        ((), (), (False, False)),
        (("asia",), (), (True, False)),
        ((), ("us",), (False, True)),
        (("asia",), ("us",), None),
    ],
)
def test_only_what_was_proven_counts(
    placed: Sequence[str], removed: Sequence[str], left: tuple[bool, bool] | None
) -> None:
    shift = move_plans.MovePlan(place=("asia",), last=("us",))

    after = move_plans.after_run([leaving()], frozenset(placed), frozenset(removed), shift)

    assert [(each.replaced, each.removed) for each in after] == ([] if left is None else [left])


@given(
    purge=st.sampled_from(list(failover_rules.Purge)),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    lost=st.sets(st.sampled_from(NAMES)),
    attempts=st.integers(0, 3),
)
def test_nothing_is_ever_removed_in_a_cluster_that_does_not_answer(
    purge: failover_rules.Purge, flags: tuple[bool, bool, bool], lost: set[str], attempts: int
) -> None:
    each = leaving(
        purge=purge,
        replaced=flags[0],
        removed=flags[1],
        lost=flags[2],
        attempts=attempts,
        waited=OVERDUE,
    )

    shift = followed(each, lost=sorted(lost)).shift

    if shift is None:
        return
    assert not set(shift.clusters) & lost
    assert set(shift.place), "those that stay are seen healthy in every run"
    if flags[2] and purge is failover_rules.Purge.GRACEFULLY:
        assert not shift.first


def pending(**options: object) -> situations.PlacementState:
    """Return what is remembered of a move that was decided and has not begun."""
    begun = {"before": ("us", "eu"), "attempts": 1, "tried": NOW}
    each = leaving(**{**begun, **options})
    return situations.PlacementState(("eu", "asia"), away={"us": "flood"}, leaving=(each,))


def test_a_move_that_has_not_begun_is_taken_back_when_its_reason_has_gone() -> None:
    after = evictions.without_pending(situation(app(), placement=pending()))

    assert after == situations.PlacementState(("us", "eu"))


@pytest.mark.parametrize(
    ("given_", "options"),
    [
        ({"lost": ["us"]}, {}),
        ({"marks": {"us": BY_HAND}}, {}),
        ({}, {"replaced": True}),
        ({}, {"removed": True}),
        ({}, {"attempts": 2}),
    ],
)
def test_it_holds_while_something_speaks_for_it_or_it_has_begun(
    given_: dict[str, object], options: dict[str, object]
) -> None:
    looked = situation(app(), placement=pending(**options), **given_)  # type: ignore[arg-type]

    assert evictions.without_pending(looked) is None
