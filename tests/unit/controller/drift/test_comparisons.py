"""What people see of drift: sentences, without secrets, and never too much."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.clusters.observe import drifts
from volary.controller.drift import comparisons
from volary.controller.status import drift_states
from volary.manifests import redaction
from volary.manifests.drift import differences
from volary.model import drift_rules, json
from volary.model.objects import manifest

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ABSENT = comparisons.ABSENT
KEY = manifest.ResourceKey("apps", "Deployment", "web", "shop")
WEB: json.JsonObject = {"kind": "Deployment"}
SECRET: json.JsonObject = {"kind": "Secret", "data": {"password": "aHVudGVyMg=="}}
Word = drift_states.SyncWord


def difference(*path: str, wanted: object = 3, live: object = 5) -> differences.Difference:
    owner = differences.Owner("kubectl", "Update", NOON)
    return differences.Difference(tuple(f"f:{step}" for step in path), wanted, live, (owner,))


def differing(*fields: differences.Difference, body: json.JsonObject = WEB) -> drifts.DriftedObject:
    return drifts.DriftedObject(KEY, drifts.Verb.DIFFERS, fields, body, body)


def seen(
    *objects: drifts.DriftedObject, masker: redaction.Masker | None = None, warnings: str = ""
) -> comparisons.ClusterComparison:
    found = drifts.ClusterDrift(objects, 3, (warnings,) if warnings else ())
    return comparisons.of_cluster("us", "c1", found, masker or redaction.Masker(), NOON)


@pytest.mark.parametrize(
    ("wanted", "live", "sentence"),
    [
        (3, 5, "spec.replicas is 5, Git says 3 (by kubectl)"),
        (3, ABSENT, "spec.replicas is missing, Git says 3 (by kubectl)"),
        (ABSENT, 5, "spec.replicas is 5, Git does not say it (by kubectl)"),
        ("x" * 100, 5, f"spec.replicas is 5, Git says {'x' * 60}… (by kubectl)"),
    ],
)
def test_a_difference_is_one_sentence(wanted: object, live: object, sentence: str) -> None:
    shown = seen(differing(difference("spec", "replicas", wanted=wanted, live=live)))

    assert shown.reason == f"Deployment web/shop: {sentence}"
    assert shown.objects[0].since == NOON


def test_further_objects_and_fields_are_counted() -> None:
    one = differing(difference("spec", "a"), difference("spec", "b"))
    missing = drifts.DriftedObject(KEY, drifts.Verb.MISSING, wanted=WEB)
    shown = seen(one, missing)

    assert shown.reason.endswith("(by kubectl); 1 field more; 1 object more")
    assert seen(missing).reason == "Deployment web/shop is missing"
    assert shown.fields == {
        "us apps:Deployment:web:shop spec.a",
        "us apps:Deployment:web:shop spec.b",
        "us apps:Deployment:web:shop ",
    }


def test_values_of_secrets_are_never_told() -> None:
    field = difference("data", "password", wanted="aHVudGVyMg==", live="b3RoZXI=")
    masker = redaction.Masker()
    masker.learn([manifest.Manifest(SECRET)])
    elsewhere = difference("spec", "args", wanted=["--password=aHVudGVyMg=="], live=[])
    shown = seen(differing(field, body=SECRET), differing(elsewhere), masker=masker)
    (hidden,), (cleaned,) = (one.differences for one in shown.objects)

    assert (hidden.wanted, hidden.live) == (redaction.MASK, redaction.MASK)
    assert "aHVudGVyMg" not in repr(cleaned)


def test_neither_objects_nor_fields_nor_values_are_without_bound() -> None:
    many = [difference("spec", str(number), live="x" * 10_000) for number in range(100)]
    shown = seen(*[differing(*many)] * 300)

    assert len(shown.objects) == comparisons.MOST_OBJECTS
    (one, *_) = shown.objects
    assert (len(one.differences), one.omitted) == (50, 50)
    assert len(str(one.differences[0].live)) < 5000
    assert shown.reason.endswith("299 objects more")


def test_what_could_not_be_compared_is_unknown_unless_something_differs() -> None:
    assert seen(warnings="Secret web/s may not be read").status is Word.UNKNOWN
    assert seen(differing(difference("spec", "a")), warnings="x").status is Word.OUT_OF_SYNC
    assert seen().reason == "3 objects as Git says"


def test_what_compares_otherwise_is_told_by_object() -> None:
    def compared(*clusters: comparisons.ClusterComparison) -> comparisons.Comparison:
        mode = drift_rules.DriftMode.REPORT
        return comparisons.Comparison("shop", "c1", mode, timedelta(minutes=5), NOON, clusters)

    same, missing = seen(), seen(drifts.DriftedObject(KEY, drifts.Verb.MISSING, wanted=WEB))
    silent = comparisons.ClusterComparison("us", Word.UNKNOWN, "it does not answer")

    assert comparisons.changed(compared(same), compared(same)) == {}
    assert comparisons.changed(compared(same), compared(missing)) == {"us": {KEY}}
    assert comparisons.changed(compared(missing), compared(same)) == {"us": {KEY}}
    assert comparisons.changed(compared(missing), compared(silent)) == {"us": None}
    assert comparisons.changed(None, compared(same)) == {"us": None}
    assert comparisons.changed(None, compared(silent)) == {}


def test_what_is_said_of_a_cluster_is_so_there() -> None:
    """Clusters that drifted in the same way share a sentence, others are named apart."""

    def cluster(name: str, reason: str) -> comparisons.ClusterComparison:
        return comparisons.ClusterComparison(name, Word.OUT_OF_SYNC, reason)

    us, eu, asia = (cluster(name, "Service is missing") for name in ("us", "eu", "asia"))
    other = cluster("eu", "ConfigMap is extra")

    assert comparisons.summarize([us, eu, asia]) == "us, eu, asia: Service is missing"
    assert (
        comparisons.summarize([us, other, asia])
        == "us, asia: Service is missing; something else in eu"
    )


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ((Word.IN_SYNC, Word.IN_SYNC), Word.IN_SYNC),
        ((Word.IN_SYNC, Word.UNKNOWN), Word.UNKNOWN),
        ((Word.UNKNOWN, Word.RUNNING), Word.RUNNING),
        ((Word.RUNNING, Word.OUT_OF_SYNC, Word.IN_SYNC), Word.OUT_OF_SYNC),
        ((), Word.UNKNOWN),
    ],
)
def test_the_worst_counts_for_all(words: tuple[Word, ...], whole: Word) -> None:
    clusters = tuple(comparisons.ClusterComparison("us", word, "why") for word in words)
    comparison = comparisons.Comparison(
        "shop", "c1", drift_rules.DriftMode.REPORT, timedelta(minutes=5), NOON, clusters
    )

    assert comparison.status is whole
