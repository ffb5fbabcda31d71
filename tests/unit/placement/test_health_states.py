"""Clusters that come and go keep their state; one that stays away is marked, in its own time."""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from volary.model.fleet import cluster_health, fleets, taints
from volary.model.placement import rollouts
from volary.placement import health_states

State = cluster_health.ClusterState
START = datetime(2026, 1, 1, tzinfo=UTC)
RULES = cluster_health.HealthRules()
EU = fleets.Cluster("eu", region="eu")
BAD = (State.NOT_READY, State.UNREACHABLE)
STATES = some.sampled_from((State.READY, *BAD))


def watch(
    looks: Iterable[State],
    known: cluster_health.ClusterHealth | None = None,
    *,
    rules: cluster_health.HealthRules = RULES,
    every: timedelta = RULES.interval,
) -> list[cluster_health.ClusterHealth]:
    """What is known after each look, one interval after another."""
    now = START if known is None or known.observed is None else known.observed + every
    known = known or health_states.new_cluster("eu", now)
    found = []
    for state in looks:
        probe = cluster_health.ProbeResult(
            state, "" if state is State.READY else f"it is {state.value}"
        )
        known = health_states.apply_taint_rules(
            health_states.observe(known, probe, now, rules), EU, now, rules
        )
        found.append(known)
        now += every
    return found


def test_the_first_answer_counts_at_once_and_silence_after_the_threshold() -> None:
    states = [each.state for each in watch([State.READY, *[State.UNREACHABLE] * 5])]

    assert states == [State.READY] * 4 + [State.UNREACHABLE] * 2


def test_a_cluster_that_never_answered_is_not_called_ready() -> None:
    states = [each.state for each in watch([State.UNREACHABLE] * 5)]

    assert states == [State.UNKNOWN] * 3 + [State.UNREACHABLE] * 2


def test_what_is_not_believed_yet_is_said_as_it_was_seen_last() -> None:
    pending = watch([State.READY, State.NOT_READY, State.UNREACHABLE])[-1].pending

    assert pending is not None
    assert (pending.state, pending.reason) == (State.UNREACHABLE, "it is unreachable")


def test_it_is_back_after_the_threshold_and_the_mark_goes() -> None:
    lost = watch([State.READY, *[State.UNREACHABLE] * 4])[-1]

    back = watch([State.READY] * 4, lost)

    assert [each.state for each in back] == [State.UNREACHABLE] * 3 + [State.READY]
    assert [bool(each.taints) for each in back] == [True] * 3 + [False]


def test_not_ready_after_silence_counts_at_once_but_not_the_other_way() -> None:
    lost = watch([State.READY, *[State.UNREACHABLE] * 4])[-1]

    speaks = watch([State.NOT_READY, State.UNREACHABLE], lost)

    assert [each.state for each in speaks] == [State.NOT_READY, State.NOT_READY]


@given(some.lists(STATES, min_size=1, max_size=60))
def test_flapping_never_counts_before_the_threshold(looks: list[State]) -> None:
    """A cluster is marked only after it failed at every look for as long as the rules say."""
    found = watch([State.READY, *looks])

    streak = timedelta()
    before = State.READY
    for look, known in zip([State.READY, *looks], found, strict=True):
        if before is State.READY and known.state in BAD:
            assert streak >= RULES.failure_threshold
        if before in BAD and known.state is State.READY:
            assert look is State.READY
        assert bool(known.taints) == (known.state in BAD)
        before = known.state
        streak = timedelta() if look is State.READY else streak + RULES.interval


@given(some.lists(STATES, min_size=1, max_size=60))
def test_times_only_go_forward_and_a_mark_keeps_its_own(looks: list[State]) -> None:
    found = watch(looks)

    for one, other in itertools.pairwise(found):
        assert one.since is None or (other.since is not None and one.since <= other.since)
        same = {each.identity: each.since for each in one.taints}
        for each in other.taints:
            assert each.identity not in same or same[each.identity] == each.since
        if one.state is other.state:
            assert one.since == other.since


@given(
    some.lists(
        some.tuples(STATES, some.integers(min_value=0, max_value=600)), min_size=1, max_size=40
    )
)
def test_what_we_slept_through_is_no_evidence(looks: list[tuple[State, int]]) -> None:
    """However far two looks are apart: only looks close to each other add up."""
    now = START
    known = health_states.new_cluster("eu", START)
    known = health_states.observe(known, cluster_health.ProbeResult(State.READY), now, RULES)
    seen = timedelta()
    looked_bad = False
    for state, seconds in looks:
        gap = timedelta(seconds=seconds)
        now, before = now + gap, known.state
        known = health_states.observe(known, cluster_health.ProbeResult(state), now, RULES)
        adds_up = looked_bad and gap <= RULES.longest_gap
        looked_bad = state in BAD
        seen = seen + gap if looked_bad and adds_up else timedelta()
        if before is State.READY and known.state in BAD:
            assert seen >= RULES.failure_threshold


