"""Tables as kubectl gets them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kube_sandbox.apiserver.printing import custom, table

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
META = {"name": "a", "namespace": "shop", "creationTimestamp": "2026-01-01T11:59:00Z"}


def _cells(group: str, kind: str, body: dict[str, Any]) -> dict[str, object]:
    shown = table.columns(group, kind)
    rendered = table.render(shown, [{"metadata": META, **body}], now=NOW)
    names = [each["name"] for each in rendered["columnDefinitions"]]
    return dict(zip(names, rendered["rows"][0]["cells"], strict=True))


def test_a_deployment() -> None:
    body = {
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"spec": {"containers": [{"name": "main", "image": "nginx:1"}]}},
        },
        "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
    }

    assert _cells("apps", "Deployment", body) == {
        "Name": "a",
        "Ready": "1/3",
        "Up-to-date": 2,
        "Available": 1,
        "Age": "60s",
        "Containers": "main",
        "Images": "nginx:1",
        "Selector": "app=a",
    }


def test_wide_columns_come_with_priority_one() -> None:
    priorities = {each.name: each.priority for each in table.columns("", "Pod")}

    assert priorities["Node"] == priorities["IP"] == 1
    assert priorities["Status"] == 0


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"status": {"phase": "Pending"}}, "Pending"),
        (
            {
                "status": {
                    "phase": "Pending",
                    "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}],
                }
            },
            "ImagePullBackOff",
        ),
        (
            {
                "status": {
                    "phase": "Succeeded",
                    "containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}],
                }
            },
            "Completed",
        ),
        (
            {
                "spec": {"initContainers": [{"name": "one"}, {"name": "two"}]},
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {"name": "one", "state": {"terminated": {"exitCode": 0}}},
                        {"name": "two", "state": {"running": {}}},
                    ],
                },
            },
            "Init:1/2",
        ),
        (
            {
                "metadata": {**META, "deletionTimestamp": "2026-01-01T11:59:30Z"},
                "status": {"phase": "Running"},
            },
            "Terminating",
        ),
    ],
)
def test_the_status_word_of_a_pod(body: dict[str, Any], word: str) -> None:
    assert _cells("", "Pod", body)["Status"] == word


def test_the_ports_of_a_service() -> None:
    ports = [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]

    cells = _cells("", "Service", {"spec": {"type": "NodePort", "ports": ports}})

    assert cells["Port(s)"] == "80:30080/TCP,53/UDP"
    assert cells["External-IP"] == "<none>"


def test_a_kind_nobody_described_has_name_and_age() -> None:
    assert _cells("example.com", "Thing", {}) == {"Name": "a", "Age": "60s"}


def test_custom_columns_are_read_by_their_path() -> None:
    asked = [
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Missing", "type": "string", "jsonPath": ".spec.nothing"},
    ]
    body = {
        "metadata": META,
        "spec": {"replicas": 2},
        "status": {
            "conditions": [{"type": "Other", "status": "No"}, {"type": "Ready", "status": "True"}]
        },
    }

    rendered = table.render(custom.columns(asked), [body], now=NOW)

    assert rendered["rows"][0]["cells"] == ["a", 2, "True", "60s", None]


def test_what_comes_with_the_rows() -> None:
    shown = table.columns("", "ConfigMap")
    body = {"metadata": META, "data": {"k": "v"}}

    def first(include: str) -> Any:
        return table.render(shown, [body], now=NOW, include_object=include)["rows"][0].get("object")

    assert first("None") is None
    assert first("Object") == body
    assert first("Metadata")["kind"] == "PartialObjectMetadata"
