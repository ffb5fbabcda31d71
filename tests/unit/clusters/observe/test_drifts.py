"""A set is compared with its cluster, and what differs is confirmed once, by a trial."""

from dataclasses import replace
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, DEPLOYMENTS, SECRETS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.apply import applier
from volary.clusters.observe import drifts
from volary.livestate import live_objects, packing, secret_digests
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


def config(
    name: str = "a",
    value: str = "1",
    of: variant.Variant = variant.Variant.PRIMARY,
    **annotations: str,
) -> manifest.Manifest:
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": value}}
    return tracked(body, of=of)


def tracked(
    body: json.JsonObject,
    owner: ownership.Owner = OWNER,
    of: variant.Variant = variant.Variant.PRIMARY,
) -> manifest.Manifest:
    return tracking.track(
        manifest.Manifest(body), owner=owner, commit="c1", variant=of, label=variant.VariantLabel()
    )


def sought(*manifests: manifest.Manifest, **more: Any) -> drifts.Sought:
    return drifts.Sought(OWNER, (manifests,), variant.VariantLabel(), **more)


async def applied(cluster: MemoryCluster, *manifests: manifest.Manifest) -> None:
    options = applier.Options(owner=OWNER, label=variant.VariantLabel())
    await applier.SetApply(cluster.client, options).apply(manifests)
    cluster.asked.clear()


async def compare(
    cluster: MemoryCluster,
    what: drifts.Sought,
    known: drifts.Confirmations | None = None,
    live: drifts.KnownObjects | None = None,
) -> drifts.ClusterDrift:
    return await drifts.compare(cluster.client, what, known or drifts.Confirmations(), live)


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


KINDS = {("", "ConfigMap"), ("", "Secret"), ("apps", "Deployment")}
SCALERS = ("autoscaling", "HorizontalPodAutoscaler")


def told(
    cluster: MemoryCluster, *kinds: tuple[str, str], is_whole: bool = True
) -> live_objects.KnownObjects:
    """What watches of some kinds have told of the cluster until now."""
    followed = set(kinds) or KINDS
    packed = {
        item.key: packing.pack(masked(body))
        for body in cluster.objects.values()
        if ((item := manifest.Manifest(body)).group, item.kind) in followed
        and tracking.is_ours(body, OWNER)
    }
    return live_objects.KnownObjects(1, is_whole, masked, packed, followed)


def masked(body: json.JsonObject) -> json.JsonObject:
    return secret_digests.with_digests(body, b"key")


def secret(value: str) -> manifest.Manifest:
    body = {"apiVersion": "v1", "kind": "Secret", "stringData": {"k": value}}
    return tracked({**body, "metadata": {"name": "keys", "namespace": "default"}})


def deployment(**metadata: Any) -> manifest.Manifest:
    name = {"name": "web", "namespace": "default", **metadata}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": name}
    return tracked({**body, "spec": {"replicas": 2}})


async def test_what_is_known_to_be_as_git_says_is_not_asked_for() -> None:
    cluster, manifests = MemoryCluster(), (config(), config("b"), secret("hunter2"), deployment())
    await applied(cluster, *manifests)

    found = await compare(cluster, sought(*manifests), live=told(cluster))

    assert found == drifts.ClusterDrift(compared=4)
    assert cluster.asked == []


async def test_one_object_that_seems_to_differ_is_asked_for_alone() -> None:
    cluster, manifests = MemoryCluster(), (config(), config("b"), config("c"), deployment())
    await applied(cluster, *manifests)
    changed(cluster, k="2")

    found = await compare(cluster, sought(*manifests), live=told(cluster))

    assert [(one.key.name, one.verb) for one in found.objects] == [("a", Verb.DIFFERS)]
    assert found.compared == 4
    assert cluster.asked == ["get configmaps/a", "dry patch configmaps/a"]


async def test_many_of_one_kind_are_one_list() -> None:
    cluster, manifests = MemoryCluster(), tuple(config(name) for name in "abcde")
    await applied(cluster, *manifests)
    for name in "abcd":
        changed(cluster, name, k="2")

    found = await compare(cluster, sought(*manifests), live=told(cluster))

    assert [one.key.name for one in found.objects] == list("abcd")
    assert [one for one in cluster.asked if not one.startswith("dry ")] == [
        "list configmaps/default"
    ]


