"""Failover: nothing moves without evidence, and every decision says on which it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import application as applications
from volary.model import attendance, failover, fleet, overrides, spreading, taints
from volary.model import status as words
from volary.placement import clocks, following, losses, shifts
from volary.placement import failover as decisions

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RULES = attendance.Rules()
READY, LOST = attendance.ClusterState.READY, attendance.ClusterState.UNREACHABLE
HEALTHY, DEGRADED = words.HealthStatus.HEALTHY, words.HealthStatus.DEGRADED
FREE = losses.Allowance(10, "")
NAMES = ("us", "eu", "asia", "sa")
WITNESS = failover.Witness("https://edge.example.com/${cluster.name}")
CLUSTER = failover.Failover(failover.Behaviour(timedelta(minutes=5)), witness=WITNESS)
ILLNESS = failover.Failover(application=failover.Behaviour(timedelta(minutes=5)))
DIVIDED = overrides.Differences(replicas=overrides.ReplicaDivision(overrides.Division.DIVIDED))
BY_RULE = taints.Taint(
    taints.UNREACHABLE, "", taints.Effect.NO_EXECUTE, NOW, taints.RULE, "it does not answer"
)
BY_HAND = taints.Taint("example.com/dead", "", taints.Effect.NO_EXECUTE, NOW, "ana", "flood")
LATER = timedelta(minutes=6)


def app(
    policy: failover.Failover | None = CLUSTER,
    *,
    most: int = 2,
    tolerations: Sequence[taints.Toleration] = (),
    divided: bool = False,
) -> applications.Application:
    spread = (spreading.Constraint(least=1, most=most),) if most else ()
    return applications.Application(
        "shop",
        failover=policy,
        spread=spread,
        tolerations=tuple(tolerations),
        differences=DIVIDED if divided else overrides.Differences(),
    )


def seen(
    now: datetime,
    lost: Sequence[str] = (),
    marks: Mapping[str, taints.Taint] | None = None,
) -> dict[str, attendance.Attendance]:
    marks = marks or {}
    return {
        name: attendance.Attendance(
            name,
            LOST if name in lost else READY,
            NOW,
            taints=(marks[name],) if name in marks else (),
            observed=now,
            steady=NOW,
        )
        for name in NAMES
    }


def situation(
    application: applications.Application,
    now: datetime = NOW,
    *,
    lost: Sequence[str] = (),
    marks: Mapping[str, taints.Taint] | None = None,
    chosen: Sequence[str] = ("us", "eu"),
    standing: decisions.Standing | None = None,
    served: Mapping[str, bool | None] | None = None,
    health: Mapping[str, words.HealthStatus] | None = None,
    unasked: Mapping[str, str] | None = None,
) -> decisions.Situation:
    marks = marks or {}
    targets = tuple(
        fleet.Cluster(name, taints=(marks[name],) if name in marks else ()) for name in NAMES
    )
    return decisions.Situation(
        application,
        targets,
        seen(now, lost, marks),
        standing or decisions.Standing(tuple(chosen)),
        now,
        RULES,
        served or {},
        health or {},
        unasked or {},
    )


def watched(
    application: applications.Application,
    until: timedelta,
    *,
    step: timedelta = RULES.interval,
    **given: object,
) -> decisions.Decision:
    """Return the decision after looking again and again for a while."""
    standing = decisions.Standing(("us", "eu"))
    now = NOW
    while True:
        looked = situation(application, now, standing=standing, **given)  # type: ignore[arg-type]
        decision = decisions.decide(looked, FREE)
        if decision.leaving or now - NOW >= until:
            return decision
        standing = replace(standing, timers=decision.timers)
        now += step


UNSERVED = {"served": {"us": False}}
#: What is seen, for how long, and what is missing in the end.
MISSING = [
    ("nothing is marked", {"lost": ["us"]}, {}, None),
    ("no policy", {"lost": ["us"], "marks": {"us": BY_HAND}}, {"policy": None}, None),
    (
        "a rule alone",
        {"lost": ["us"], "marks": {"us": BY_RULE}},
        {"policy": replace(CLUSTER, witness=None)},
        "that we lost it is no evidence that its users did: add a witness, or mark it by hand",
    ),
    (
        "a witness that is silent",
        {"lost": ["us"], "marks": {"us": BY_RULE}, "served": {"us": None}},
        {},
        "the witness does not answer, and silence is no evidence",
    ),
    (
        "a witness that sees users served",
        {"lost": ["us"], "marks": {"us": BY_RULE}, "served": {"us": True}},
        {},
        "the witness says that its users are served",
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
        {"tolerations": [taints.Toleration("", taints.TolerationOperator.EXISTS, seconds=3600)]},
        "put up with for 60 min; seen for 6 min so far",
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
        "ill everywhere",
        {"health": {"us": DEGRADED, "eu": DEGRADED}},
        {"policy": ILLNESS},
        "it is not well on any other cluster either, so it is not the cluster",
    ),
    (
        "ill where nobody can see it",
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
    assert (leaving.cause, leaving.lost) == (decisions.Cause.CLUSTER, True)
    assert leaving.since - NOW == timedelta(minutes=5)
    assert leaving.reason == (
        "us carries example.com/dead:NoExecute (ana: flood) since 12:00:00, which is put up with"
        " for 5 min; what it runs goes to asia, the first that answers and fits the spread by"
        " cluster"
    )


def test_a_rules_mark_needs_the_witness_to_say_that_nobody_is_served() -> None:
    decision = watched(app(), LATER, lost=["us"], marks={"us": BY_RULE}, served={"us": False})

    (leaving,) = decision.leaving
    assert "and the witness has said for 5 min that nobody is served there" in leaving.reason


def test_a_witness_that_is_not_asked_is_not_said_to_be_silent() -> None:
    decision = watched(
        app(), LATER, lost=["us"], marks={"us": BY_RULE}, unasked={"us": "it may not be"}
    )

    assert not decision.leaving
    (told,) = decision.waiting.values()
    assert "the witness is not asked: it may not be" in told


def test_the_application_is_moved_when_it_is_ill_here_and_well_elsewhere() -> None:
    health = {"us": DEGRADED, "eu": HEALTHY}

    (leaving,) = watched(app(ILLNESS), LATER, health=health).leaving

    assert leaving.cause is decisions.Cause.APPLICATION
    assert leaving.reason.startswith(
        "shop is ill on us, which answers, since 12:00:00, which is put up with for 5 min, and"
        " well on eu"
    )
    assert not leaving.lost


def test_getting_well_for_a_moment_begins_the_time_anew() -> None:
    ill, well = {"us": DEGRADED, "eu": HEALTHY}, {"us": HEALTHY, "eu": HEALTHY}
    first = watched(app(ILLNESS), timedelta(minutes=4), health=ill)
    now = NOW + timedelta(minutes=4, seconds=10)
    standing = decisions.Standing(("us", "eu"), timers=first.timers)

    between = decisions.decide(situation(app(ILLNESS), now, standing=standing, health=well), FREE)

    assert "us/ill" in first.timers
    assert between.timers == {}


@pytest.mark.parametrize("jump", [timedelta(hours=3), -timedelta(hours=3)])
def test_a_clock_that_jumps_and_a_long_sleep_count_for_nothing(jump: timedelta) -> None:
    given_ = {"lost": ["us"], "marks": {"us": BY_HAND}}
    before = watched(app(), timedelta(minutes=1), **given_)
    standing = decisions.Standing(("us", "eu"), timers=before.timers)
    now = NOW + timedelta(minutes=1) + jump

    after = decisions.decide(situation(app(), now, standing=standing, **given_), FREE)  # type: ignore[arg-type]

    assert after.leaving == ()
    (timer,) = after.timers.values()
    assert timer.lasted == timedelta(minutes=1)


def test_a_drained_cluster_gives_its_divided_replicas_away_without_being_asked_twice() -> None:
    drain = taints.Taint(taints.DRAINED, "", taints.Effect.NO_EXECUTE, NOW, "ana", "1.36")
    application = app(None, most=0, divided=True)

    decision = decisions.decide(situation(application, marks={"us": drain}), FREE)

    (leaving,) = decision.leaving
    assert (leaving.cause, leaving.grace) == (decisions.Cause.DRAIN, None)
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
    standing = decisions.Standing(("us", "eu"), away={"asia": "flood"})

    decision = watched_with(standing, lost=["us"], marks={"us": BY_HAND})

    assert decision.chosen == ("eu", "sa")


def watched_with(standing: decisions.Standing, **given: object) -> decisions.Decision:
    lasted = clocks.Clock(NOW, NOW, timedelta(minutes=5))
    timers = {"us/example.com/dead": lasted}
    looked = situation(app(), standing=replace(standing, timers=timers), **given)  # type: ignore[arg-type]
    return decisions.decide(looked, FREE)


def test_directly_waits_for_a_cluster_that_cannot_be_told_to_stop() -> None:
    policy = failover.Failover(failover.Behaviour(timedelta(), failover.Purge.DIRECTLY))

    gone = watched(app(policy), timedelta(), lost=["us"], marks={"us": BY_HAND})
    there = watched(app(policy), timedelta(), marks={"us": BY_HAND})

    assert "removes it first, and the cluster does not answer" in gone.waiting["us"]
    assert [each.cluster for each in there.leaving] == ["us"]


# The fleet.


def test_from_the_share_on_it_is_us_and_somebody_is_told() -> None:
    view = losses.look(seen(NOW, ["us", "eu", "asia"]), NOW, RULES)

    allowance = losses.allow(view, (), failover.Limits(), NOW)

    assert (allowance.moves, allowance.is_closed) == (0, True)
    assert allowance.alarm == (
        "3 of 4 clusters look lost: us, eu, asia: from 55 % on it is us who lost them, so nothing"
        " is moved"
    )


def test_clusters_nobody_looked_at_hold_moves_but_raise_no_alarm() -> None:
    view = losses.look(seen(NOW - timedelta(hours=1)), NOW, RULES)

    allowance = losses.allow(view, (), failover.Limits(), NOW)

    assert (allowance.is_closed, allowance.alarm) == (True, "")


def test_a_look_that_failed_counts_before_the_cluster_does() -> None:
    found = seen(NOW, ["us"])
    for name in ("eu", "asia"):
        found[name] = replace(found[name], pending=attendance.Change(LOST, NOW))

    assert losses.look(found, NOW, RULES).percent == 75


def test_a_process_that_was_asleep_decides_nothing() -> None:
    view = losses.look(seen(NOW, ["us"]), NOW, RULES, "this process stood still for 9 s")

    assert losses.allow(view, (), failover.Limits(), NOW).is_closed


@given(
    lost=st.sets(st.sampled_from(NAMES)),
    jobs=st.lists(st.sampled_from(NAMES), max_size=30),
    per_minute=st.integers(0, 5),
    gaps=st.lists(st.integers(0, 50), min_size=30, max_size=30),
)
def test_never_more_than_the_rate_moves_and_nothing_above_the_share(
    lost: set[str], jobs: list[str], per_minute: int, gaps: list[int]
) -> None:
    limits = failover.Limits(per_minute=per_minute, slow_per_minute=min(per_minute, 2))
    begun: list[datetime] = []
    now = NOW
    for name, gap in zip(jobs, gaps, strict=False):
        now += timedelta(seconds=gap)
        view = losses.look(seen(now, sorted(lost)), now, RULES)
        allowance = losses.allow(view, begun, limits, now)
        standing = decisions.Standing(
            ("us", "eu"),
            timers={f"{name}/example.com/dead": clocks.Clock(NOW, now, timedelta(hours=1))},
        )
        looked = situation(app(), now, lost=sorted(lost), marks={name: BY_HAND}, standing=standing)
        decision = decisions.decide(looked, allowance)
        begun += [each.since for each in decision.leaving]

        assert not decision.leaving or view.percent < limits.stop_share
        last_minute = [each for each in begun if now - each < timedelta(minutes=1)]
        most = limits.slow_per_minute if view.percent >= limits.slow_share else per_minute
        assert not decision.leaving or len(last_minute) <= most


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
    """Whatever is lost for however long: without a mark, or the witness' word, nothing moves."""
    standing, now = decisions.Standing(("us", "eu")), NOW
    unserved = 0
    for lost, marked, served in looks:
        now += RULES.interval
        marks = {marked: BY_RULE} if marked else {}
        said = {marked: served} if marked else {}
        policy = replace(CLUSTER, cluster=failover.Behaviour(timedelta(seconds=20)))
        looked = situation(
            app(policy), now, lost=sorted(lost), marks=marks, standing=standing, served=said
        )
        decision = decisions.decide(looked, FREE)
        unserved = unserved + 1 if marked and served is False else 0
        if decision.leaving:
            assert unserved >= 2
            assert decision.leaving[0].cluster == marked
            return
        standing = replace(standing, timers=decision.timers)


