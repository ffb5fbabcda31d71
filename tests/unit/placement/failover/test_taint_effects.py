"""Which marks move an application off a cluster: those with `NoExecute` alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from failover_world import BY_HAND, BY_RULE, LATER, app, watched
from volary.model.fleet import taints


@pytest.mark.parametrize(
    "mark",
    [
        replace(BY_HAND, effect=taints.Effect.NO_SCHEDULE),
        replace(BY_RULE, effect=taints.Effect.NO_SCHEDULE),
        replace(BY_HAND, key=taints.CORDONED, effect=taints.Effect.NO_SCHEDULE),
    ],
    ids=str,
)
def test_what_only_keeps_new_work_away_evicts_nothing(mark: taints.Taint) -> None:
    decision = watched(app(), LATER, lost=["us"], marks={"us": mark}, served={"us": False})

    assert decision.leaving == ()
    assert decision.chosen == ("us", "eu")
    assert decision.waiting == {}
    assert not any(mark.key in name for name in decision.timers)


def test_a_mark_is_tolerated_until_its_time_is_over_and_not_after_it() -> None:
    marked = {"lost": ["us"], "marks": {"us": BY_HAND}}

    before = watched(app(), timedelta(minutes=4), **marked)  # type: ignore[arg-type]
    after = watched(app(), LATER, **marked)  # type: ignore[arg-type]

    assert before.leaving == ()
    assert "seen for 4 min so far" in before.waiting["us"]
    assert [eviction.cluster for eviction in after.leaving] == ["us"]