def test_a_gap_or_a_clock_that_was_set_back_begins_anew() -> None:
    failing = watch([State.READY, State.UNREACHABLE, State.UNREACHABLE])[-1]
    assert failing.observed is not None
    probe = cluster_health.ProbeResult(State.UNREACHABLE)

    slept = health_states.observe(failing, probe, failing.observed + timedelta(hours=1), RULES)
    set_back = health_states.observe(failing, probe, failing.observed - timedelta(hours=1), RULES)

    for each in (slept, set_back):
        assert each.state is State.READY
        assert each.pending is not None
        assert each.pending.since == each.observed


def test_after_a_restart_a_lasting_state_has_to_be_seen_again_before_it_evicts() -> None:
    """A controller that was away for an hour has no evidence about that hour."""
    lasting = cluster_health.TaintRule(
        (State.UNREACHABLE,),
        "volary.dev/unreachable",
        taints.Effect.NO_EXECUTE,
        after=timedelta(minutes=5),
    )
    rules = replace(RULES, taints=(lasting,))
    lost = watch([State.READY, *[State.UNREACHABLE] * 4], rules=rules)[-1]
    restarted = health_states.forget_observations(lost)
    assert lost.observed is not None
    later = replace(restarted, since=lost.observed - timedelta(hours=1))

    found = watch([State.UNREACHABLE] * 5, later, rules=rules)

    evicts = [taints.Effect.NO_EXECUTE in {one.effect for one in each.taints} for each in found]
    assert evicts == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("gap", "evicted"),
    [(RULES.interval, [True] * 5), (timedelta(hours=1), [False] * 3 + [True] * 2)],
)
def test_one_answer_ends_no_loss_but_a_gap_before_it_is_no_evidence(
    gap: timedelta, evicted: list[bool]
) -> None:
    lasting = cluster_health.TaintRule(
        (State.UNREACHABLE,),
        "example.com/lost",
        taints.Effect.NO_EXECUTE,
        after=timedelta(minutes=5),
    )
    rules = replace(RULES, taints=(lasting,))
    lost = watch([State.READY, *[State.UNREACHABLE] * 33], rules=rules)[-1]
    assert lasting.key not in {taint.key for taint in lost.taints}
    (back,) = watch([State.READY], lost, rules=rules, every=gap)

    found = watch([State.UNREACHABLE] * 5, back, rules=rules)

    assert [lasting.key in {taint.key for taint in each.taints} for each in found] == evicted


def test_what_a_process_has_observed_is_no_evidence_for_another_and_is_not_stored() -> None:
    *_, failing = watch([State.READY, State.UNREACHABLE])

    forgotten = health_states.forget_observations(failing)

    assert (forgotten.observed, forgotten.steady, forgotten.pending) == (None, None, None)
    assert health_states.is_stored_same(failing, forgotten)


def test_a_rule_marks_after_its_time_and_only_its_clusters() -> None:
    def rule(region: str) -> cluster_health.TaintRule:
        where = rollouts.Requirement("region", rollouts.Operator.IN, (region,))
        return cluster_health.TaintRule(
            (State.UNREACHABLE,),
            f"example.com/{region}",
            taints.Effect.NO_EXECUTE,
            after=timedelta(minutes=1),
            targets=rollouts.ClusterSelector(match_fields=(where,)),
        )

    rules = replace(RULES, taints=(rule("eu"), rule("us")))
    found = watch([State.READY, *[State.UNREACHABLE] * 11], rules=rules)

    keys = [{one.key for one in each.taints} for each in found]
    assert keys[8] == {"volary.dev/unreachable"}
    assert keys[-1] == {"volary.dev/unreachable", "example.com/eu"}


def test_a_rule_marks_at_the_very_look_at_which_its_time_is_over() -> None:
    rule = cluster_health.TaintRule(
        (State.UNREACHABLE,), "example.com/gone", taints.Effect.NO_EXECUTE, after=RULES.interval * 6
    )
    found = watch([State.READY, *[State.UNREACHABLE] * 14], rules=replace(RULES, taints=(rule,)))

    marked = next(each for each in found if "example.com/gone" in {t.key for t in each.taints})
    assert marked.since is not None
    assert marked.observed is not None
    assert marked.observed - marked.since == rule.after


