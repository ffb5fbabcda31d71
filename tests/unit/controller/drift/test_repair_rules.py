"""Drift is repaired where that is wished and nothing keeps it from that, and the reason is said."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from volary.clusters.observe import drifts
from volary.controller.drift import comparisons, repair_rules
from volary.controller.status import application_statuses, drift_states
from volary.manifests.drift import differences
from volary.model import drift_rules
from volary.model.objects import manifest

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
WINDOW = timedelta(minutes=5)
KEY = manifest.ResourceKey("apps", "Deployment", "web", "shop")
MEDDLER = differences.Owner("meddler", "Update", NOON)
Word = drift_states.SyncWord
STATUS = application_statuses.ApplicationStatus()


def drifted_object(path: str = "spec.replicas") -> comparisons.ObjectDrift:
    found = comparisons.FieldDifference(path, 3, 5, (MEDDLER,))
    return comparisons.ObjectDrift(KEY, drifts.Verb.DIFFERS, (found,), since=NOON)


def cluster(name: str, *objects: comparisons.ObjectDrift, **more: Any) -> Any:
    word = Word.OUT_OF_SYNC if objects else Word.IN_SYNC
    reason = objects[0].sentence if objects else "3 objects as Git says"
    given = {"commit": "c1", "compared": NOON, **more}
    return comparisons.ClusterComparison(name, word, reason, objects=objects, **given)


def compared(
    *clusters: comparisons.ClusterComparison,
    mode: drift_rules.DriftMode = drift_rules.DriftMode.REPAIR,
) -> comparisons.Comparison:
    return comparisons.Comparison("shop", "c1", mode, WINDOW, NOON, clusters)


def decide(
    comparison: comparisons.Comparison,
    state: drift_states.DriftState | None = None,
    now: datetime = NOON,
    **why: str,
) -> repair_rules.Decision:
    status = replace(STATUS, drift=state or drift_states.DriftState())
    return repair_rules.decide(comparison, status, now, lambda name: why.get(name, ""))


def test_the_clusters_that_drifted_are_repaired_at_their_commit() -> None:
    decision = decide(compared(cluster("us", drifted_object()), cluster("eu")))

    assert (decision.targets, decision.commit) == (("us",), "c1")
    assert decision.reason == (
        "drift: us: Deployment web/shop: spec.replicas is 5, Git says 3 (by meddler)"
    )
    assert decision.fields == {"us apps:Deployment:web:shop spec.replicas"}


@pytest.mark.parametrize("mode", [drift_rules.DriftMode.REPORT, drift_rules.DriftMode.OFF])
def test_nothing_is_repaired_where_that_is_not_wished(mode: drift_rules.DriftMode) -> None:
    assert decide(compared(cluster("us", drifted_object()), mode=mode)) == repair_rules.Decision()


def test_one_that_is_kept_from_it_keeps_no_other() -> None:
    both = compared(cluster("us", drifted_object()), cluster("eu", drifted_object()))

    assert decide(both, us="it is cordoned").targets == ("eu",)
    assert decide(both, us="it is cordoned", eu="denied by freeze") == repair_rules.Decision(
        reason="us: it is cordoned, eu: denied by freeze"
    )


def test_nothing_is_repaired_beside_what_somebody_else_claims() -> None:
    decision = decide(compared(cluster("us", drifted_object(), shared=("Service web/all",))))

    assert decision.targets == ()
    assert decision.reason == (
        "us: Service web/all is somebody else's as well, so nothing is repaired beside it"
    )


def test_what_is_too_much_is_left_to_people() -> None:
    extra = comparisons.ObjectDrift(KEY, drifts.Verb.EXTRA)
    decision = decide(compared(cluster("us", extra)))

    assert decision == repair_rules.Decision(reason="a repair never deletes what Git does not have")


def test_clusters_on_another_commit_come_later() -> None:
    both = compared(cluster("us", drifted_object()), cluster("eu", drifted_object(), commit="c0"))

    assert decide(both).targets == ("us",)


def test_the_same_again_waits_and_is_given_up_with_who_does_it() -> None:
    comparison = compared(cluster("us", drifted_object()))
    fields = decide(comparison).fields
    once = drift_states.with_repair(drift_states.DriftState(), fields, NOON)
    soon = decide(comparison, once, NOON + WINDOW / 2)
    later = decide(comparison, once, NOON + WINDOW)
    often = replace(once, repairs=drift_states.Repairs(3, NOON, tuple(fields)))
    never = decide(comparison, often, NOON + timedelta(days=1))

    assert soon.targets == ()
    assert soon.reason == "it is repaired at 12:05:00"
    assert later.targets == ("us",)
    assert never.targets == ()
    assert never.gives_up
    assert never.reason.startswith(
        "no more repairs after 3 repairs: meddler changes spec.replicas back each time"
    )


def test_a_repair_that_failed_is_not_said_to_be_undone_by_somebody() -> None:
    comparison = compared(cluster("us", drifted_object()))
    once = drift_states.with_repair(drift_states.DriftState(), decide(comparison).fields, NOON)
    failed = drift_states.with_failure(once, "meddler owns .spec.replicas")
    assert failed.repairs is not None
    often = replace(failed, repairs=replace(failed.repairs, times=3))

    assert decide(comparison, failed, NOON + WINDOW / 2).reason == (
        "the last repair failed: meddler owns .spec.replicas; it is tried again at 12:05:00"
    )
    assert decide(comparison, often, NOON + timedelta(days=1)).reason == (
        "no more repairs after 3 repairs: the last failed: meddler owns .spec.replicas"
    )
    again = drift_states.with_repair(failed, decide(comparison).fields, NOON + WINDOW)
    assert again.repairs is not None
    assert again.repairs.failure == ""