# What follows.


def leaving(**options: object) -> decisions.Leaving:
    made = decisions.Leaving(
        "us",
        decisions.Cause.CLUSTER,
        "us is flooded",
        NOW,
        grace=timedelta(minutes=10),
        replacements=("asia",),
    )
    return replace(made, **options)  # type: ignore[arg-type]


def followed(
    each: decisions.Leaving, *, lost: Sequence[str] = (), now: datetime = NOW
) -> following.Following:
    looked = situation(app(), now, lost=lost)
    return following.follow(looked, [each], ("eu", "asia"))


def test_the_replacement_comes_first_and_nothing_is_removed_where_nobody_answers() -> None:
    found = followed(leaving(lost=True), lost=["us"])

    assert found.shift == shifts.Shift(place=("asia",))


def test_a_cluster_that_is_back_is_cleaned_up_after_the_replacement_was_seen_healthy() -> None:
    waiting = followed(leaving(lost=True, replaced=True), lost=["us"])
    back = followed(leaving(lost=True, replaced=True))

    assert waiting.shift is None
    assert waiting.waiting["us"].endswith("us is cleaned up once it answers again")
    assert back.shift == shifts.Shift(place=("asia",), last=("us",))
    assert back.reason == (
        "us answers again: what moved away at 2026-03-01 12:00:00 is removed there"
    )


