"""Failover: nothing moves without evidence, and every decision says on which it stands."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failover_world import (
    BY_HAND,
    BY_RULE,
    CLUSTER,
    DEGRADED,
    FREE,
    HEALTHY,
    ILLNESS,
    LATER,
    NAMES,
    NOW,
    RULES,
    app,
    situation,
    watched,
)
from volary.model.fleet import taints
from volary.model.placement import failover_rules
from volary.placement.failover import decisions, eviction_limits, observed_durations, situations

UNSERVED = {"served": {"us": False}}
#: What is seen, for how long, and what is missing in the end.
MISSING = [
    ("nothing is marked", {"lost": ["us"]}, {}, None),
    ("no policy", {"lost": ["us"], "marks": {"us": BY_HAND}}, {"policy": None}, None),
    (
        "a rule alone",
        {"lost": ["us"], "marks": {"us": BY_RULE}},
        {"policy": replace(CLUSTER, witness=None)},
        "a lost connection is no evidence about users: add a witness, or taint it by hand",
    ),
    (
        "an external probe that is silent",
        {"lost": ["us"], "marks": {"us": BY_RULE}, "served": {"us": None}},
        {},
        "the external probe does not answer, and silence is no evidence",
    ),
    (
        "an external probe that sees users served",
        {"lost": ["us"], "marks": {"us": BY_RULE}, "served": {"us": True}},
        {},
        "the external probe says that its users are served",
    ),
    (
        "tolerated for ever",
        {"lost": ["us"], "marks": {"us": BY_HAND}},
        {"tolerations": [taints.Toleration("", taints.TolerationOperator.EXISTS)]},
        None,
    ),
    (
        "tolerated for an hour",
        {"lost": ["us"], "marks": {"us": BY_HAND}},
        {
            "tolerations": [
                taints.Toleration("", taints.TolerationOperator.EXISTS, toleration_seconds=3600)
            ]
        },
        "tolerated for 60 min; seen for 6 min so far",
    ),
    (
        "a taint that has not lasted, where the application is well",
        {"marks": {"us": BY_HAND}, "health": {"us": HEALTHY, "eu": HEALTHY}},
        {
            "policy": replace(CLUSTER, application=ILLNESS.application),
            "tolerations": [
                taints.Toleration("", taints.TolerationOperator.EXISTS, toleration_seconds=3600)
            ],
        },
        "tolerated for 60 min; seen for 6 min so far",
    ),
    (
        "nothing to move",
        {"lost": ["us"], "marks": {"us": BY_HAND}},
        {"most": 0},
        "it is on every cluster of its targets with all its replicas: nothing to move",
    ),
    (
        "nowhere to go",
        {"lost": ["us", "asia", "sa"], "marks": {"us": BY_HAND}},
        {},
        "there is nowhere to go: no other cluster qualifies",
    ),
    (
        "unhealthy everywhere",
        {"health": {"us": DEGRADED, "eu": DEGRADED}},
        {"policy": ILLNESS},
        "it is not well on any other cluster either, so it is not the cluster",
    ),
    (
        "unhealthy where nobody can see it",
        {"lost": ["us"], "health": {"us": DEGRADED, "eu": HEALTHY}},
        {"policy": ILLNESS},
        None,
    ),
]


@pytest.mark.parametrize(
    ("given_", "options", "missing"), [row[1:] for row in MISSING], ids=[row[0] for row in MISSING]
)
def test_nothing_moves_without_evidence_and_it_is_said_what_is_missing(
    given_: dict[str, object], options: dict[str, object], missing: str | None
) -> None:
    decision = watched(app(**options), LATER, **given_)  # type: ignore[arg-type]

    assert decision.leaving == ()
    assert decision.chosen == ("us", "eu")
    if missing is None:
        assert not decision.waiting
    else:
        assert missing in decision.waiting["us"]


def test_a_persons_mark_is_enough_once_it_has_outlasted_the_toleration() -> None:
    decision = watched(app(), LATER, lost=["us"], marks={"us": BY_HAND})

    (leaving,) = decision.leaving
    assert decision.chosen == ("eu", "asia")
    assert leaving.replacements == ("asia",)
    assert (leaving.cause, leaving.lost) == (situations.Cause.CLUSTER, True)
    assert leaving.since - NOW == timedelta(minutes=5)
    assert leaving.reason == (
        "us carries example.com/dead:NoExecute (ana: flood) since 12:00:00, tolerated"
        " for 5 min; what it runs goes to asia, the first that answers and fits the spread by"
        " cluster"
    )


def test_a_rules_mark_needs_the_witness_to_say_that_nobody_is_served() -> None:
    decision = watched(app(), LATER, lost=["us"], marks={"us": BY_RULE}, served={"us": False})

    (leaving,) = decision.leaving
    assert "and the external probe has said for 5 min that nobody is served there" in leaving.reason


def test_a_witness_that_is_not_asked_is_not_said_to_be_silent() -> None:
    decision = watched(
        app(), LATER, lost=["us"], marks={"us": BY_RULE}, unasked={"us": "it may not be"}
    )

    assert not decision.leaving
    (told,) = decision.waiting.values()
    assert "the external probe is not asked: it may not be" in told


def test_the_application_is_moved_when_it_is_ill_here_and_well_elsewhere() -> None:
    health = {"us": DEGRADED, "eu": HEALTHY}

    (leaving,) = watched(app(ILLNESS), LATER, health=health).leaving

    assert leaving.cause is situations.Cause.APPLICATION
    assert leaving.reason.startswith(
        "shop is unhealthy on us, which answers, since 12:00:00, tolerated for 5 min, and"
        " well on eu"
    )
    assert not leaving.lost


def test_an_application_on_one_cluster_alone_has_no_other_to_be_compared_with() -> None:
    now = NOW
    placement = situations.PlacementState(("us",))
    for _ in range(100):
        looked = situation(app(ILLNESS), now, placement=placement, health={"us": DEGRADED})
        decision = decisions.decide(looked, FREE)
        if decision.leaving:
            break
        placement = replace(placement, timers=decision.timers)
        now += RULES.interval

    (leaving,) = decision.leaving
    assert (leaving.cluster, leaving.cause) == ("us", situations.Cause.APPLICATION)
    assert now - NOW == timedelta(minutes=5)


def test_getting_well_for_a_moment_begins_the_time_anew() -> None:
    ill, well = {"us": DEGRADED, "eu": HEALTHY}, {"us": HEALTHY, "eu": HEALTHY}
    first = watched(app(ILLNESS), timedelta(minutes=4), health=ill)
    now = NOW + timedelta(minutes=4, seconds=10)
    placement = situations.PlacementState(("us", "eu"), timers=first.timers)

    between = decisions.decide(situation(app(ILLNESS), now, placement=placement, health=well), FREE)

    assert "us/ill" in first.timers
    assert between.timers == {}


@pytest.mark.parametrize("jump", [timedelta(hours=3), -timedelta(hours=3)])
def test_a_clock_that_jumps_and_a_long_sleep_count_for_nothing(jump: timedelta) -> None:
    given_ = {"lost": ["us"], "marks": {"us": BY_HAND}}
    before = watched(app(), timedelta(minutes=1), **given_)
    placement = situations.PlacementState(("us", "eu"), timers=before.timers)
    now = NOW + timedelta(minutes=1) + jump

    after = decisions.decide(situation(app(), now, placement=placement, **given_), FREE)  # type: ignore[arg-type]

    assert after.leaving == ()
    (timer,) = after.timers.values()
    assert timer.lasted == timedelta(minutes=1)


def test_a_drained_cluster_gives_its_divided_replicas_away_without_being_asked_twice() -> None:
    drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, NOW, "ana", "1.36")
    application = app(None, most=0, divided=True)

    decision = decisions.decide(situation(application, marks={"us": drain}), FREE)

    (leaving,) = decision.leaving
    assert (leaving.cause, leaving.grace) == (situations.Cause.DRAIN, None)
    assert leaving.reason == "us was drained by ana: 1.36; what it runs is shared by eu"


def test_nothing_that_is_not_divided_leaves_a_drained_cluster_and_it_is_said() -> None:
    drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, NOW, "ana")

    decision = decisions.decide(situation(app(), marks={"us": drain}), FREE)

    assert decision.leaving == ()
    assert decision.waiting == {
        "us": "us was drained by ana; its replicas are not divided, so nothing moves"
    }


def test_what_autoscalers_scale_everywhere_is_not_shared_by_the_others() -> None:
    """Nobody would take over: the drained cluster keeps what it has."""
    drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, NOW, "ana")
    here = situation(app(None, most=0, divided=True), marks={"us": drain})

    decision = decisions.decide(replace(here, has_shares=False), FREE)

    assert decision.leaving == ()
    assert decision.waiting == {
        "us": "us was drained by ana; it has nothing that is divided (what autoscalers scale is"
        " not), so nothing moves"
    }


def test_where_it_left_it_does_not_go_back_to() -> None:
    placement = situations.PlacementState(("us", "eu"), away={"asia": "flood"})

    decision = watched_with(placement, lost=["us"], marks={"us": BY_HAND})

    assert decision.chosen == ("eu", "sa")


def watched_with(placement: situations.PlacementState, **given: object) -> decisions.Decision:
    lasted = observed_durations.ObservedDuration(NOW, NOW, timedelta(minutes=5))
    timers = {"us/example.com/dead": lasted}
    looked = situation(app(), placement=replace(placement, timers=timers), **given)  # type: ignore[arg-type]
    return decisions.decide(looked, FREE)


def test_directly_waits_for_a_cluster_that_cannot_be_told_to_stop() -> None:
    policy = failover_rules.Failover(
        failover_rules.Behaviour(timedelta(), failover_rules.Purge.DIRECTLY)
    )

    gone = watched(app(policy), timedelta(), lost=["us"], marks={"us": BY_HAND})
    there = watched(app(policy), timedelta(), marks={"us": BY_HAND})

    assert "removes it first, and the cluster does not answer" in gone.waiting["us"]
    assert [each.cluster for each in there.leaving] == ["us"]


@given(
    looks=st.lists(
        st.tuples(
            st.sets(st.sampled_from(NAMES), max_size=2),
            st.sampled_from([None, "us", "eu"]),
            st.sampled_from([None, True, False]),
        ),
        max_size=20,
    )
)
def test_no_decision_without_a_mark_or_without_a_word(
    looks: list[tuple[set[str], str | None, bool | None]],
) -> None:
    """Whatever is lost for however long: without a taint, or the external probe's word, nothing
    moves."""
    placement, now = situations.PlacementState(("us", "eu")), NOW
    unserved = 0
    for lost, marked, served in looks:
        now += RULES.interval
        marks = {marked: BY_RULE} if marked else {}
        said = {marked: served} if marked else {}
        policy = replace(CLUSTER, cluster=failover_rules.Behaviour(timedelta(seconds=20)))
        looked = situation(
            app(policy), now, lost=sorted(lost), marks=marks, placement=placement, served=said
        )
        decision = decisions.decide(looked, FREE)
        unserved = unserved + 1 if marked and served is False else 0
        if decision.leaving:
            assert unserved >= 2
            assert decision.leaving[0].cluster == marked
            return
        placement = replace(placement, timers=decision.timers)


def test_while_little_of_the_fleet_can_be_seen_nothing_moves_not_even_what_is_drained() -> None:
    drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, NOW, "ana")
    drained = situation(app(None, most=0, divided=True), marks={"us": drain})
    closed = eviction_limits.Allowance(0, "9 of 10 clusters look unreachable", is_closed=True)

    decision = decisions.decide(drained, closed)

    assert decision.leaving == ()
    assert decision.waiting == {"us": "us was drained by ana; 9 of 10 clusters look unreachable"}
    # That others move just now holds up nobody whom a person has drained.
    busy = eviction_limits.Allowance(0, "1 of 1 moves is under way")
    assert [one.cluster for one in decisions.decide(drained, busy).leaving] == ["us"]


def test_moves_beyond_the_allowance_wait_and_say_why() -> None:
    tainted = dict.fromkeys(("us", "eu"), BY_HAND)
    lasted = observed_durations.ObservedDuration(NOW, NOW, timedelta(minutes=5))
    timers = {f"{name}/{BY_HAND.key}": lasted for name in tainted}
    placement = situations.PlacementState(("us", "eu"), timers=timers)
    given_ = situation(app(), placement=placement, lost=["us", "eu"], marks=tainted)

    decision = decisions.decide(given_, eviction_limits.Allowance(1, "1 move a minute"))

    assert [one.cluster for one in decision.leaving] == ["us"]
    assert decision.waiting["eu"].endswith("; it has to wait: 1 move a minute")
