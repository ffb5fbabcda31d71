"""Kinds that controllers of others judge by conditions: each condition decides what it may."""

from typing import Any

import pytest

from volary.manifests.health import assessment, custom_health
from volary.model import json
from volary.model.objects import manifest, object_health
from volary.model.statuses import HealthStatus

HEALTHY, DEGRADED = HealthStatus.HEALTHY, HealthStatus.DEGRADED
PROGRESSING, SUSPENDED = HealthStatus.PROGRESSING, HealthStatus.SUSPENDED
UNKNOWN = HealthStatus.UNKNOWN
Conditions = dict[str, tuple[str, str]]


def body(version: str, kind: str, conditions: Conditions, **more: Any) -> json.JsonObject:
    written = [
        {"type": each, "status": status, "reason": reason}
        for each, (status, reason) in conditions.items()
    ]
    status = {"conditions": written, **more.pop("status", {})}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"generation": 1},
        "status": status,
    } | (more)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"Ready": ("True", "")}, HEALTHY),
        ({"Ready": ("False", "Failed")}, DEGRADED),
        ({"Ready": ("False", "DoesNotExist")}, PROGRESSING),
        ({"Ready": ("False", "MissingData")}, PROGRESSING),
        # Whatever the reason says: it is ready.
        ({"Ready": ("True", "DoesNotExist")}, HEALTHY),
        ({"Ready": ("True", ""), "Issuing": ("True", "Renewing")}, PROGRESSING),
        ({"Ready": ("True", ""), "Issuing": ("False", "Failed")}, DEGRADED),
        ({"Ready": ("True", ""), "Issuing": ("False", "Issued")}, HEALTHY),
        ({"Ready": ("True", ""), "Issuing": ("Unknown", "Failed")}, HEALTHY),
        ({}, PROGRESSING),
    ],
)
def test_a_certificate(conditions: Conditions, expected: HealthStatus) -> None:
    found = assessment.assess(body("cert-manager.io/v1", "Certificate", conditions))

    assert found.status is expected


@pytest.mark.parametrize(
    ("conditions", "annotations", "expected"),
    [
        ({"Ready": ("True", ""), "Active": ("True", "")}, {}, (HEALTHY, "ready, active")),
        ({"Ready": ("True", ""), "Active": ("False", "")}, {}, (HEALTHY, "ready, not active")),
        ({"Ready": ("True", "")}, {}, (HEALTHY, "ready")),
        ({"Ready": ("False", "Bad"), "Active": ("True", "")}, {}, (DEGRADED, "Bad")),
        ({"Ready": ("True", ""), "Fallback": ("True", "Lost")}, {}, (DEGRADED, "Lost")),
        ({"Ready": ("True", ""), "Fallback": ("False", "Fine")}, {}, (HEALTHY, "ready")),
        ({"Paused": ("True", "Asked")}, {}, (SUSPENDED, "Asked")),
        ({"Ready": ("True", ""), "Paused": ("False", "")}, {}, (HEALTHY, "ready")),
        ({"Ready": ("True", "")}, {"paused": "true"}, (SUSPENDED, "paused")),
        ({"Ready": ("True", "")}, {"paused": "what"}, (SUSPENDED, "paused")),
        ({"Ready": ("True", "")}, {"paused": "false"}, (HEALTHY, "ready")),
        ({"Ready": ("True", "")}, {"paused": "F"}, (HEALTHY, "ready")),
        (
            {"Ready": ("True", "")},
            {"paused-replicas": "2"},
            (SUSPENDED, "paused at 2 replicas"),
        ),
    ],
)
def test_a_scaled_object(
    conditions: Conditions, annotations: dict[str, str], expected: tuple[HealthStatus, str]
) -> None:
    written = {f"autoscaling.keda.sh/{key}": value for key, value in annotations.items()}
    made = body("keda.sh/v1alpha1", "ScaledObject", conditions)
    found = assessment.assess({**made, "metadata": {"annotations": written}})

    assert (found.status, found.reason) == expected