def test_a_cluster_that_answers_is_left_in_the_same_run_but_last() -> None:
    assert followed(leaving()).shift == shifts.Shift(place=("asia",), last=("us",))


OVERDUE = clocks.Clock(NOW, NOW, timedelta(minutes=10))


def test_after_its_grace_period_it_goes_without_a_replacement_but_not_where_it_was_lost() -> None:
    over = leaving(waited=OVERDUE, attempts=1)

    assert followed(over).shift == shifts.Shift(first=("us",), place=("asia",))
    assert followed(replace(over, lost=True)).shift == shifts.Shift(place=("asia",), last=("us",))


def test_directly_removes_first_and_never_leaves_it() -> None:
    directly = followed(leaving(purge=failover.Purge.DIRECTLY))
    never = leaving(purge=failover.Purge.NEVER)

    assert directly.shift == shifts.Shift(first=("us",), place=("asia",))
    assert followed(never).shift == shifts.Shift(place=("asia",))
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
    anew = following.follow(situation(app()), [leaving()], ("eu", "sa"))

    assert found.shift is None
    assert anew.shift == shifts.Shift(place=("eu", "sa"), last=("us",))


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
    shift = shifts.Shift(place=("asia",), last=("us",))

    after = following.concluded([leaving()], frozenset(placed), frozenset(removed), shift)

    assert [(each.replaced, each.removed) for each in after] == ([] if left is None else [left])