def test_without_a_rule_nothing_is_ever_marked_with_no_execute() -> None:
    found = watch([State.READY, *[State.UNREACHABLE] * 500])[-1]

    assert [each.effect for each in found.taints] == [taints.Effect.NO_SCHEDULE]


def test_marks_by_hand_stay_whatever_a_cluster_does() -> None:
    cordon = taints.Taint(taints.CORDONED, since=START, by="ana", reason="1.36")
    known = health_states.taint(health_states.new_cluster("eu", START), [cordon])

    for each in watch([State.READY, *[State.UNREACHABLE] * 5, *[State.READY] * 5], known):
        assert each.cordon == cordon
    left = health_states.mark_removed(each, START)
    assert health_states.resume(left, START).cordon == cordon
    assert health_states.untaint(each, taints.CORDONED).taints == ()


def test_a_suspended_cluster_is_not_judged_and_begins_anew() -> None:
    lost = watch([State.READY, *[State.UNREACHABLE] * 4])[-1]

    held = health_states.suspend(lost, START)
    again = health_states.resume(held, START)

    assert (held.state, held.taints) == (State.SUSPENDED, ())
    assert health_states.suspend(held, START + timedelta(days=1)) == held
    assert again.state is State.UNKNOWN


def test_the_fleet_carries_all_marks() -> None:
    gpu = taints.Taint("example.com/gpu", effect=taints.Effect.NO_SCHEDULE)
    lost = watch([State.READY, *[State.UNREACHABLE] * 4])[-1]
    members = fleets.Fleet((replace(EU, taints=(gpu,)), fleets.Cluster("us")))

    found = health_states.with_taints(members, {"eu": lost, "mars": lost})

    keys = [[one.key for one in each.taints] for each in found.clusters]
    assert keys == [["example.com/gpu", "volary.dev/unreachable"], []]


def test_requests_that_are_not_answered_start_the_time_that_it_has_to_fail() -> None:
    """Else it would begin with the next probe, up to an interval later."""
    ready = watch([State.READY])[-1]
    early = START + RULES.interval / 2

    doubted = health_states.suspect(ready, "connection refused", early)
    failing = watch([State.UNREACHABLE], doubted)[-1]

    assert (doubted.state, doubted.answers) == (State.READY, False)
    assert failing.pending is not None
    assert (failing.pending.state, failing.pending.since) == (State.UNREACHABLE, early)


def test_a_request_that_is_answered_is_a_break_in_its_silence() -> None:
    failing = watch([State.READY, State.UNREACHABLE])[-1]

    heard = health_states.answered(failing)

    assert not failing.answers
    assert (heard.state, heard.pending, heard.answers) == (State.READY, None, True)


def test_a_request_says_nothing_about_being_ready() -> None:
    unwell = watch([State.READY, State.NOT_READY])[-1]
    lost = watch([State.READY, *[State.UNREACHABLE] * 4])[-1]

    assert health_states.answered(unwell).pending == unwell.pending
    assert health_states.answered(lost).state is State.UNREACHABLE


def test_what_fails_already_is_not_suspected_anew() -> None:
    failing = watch([State.READY, State.NOT_READY])[-1]
    lost = watch([State.READY, *[State.UNREACHABLE] * 4])[-1]
    later = START + timedelta(hours=1)

    assert health_states.suspect(failing, "no answer", later).pending == failing.pending
    assert health_states.suspect(lost, "no answer", later).pending is None


def test_whether_it_answers_is_not_stored() -> None:
    ready = watch([State.READY])[-1]

    assert health_states.is_stored_same(ready, replace(ready, answers=False))


def in_state(
    state: State, pending: State | None = None, **more: object
) -> cluster_health.ClusterHealth:
    known = replace(health_states.new_cluster("eu", START), state=state, answers=None)
    change = pending and cluster_health.PendingChange(pending, START, "why")
    return replace(known, pending=change, **more)  # type: ignore[arg-type]


LATER = START + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("state", "pending", "left"),
    [
        (State.READY, State.UNREACHABLE, None),
        (State.READY, State.NOT_READY, State.NOT_READY),
        (State.READY, None, None),
        (State.UNREACHABLE, State.READY, State.READY),
        (State.NOT_READY, State.UNREACHABLE, State.UNREACHABLE),
    ],
)
def test_an_answer_ends_a_silence_and_nothing_else(
    state: State, pending: State | None, left: State | None
) -> None:
    known = health_states.answered(in_state(state, pending))

    assert known.state is state
    assert (known.pending and known.pending.state) is left
    assert known.answers is True


