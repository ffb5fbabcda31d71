"""A set is compared with its cluster, and what differs is confirmed once, by a trial."""

from typing import Any

import pytest

from memory_client import CONFIG_MAPS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.apply import applier
from volary.clusters.observe import drifts
from volary.manifests.ownership import tracking
from volary.model import drift_rules, errors, json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

OWNER = ownership.Owner("shop", "0123456789abcdef")
Verb = drifts.Verb


class LowerCase(MemoryCluster):
    """A server that keeps values in another form than they are sent in."""

    def _write(self, resource: Any, body: json.JsonObject, *rest: Any, **more: Any) -> Any:
        data = {key: value.lower() for key, value in body.get("data", {}).items()}
        return super()._write(resource, {**body, "data": data}, *rest, **more)


def config(name: str = "a", value: str = "1", **annotations: str) -> manifest.Manifest:
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": value}}
    return tracking.track(
        manifest.Manifest(body),
        owner=OWNER,
        commit="c1",
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    )


def sought(*manifests: manifest.Manifest, **more: Any) -> drifts.Sought:
    return drifts.Sought(OWNER, (manifests,), variant.VariantLabel(), **more)


async def applied(cluster: MemoryCluster, *manifests: manifest.Manifest) -> None:
    options = applier.Options(owner=OWNER, label=variant.VariantLabel())
    await applier.SetApply(cluster.client, options).apply(manifests)
    cluster.asked.clear()


async def compare(
    cluster: MemoryCluster, what: drifts.Sought, known: drifts.Confirmations | None = None
) -> drifts.ClusterDrift:
    return await drifts.compare(cluster.client, what, known or drifts.Confirmations())


def changed(cluster: MemoryCluster, name: str = "a", **data: str) -> None:
    """Somebody writes other data."""
    body = cluster.find(CONFIG_MAPS, name)
    assert body is not None
    cluster.put(CONFIG_MAPS, {**body, "data": data})


def trials(cluster: MemoryCluster) -> list[str]:
    return [asked for asked in cluster.asked if asked.startswith("dry ")]


async def test_what_was_applied_does_not_differ_and_is_not_tried() -> None:
    cluster, a, b = MemoryCluster(), config(), config("b")
    await applied(cluster, a, b)

    found = await compare(cluster, sought(a, b))

    assert found == drifts.ClusterDrift(compared=2)
    assert trials(cluster) == []


async def test_what_differs_is_tried_once_until_something_changes() -> None:
    cluster, known, a = MemoryCluster(), drifts.Confirmations(), config()
    await applied(cluster, a)
    changed(cluster, k="2")

    first = await compare(cluster, sought(a), known)
    again = await compare(cluster, sought(a), known)
    tried = trials(cluster)
    changed(cluster, k="3")
    third = await compare(cluster, sought(a), known)

    assert [(one.verb, one.fields[0].shown_path) for one in first.objects] == [
        (Verb.DIFFERS, "data.k")
    ]
    assert again == first
    assert tried == ["dry patch configmaps/a"]
    assert third.objects[0].fields[0].live == "3"
    assert len(trials(cluster)) == 2
    assert not [asked for asked in cluster.asked if asked.startswith("patch ")]


async def test_a_wrong_guess_is_no_drift() -> None:
    """The server writes the value otherwise; that it would do so again shows in the trial."""
    cluster, known, a = LowerCase(), drifts.Confirmations(), config(value="ABC")
    await applied(cluster, a)

    for _ in range(2):
        assert (await compare(cluster, sought(a), known)).objects == ()
    assert trials(cluster) == ["dry patch configmaps/a"]


async def test_what_a_server_would_refuse_is_believed() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    changed(cluster, k="2")
    cluster.refusals["dry patch configmaps"] = api_errors.Invalid("it is immutable", status=422)

    assert [one.verb for one in (await compare(cluster, sought(a))).objects] == [Verb.DIFFERS]


async def test_a_server_that_does_not_answer_says_nothing() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    changed(cluster, k="2")
    cluster.refusals["dry patch configmaps"] = api_errors.Unreachable("no answer")

    with pytest.raises(errors.TemporaryError, match="no answer"):
        await compare(cluster, sought(a))


async def test_missing_and_extra_objects_are_found_by_what_marks_them() -> None:
    cluster, a, b, theirs = MemoryCluster(), config(), config("b"), config("theirs")
    await applied(cluster, a, b)
    body = theirs.body
    cluster.put(CONFIG_MAPS, {**body, "metadata": {"name": "theirs"}})
    cluster.remove(CONFIG_MAPS, "a")

    found = await compare(cluster, sought(a))

    assert [(one.key.name, one.verb) for one in found.objects] == [
        ("a", Verb.MISSING),
        ("b", Verb.EXTRA),
    ]


async def test_what_may_not_be_read_is_said() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    cluster.refusals["get configmaps"] = api_errors.Forbidden("no", status=403)

    found = await compare(cluster, sought(a))

    assert found.objects == ()
    assert "ConfigMap default/a may not be read" in found.warnings


async def test_rules_and_an_annotation_leave_out() -> None:
    cluster, a = MemoryCluster(), config()
    b = config("b", **{"pipecd.dev/ignore-drift-detection": "true"})
    await applied(cluster, a, b)
    changed(cluster, k="2")
    changed(cluster, "b", k="2")
    rule = drift_rules.IgnoredDifference("ConfigMap", json_pointers=("/data/k",))

    assert (await compare(cluster, sought(a, b, ignored=(rule,)))).objects == ()
    assert [one.key.name for one in (await compare(cluster, sought(a, b))).objects] == ["a"]


async def test_of_several_sets_the_closest_counts() -> None:
    cluster, a, other = MemoryCluster(), config(), config(value="2")
    await applied(cluster, other)
    both = drifts.Sought(OWNER, ((a,), (other,)), variant.VariantLabel())

    assert (await compare(cluster, both)).objects == ()


async def test_what_others_claim_as_well_is_named() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    body = cluster.find(CONFIG_MAPS, "a")
    assert body is not None
    label = {"app.kubernetes.io/managed-by": "Helm"}
    release = {"meta.helm.sh/release-name": "theirs", "meta.helm.sh/release-namespace": "x"}
    metadata = body["metadata"]
    foreign = {
        **metadata,
        "labels": label,
        "annotations": release,
    }
    cluster.put(CONFIG_MAPS, {**body, "metadata": foreign})

    assert [key.name for key in (await compare(cluster, sought(a))).shared] == ["a"]