@given(
    purge=st.sampled_from(list(failover.Purge)),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    lost=st.sets(st.sampled_from(NAMES)),
    attempts=st.integers(0, 3),
)
def test_nothing_is_ever_removed_in_a_cluster_that_does_not_answer(
    purge: failover.Purge, flags: tuple[bool, bool, bool], lost: set[str], attempts: int
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
    if flags[2] and purge is failover.Purge.GRACEFULLY:
        assert not shift.first


def pending(**options: object) -> decisions.Standing:
    """Return what is remembered of a move that was decided and has not begun."""
    each = leaving(before=("us", "eu"), attempts=1, tried=NOW, **options)
    return decisions.Standing(("eu", "asia"), away={"us": "flood"}, leaving=(each,))


def test_a_move_that_has_not_begun_is_taken_back_when_its_reason_has_gone() -> None:
    after = following.taken_back(situation(app(), standing=pending()))

    assert after == decisions.Standing(("us", "eu"))


@pytest.mark.parametrize(
    ("given_", "options"),
    [
        ({"lost": ["us"]}, {}),
        ({"marks": {"us": BY_HAND}}, {}),
        ({}, {"replaced": True}),
        ({}, {"removed": True}),
    ],
)
def test_it_holds_while_something_speaks_for_it_or_it_has_begun(
    given_: dict[str, object], options: dict[str, object]
) -> None:
    looked = situation(app(), standing=pending(**options), **given_)  # type: ignore[arg-type]

    assert following.taken_back(looked) is None