@pytest.mark.parametrize(
    ("conditions", "spec", "expected"),
    [
        ({"Ready": ("True", "")}, {}, HEALTHY),
        ({"Ready": ("True", "")}, {"suspend": True}, SUSPENDED),
        ({"Ready": ("True", "")}, {"suspend": False}, HEALTHY),
        ({"Ready": ("True", ""), "Stalled": ("True", "x")}, {}, DEGRADED),
        ({"Ready": ("True", ""), "Stalled": ("False", "x")}, {}, HEALTHY),
        ({"Ready": ("True", ""), "Reconciling": ("True", "x")}, {}, PROGRESSING),
        ({"Ready": ("True", ""), "Reconciling": ("False", "x")}, {}, HEALTHY),
        ({"Ready": ("False", "BuildFailed")}, {}, DEGRADED),
        ({"Ready": ("False", "Progressing")}, {}, PROGRESSING),
        ({"Ready": ("Unknown", "Progressing")}, {}, PROGRESSING),
        ({}, {}, PROGRESSING),
    ],
)
def test_what_its_controller_calls_ready(
    conditions: Conditions, spec: json.JsonObject, expected: HealthStatus
) -> None:
    made = body("kustomize.toolkit.fluxcd.io/v1", "Kustomization", conditions, spec=spec)

    assert assessment.assess(made).status is expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"Ready": ("True", "")}, HEALTHY),
        ({"Available": ("True", "")}, HEALTHY),
        ({"Ready": ("False", "Bad")}, PROGRESSING),
        ({"Ready": ("True", ""), "Degraded": ("True", "x")}, DEGRADED),
        ({"Ready": ("True", ""), "Degraded": ("False", "x")}, HEALTHY),
        ({"Failed": ("True", "x")}, DEGRADED),
        ({"Stalled": ("True", "x")}, DEGRADED),
        # Some leave Progressing true for ever: Ready outweighs it, and nothing else does.
        ({"Ready": ("True", ""), "Progressing": ("True", "x")}, HEALTHY),
        ({"Ready": ("False", ""), "Progressing": ("True", "x")}, PROGRESSING),
        ({"Available": ("True", ""), "Progressing": ("True", "x")}, PROGRESSING),
        ({"Ready": ("True", ""), "Reconciling": ("True", "x")}, PROGRESSING),
        ({"Progressing": ("True", "x")}, PROGRESSING),
        ({"Other": ("True", "x")}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_kinds_that_nobody_knows(conditions: Conditions, expected: HealthStatus) -> None:
    assert assessment.assess(body("x.org/v1", "Thing", conditions)).status is expected


def test_a_judgement_of_an_older_generation_is_none() -> None:
    condition = {"type": "Ready", "status": "True", "observedGeneration": 1}
    made = body("x.org/v1", "Thing", {})
    made["metadata"]["generation"], made["status"]["conditions"] = 2, [condition]

    found = assessment.assess(made)
    assert (found.status, found.ruled) == (PROGRESSING, True)
    assert found.reason == "the newest generation is not judged yet"


@pytest.mark.parametrize(
    ("generation", "more", "doubt"),
    [
        (1, {}, ""),
        (2, {}, ", for which generation is not said"),
        (2, {"observedGeneration": 2}, ""),
    ],
)
def test_an_answer_that_may_be_an_old_one_says_so(
    generation: int, more: json.JsonObject, doubt: str
) -> None:
    made = body("x.org/v1", "Thing", {"Ready": ("True", "")}, status=more)
    made["metadata"]["generation"] = generation

    assert assessment.assess(made) == object_health.Health(HEALTHY, f"ready{doubt}")


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({"phase": "Succeeded"}, {}, (HEALTHY, "succeeded", False)),
        ({"phase": "Failed", "message": "boom."}, {}, (DEGRADED, "boom", True)),
        ({"phase": "Error"}, {}, (DEGRADED, "error", True)),
        ({"phase": "Running"}, {"suspend": True}, (SUSPENDED, "suspended", False)),
        ({"phase": "Running", "message": "one"}, {}, (PROGRESSING, "one", False)),
        ({"phase": "Running"}, {}, (PROGRESSING, "running", False)),
        ({}, {}, (PROGRESSING, "not begun yet", False)),
    ],
)
def test_a_workflow(
    status: json.JsonObject, spec: json.JsonObject, expected: tuple[HealthStatus, str, bool]
) -> None:
    found = custom_health.argo_workflow({"status": status, "spec": spec})

    assert (found.status, found.reason, found.permanent) == expected


@pytest.mark.parametrize(
    ("health", "sync", "expected"),
    [
        ({"status": "Healthy"}, "Synced", (HEALTHY, "healthy and synced")),
        ({"status": "Healthy"}, "OutOfSync", (PROGRESSING, "health Healthy, sync OutOfSync")),
        ({}, "Synced", (PROGRESSING, "health not known, sync Synced")),
        ({"status": "Healthy"}, "", (PROGRESSING, "health Healthy, sync not known")),
        ({"status": "Degraded"}, "Synced", (DEGRADED, "degraded")),
        ({"status": "Degraded", "message": "why"}, "Synced", (DEGRADED, "why")),
        ({"status": "Suspended"}, "Synced", (SUSPENDED, "suspended")),
        ({"status": "Missing"}, "Synced", (PROGRESSING, "missing")),
        ({"status": "Progressing"}, "Synced", (PROGRESSING, "progressing")),
    ],
)
def test_an_application_of_argo_cd(
    health: json.JsonObject, sync: str, expected: tuple[HealthStatus, str]
) -> None:
    made = {"status": {"health": health, "sync": {"status": sync}}}
    found = custom_health.argo_application(made)

    assert (found.status, found.reason) == expected