async def test_what_watches_have_not_told_yet_is_no_drift() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    changed(cluster, k="2")
    late = told(cluster)
    changed(cluster, k="1")

    found = await compare(cluster, sought(a), live=late)

    assert found == drifts.ClusterDrift(compared=1)
    assert cluster.asked == ["get configmaps/a"]


async def test_of_a_secret_only_that_it_changed_is_known_and_its_values_are_read() -> None:
    cluster, ours = MemoryCluster(), secret("hunter2")
    await applied(cluster, ours)
    body = cluster.find(SECRETS, "keys")
    assert body is not None
    cluster.put(SECRETS, {**body, "data": {"k": "dGhlaXJz"}})

    found = await compare(cluster, sought(ours), live=told(cluster))

    assert found.objects[0].fields[0].live == "dGhlaXJz"
    assert cluster.asked == ["get secrets/keys", "dry patch secrets/keys"]


async def test_what_lost_its_marks_is_asked_for_by_name() -> None:
    cluster, a, b = MemoryCluster(), config(), config("b")
    await applied(cluster, a, b)
    body = cluster.find(CONFIG_MAPS, "a")
    assert body is not None
    cluster.put(CONFIG_MAPS, {**body, "metadata": {**body["metadata"], "labels": {}}})
    cluster.remove(CONFIG_MAPS, "b")

    found = await compare(cluster, sought(a, b), live=told(cluster))

    assert [(one.key.name, one.verb) for one in found.objects] == [
        ("a", Verb.DIFFERS),
        ("b", Verb.MISSING),
    ]


async def test_two_applications_that_claim_one_object_are_told_of() -> None:
    """The other one has written its marks: it is nobody's here any more, until it is asked for."""
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    other = ownership.Owner("theirs", "fedcba9876543210")
    taken = tracked(config().body, owner=other)
    body = cluster.find(CONFIG_MAPS, "a")
    assert body is not None
    cluster.put(CONFIG_MAPS, {**body, "metadata": {**body["metadata"], **taken.metadata}})

    found = await compare(cluster, sought(a), live=told(cluster))

    assert [key.name for key in found.shared] == ["a"]
    assert [(one.key.name, one.verb) for one in found.objects] == [("a", Verb.DIFFERS)]


async def test_only_what_may_be_pruned_makes_the_cluster_list() -> None:
    cluster, a, canary = MemoryCluster(), config(), config("a-canary", of=variant.Variant.CANARY)
    await applied(cluster, a, canary)

    calm = await compare(cluster, sought(a), live=told(cluster))
    asked = list(cluster.asked)
    await applied(cluster, a, config("left"))
    found = await compare(cluster, sought(a), live=told(cluster))

    assert (calm.objects, asked) == ((), [])
    assert [(one.key.name, one.verb) for one in found.objects] == [("left", Verb.EXTRA)]


async def test_an_autoscaler_of_git_is_known_to_scale() -> None:
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9},
    }
    cluster, manifests = MemoryCluster(), (deployment(), tracked(body))
    await applied(cluster, *manifests)
    live = cluster.find(DEPLOYMENTS, "web")
    assert live is not None
    cluster.put(DEPLOYMENTS, {**live, "spec": {"replicas": 7}})
    cluster.asked.clear()

    found = await compare(cluster, sought(*manifests), live=told(cluster, *KINDS, SCALERS))

    assert found.objects == ()
    assert cluster.asked == []


async def test_kinds_that_nobody_follows_are_asked_for() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)

    found = await compare(cluster, sought(a), live=told(cluster, ("apps", "Deployment")))

    assert found == drifts.ClusterDrift(compared=1)
    assert "get configmaps/a" in cluster.asked


async def test_an_object_of_a_megabyte_is_asked_for_and_compared() -> None:
    cluster, large = MemoryCluster(), config(value="".join(map(str, range(200_000))))
    await applied(cluster, large)
    known = told(cluster)
    unkept = replace(known, packed=dict.fromkeys(known.packed, b""))

    found = await compare(cluster, sought(large), live=unkept)

    assert found == drifts.ClusterDrift(compared=1)
    assert "get configmaps/a" in cluster.asked


async def test_a_definition_that_is_gone_is_said_and_nothing_is_called_missing() -> None:
    cluster, a = MemoryCluster(), config()
    await applied(cluster, a)
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}

    found = await compare(cluster, sought(a, tracked(body)), live=told(cluster))

    assert found.objects == ()
    assert "does not know the kind Widget" in found.warnings[0]
