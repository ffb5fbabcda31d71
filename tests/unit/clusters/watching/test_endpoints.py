"""A Service has followed its selector when all its endpoints are pods of it."""

from volary.clusters.watching import endpoints
from volary.model import json


def piece(*names: str, ready: bool | None = True) -> json.JsonObject:
    return {
        "endpoints": [
            {"targetRef": {"kind": "Pod", "name": name}, "conditions": {"ready": ready}}
            for name in names
        ]
    }


PODS: dict[str, json.JsonObject] = {"canary-a": {}, "canary-b": {}}


def test_endpoints_that_still_lead_elsewhere_are_named() -> None:
    found = endpoints.missing_endpoints({"x": piece("canary-a", "primary-a")}, PODS)

    assert found == "its endpoints still lead to primary-a"


def test_every_slice_counts() -> None:
    slices = {"x": piece("canary-a"), "y": piece("primary-b")}

    assert endpoints.missing_endpoints(slices, PODS) == "its endpoints still lead to primary-b"


def test_pods_that_leave_do_not_count_and_unknown_readiness_does() -> None:
    slices = {"x": piece("primary-a", ready=False), "y": piece("canary-a", ready=None)}

    assert endpoints.missing_endpoints(slices, PODS) == ""


def test_no_endpoint_at_all_is_not_there_yet() -> None:
    assert endpoints.missing_endpoints({"x": piece()}, PODS) == "it has no ready endpoint"


def test_a_selector_that_can_never_lead_to_such_pods_is_told_apart() -> None:
    canary = {"app": "shop", "variant": "canary"}

    assert endpoints.contradicting_labels({"app": "shop", "variant": "primary"}, canary) == {
        "variant": "primary"
    }
    assert endpoints.contradicting_labels({"app": "shop"}, canary) == {}
    assert endpoints.contradicting_labels({"app": "shop", "tier": "web"}, canary) == {}, (
        "may be there too"
    )