def part(conditions: Conditions, **more: object) -> json.JsonObject:
    return {**body("", "", conditions)["status"], **more}


TAKEN = {"Accepted": ("True", ""), "ResolvedRefs": ("True", "")}


@pytest.mark.parametrize(
    ("parents", "wanted", "expected"),
    [
        ([TAKEN], 1, (HEALTHY, "taken by every parent")),
        ([TAKEN, TAKEN], 2, (HEALTHY, "taken by every parent")),
        ([TAKEN], 2, (PROGRESSING, "taken by 1 of 2 parents")),
        ([], 0, (PROGRESSING, "taken by 0 of 1 parents")),
        # What a parent does not say whether it accepts has not been looked at.
        ([{"ResolvedRefs": ("False", "Bad")}], 1, (PROGRESSING, "taken by 0 of 1 parents")),
        ([{"Accepted": ("False", "No")}], 1, (DEGRADED, "parent edge: No")),
        ([{**TAKEN, "ResolvedRefs": ("False", "Bad")}], 1, (DEGRADED, "parent edge: Bad")),
        ([{**TAKEN, "Programmed": ("False", "Bad")}], 1, (DEGRADED, "parent edge: Bad")),
        ([{**TAKEN, "Programmed": ("False", "Pending")}], 1, (HEALTHY, "taken by every parent")),
    ],
)
def test_a_route(
    parents: list[Conditions], wanted: int, expected: tuple[HealthStatus, str]
) -> None:
    made = {
        "spec": {"parentRefs": [{"name": "edge"}] * wanted},
        "status": {"parents": [part(each, parentRef={"name": "edge"}) for each in parents]},
    }
    found = custom_health.route(made)

    assert (found.status, found.reason) == expected


PROGRAMMED = {"Accepted": ("True", ""), "Programmed": ("True", "")}


@pytest.mark.parametrize(
    ("conditions", "listener", "expected"),
    [
        (PROGRAMMED, PROGRAMMED, (HEALTHY, "programmed")),
        (PROGRAMMED, {}, (HEALTHY, "programmed")),
        ({"Accepted": ("True", "")}, {}, (PROGRESSING, "not programmed yet")),
        ({"Accepted": ("False", "No")}, {}, (DEGRADED, "No")),
        (
            {**PROGRAMMED, "Programmed": ("False", "AddressNotAssigned")},
            {},
            (PROGRESSING, "AddressNotAssigned"),
        ),
        (PROGRAMMED, {"Conflicted": ("True", "Host")}, (DEGRADED, "listener web: Host")),
        (PROGRAMMED, {"Conflicted": ("False", "Host")}, (HEALTHY, "programmed")),
        (PROGRAMMED, {"ResolvedRefs": ("False", "Bad")}, (DEGRADED, "listener web: Bad")),
        (PROGRAMMED, {"Programmed": ("False", "Bad")}, (DEGRADED, "listener web: Bad")),
        (PROGRAMMED, {"Programmed": ("False", "Pending")}, (PROGRESSING, "listener web: Pending")),
    ],
)
def test_a_gateway(
    conditions: Conditions, listener: Conditions, expected: tuple[HealthStatus, str]
) -> None:
    status = {"listeners": [part(listener, name="web")]}
    found = custom_health.gateway(body("", "Gateway", conditions, status=status))

    assert (found.status, found.reason) == expected


def test_a_gateway_class_is_accepted_by_somebody() -> None:
    version = "gateway.networking.k8s.io/v1"

    for word, expected in (("True", HEALTHY), ("False", DEGRADED), ("Unknown", PROGRESSING)):
        made = body(version, "GatewayClass", {"Accepted": (word, "x")})
        assert assessment.assess(made).status is expected


@pytest.mark.parametrize(
    ("version", "kind", "ruled", "judged"),
    [
        ("apps/v1", "Deployment", True, True),
        ("v1", "ConfigMap", True, False),
        ("x.org/v1", "Thing", False, True),
        ("traefik.io/v1alpha1", "Middleware", True, False),
        ("cert-manager.io/v1", "Issuer", True, True),
        ("monitoring.coreos.com/v1", "Probe", True, False),
        ("monitoring.coreos.com/v1", "Prometheus", False, True),
    ],
)
def test_which_kinds_have_a_rule_and_which_can_be_ill(
    version: str, kind: str, ruled: bool, judged: bool
) -> None:
    item = manifest.Manifest({"apiVersion": version, "kind": kind})
    rule = object_health.Rule(item.group, kind, healthy="true")

    assert assessment.has_rule(item) is ruled
    assert assessment.has_rule(item, [rule])
    assert assessment.has_health(item.group, kind) is judged
    assert assessment.has_health(item.group, kind, [rule])
