"""Services of an application, and what copies of them and of others may be called."""

import pytest

from volary.manifests.services import services
from volary.model import errors, routing_options
from volary.model.objects import manifest


def item(kind: str, name: str, version: str = "v1", **spec: object) -> manifest.Manifest:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return manifest.Manifest(body)


@pytest.mark.parametrize(
    ("kind", "longest"), [("Service", 63), ("StatefulSet", 52), ("Deployment", 253)]
)
def test_a_name_may_be_as_long_as_its_kind_allows(kind: str, longest: int) -> None:
    fits, too_long = item(kind, "a" * (longest - 7)), item(kind, "a" * (longest - 6))

    assert len(services.add_suffix(fits, "canary").name) == longest
    with pytest.raises(errors.UserError, match=f"at most {longest} are allowed"):
        services.add_suffix(too_long, "canary")


@pytest.mark.parametrize("suffix", ["", "Canary", "-canary", "canary-", "a b", "a_b"])
def test_a_suffix_that_no_name_can_end_in_is_refused(suffix: str) -> None:
    with pytest.raises(errors.UserError, match="cannot be part of a name"):
        services.add_suffix(item("Service", "web"), suffix)


@pytest.mark.parametrize("suffix", ["c", "canary", "canary-2", "2"])
def test_other_suffixes_are_put_behind_the_name(suffix: str) -> None:
    assert services.add_suffix(item("Service", "web"), suffix).name == f"web-{suffix}"


def test_services_are_those_of_the_core_group_by_name_if_one_is_given() -> None:
    known = [item("Service", "web"), item("Service", "web", "serving.knative.dev/v1")]
    known += [item("Deployment", "web"), item("Service", "other")]
    reference = routing_options.ObjectReference

    assert services.find(known, reference(name="web")) == known[:1]
    assert services.find(known, reference(name="")) == [known[0], known[3]]


def test_a_service_without_pods_of_its_own_has_no_variant() -> None:
    outside = item("Service", "web", type="ExternalName", externalName="example.org")

    with pytest.raises(errors.UserError, match="Service web has no selector"):
        services.duplicate(outside, suffix="canary")


def test_a_copy_is_reached_inside_the_cluster_only() -> None:
    ports = [{"port": 80, "nodePort": 30080}, "odd"]
    own = {"loadBalancerIP": "10.0.0.9", "externalIPs": ["10.0.0.8"], "clusterIP": "10.0.0.7"}
    made = item("Service", "web", type="LoadBalancer", selector={"a": "b"}, ports=ports, **own)
    whole = made.with_body({**made.body, "status": {"loadBalancer": {}}})
    copy = services.duplicate(whole, suffix="canary")

    assert copy.body["spec"] == {
        "type": "ClusterIP",
        "selector": {"a": "b"},
        "ports": [{"port": 80}, "odd"],
    }
    assert "status" not in copy.body


def test_a_headless_service_stays_headless_and_one_without_ports_has_none() -> None:
    copy = services.duplicate(
        item("Service", "web", selector={"a": "b"}, clusterIP="None"), suffix="canary"
    )

    assert copy.body["spec"] == {"type": "ClusterIP", "selector": {"a": "b"}, "clusterIP": "None"}