@pytest.mark.parametrize(
    ("state", "pending", "then"),
    [
        (State.READY, None, State.UNREACHABLE),
        (State.READY, State.NOT_READY, State.NOT_READY),
        (State.NOT_READY, None, None),
        (State.UNKNOWN, None, None),
    ],
)
def test_silence_counts_from_now_on_and_only_against_what_was_ready(
    state: State, pending: State | None, then: State | None
) -> None:
    known = health_states.suspect(in_state(state, pending), "no answer", LATER)

    assert known.state is state
    assert (known.pending and known.pending.state) is then
    assert known.answers is False
    if pending is None and then is not None:
        assert known.pending == cluster_health.PendingChange(State.UNREACHABLE, LATER, "no answer")


def test_what_is_suspended_or_removed_already_stays_as_it_is() -> None:
    suspended = health_states.suspend(in_state(State.READY), START)
    removed = health_states.mark_removed(in_state(State.READY), START)

    assert health_states.suspend(suspended, LATER) is suspended
    assert health_states.mark_removed(removed, LATER) is removed
    assert (suspended.state, suspended.reason) == (State.SUSPENDED, "suspended in the fleet")
    assert (removed.state, removed.reason) == (State.UNKNOWN, "it left the fleet")
    assert removed.left == START


def test_what_comes_back_is_not_known_and_what_was_there_stays() -> None:
    ready = in_state(State.READY)
    back = [
        health_states.resume(health_states.suspend(ready, START), LATER),
        health_states.resume(health_states.mark_removed(ready, START), LATER),
    ]

    assert health_states.resume(ready, LATER) is ready
    assert [(known.state, known.reason, known.left) for known in back] == [
        (State.UNKNOWN, "not probed yet", None)
    ] * 2


def test_marks_by_hand_are_taken_away_by_key_and_effect() -> None:
    never, new = taints.Effect.NO_EXECUTE, taints.Effect.NO_SCHEDULE
    marks = [
        taints.Taint("a", effect=new, by="ana"),
        taints.Taint("a", effect=never, by="ana"),
        taints.Taint("b", effect=new, by="ana"),
        taints.Taint("c", effect=new, by=taints.BY_RULE),
    ]
    known = health_states.taint(in_state(State.READY), marks)

    def left(key: str, effect: taints.Effect | None = None) -> list[str]:
        return [str(mark) for mark in health_states.untaint(known, key, effect).taints]

    assert left("a") == ["b:NoSchedule", "c:NoSchedule"]
    assert left("a", never) == ["a:NoSchedule", "b:NoSchedule", "c:NoSchedule"]
    assert left("c") == [str(mark) for mark in marks]
    newer = health_states.taint(known, [taints.Taint("a", "x", new, by="bob")])
    assert str(newer.taints[0]) == "a=x:NoSchedule"
    assert len(newer.taints) == len(marks)


def test_a_probe_keeps_marks_by_hand_and_brings_those_of_rules() -> None:
    by_hand = taints.Taint("a", by="ana")
    old, new = (taints.Taint(key, by=taints.BY_RULE) for key in ("old", "new"))
    before = in_state(State.READY, taints=(by_hand, old))
    probed = in_state(State.READY, taints=(taints.Taint("gone", by="ana"), new))

    assert health_states.with_manual_taints(probed, before).taints == (by_hand, new)


def test_the_taint_of_a_rule_keeps_its_time_and_one_by_hand_is_no_rules() -> None:
    cluster = fleets.Cluster("us")
    rule = cluster_health.BUILT_IN_TAINT_RULES[0]
    lost = health_states.apply_taint_rules(
        in_state(rule.states[0], since=START), cluster, START, RULES
    )
    (mark,) = lost.taints
    assert (mark.by, mark.since) == (taints.BY_RULE, START)

    again = health_states.apply_taint_rules(lost, cluster, START + timedelta(hours=1), RULES)
    assert again.taints == lost.taints

    by_hand = taints.Taint("example.com/flood", by="ana")
    both = health_states.taint(lost, [by_hand])
    back = replace(both, state=State.READY)
    assert health_states.apply_taint_rules(back, cluster, START, RULES).taints == (by_hand,)


def test_a_silent_cluster_keeps_the_identity_that_it_had() -> None:
    known = health_states.new_cluster("eu", START)
    identities = []
    for identity, answer in (("one", State.READY), ("", State.UNREACHABLE), ("two", State.READY)):
        probe = cluster_health.ProbeResult(answer, identity=identity)
        known = health_states.observe(known, probe, START, RULES)
        identities.append(known.identity)

    assert identities == ["one", "one", "two"]
