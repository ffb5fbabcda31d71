import pathlib
from typing import Any

import pytest

from volary.config.text import yaml
from volary.manifests.health import assessment, pod_health
from volary.model import statuses
from volary.model.objects import object_health

CASES = sorted((pathlib.Path(__file__).parents[3] / "cases" / "health").iterdir())


def read(path: pathlib.Path) -> dict[str, object]:
    (document,) = yaml.load_all(path.read_text())
    assert isinstance(document.value, dict)
    return document.value


def rule_of(written: dict[str, object]) -> object_health.Rule:
    texts: dict[str, Any] = {key: str(value) for key, value in written.items()}
    return object_health.Rule(**texts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: pathlib.Path) -> None:
    """One live object and its health; add a case by adding a folder."""
    rule = case / "rule.yaml"
    rules = [rule_of(read(rule))] if rule.exists() else []
    found = assessment.assess(read(case / "object.yaml"), rules)

    expected = {"permanent": False, "ruled": True, **read(case / "expected.yaml")}
    assert {
        "status": found.status.value,
        "reason": found.reason,
        "permanent": found.permanent,
        "ruled": found.ruled,
    } == expected


def test_what_is_not_there_is_missing() -> None:
    assert assessment.assess(None).status is statuses.HealthStatus.MISSING


def test_trouble_that_cannot_heal_is_told_first() -> None:
    waiting = [
        {"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
        {"name": "b", "state": {"waiting": {"reason": "InvalidImageName"}}},
    ]
    found = pod_health.pod_trouble({"status": {"phase": "Pending", "containerStatuses": waiting}})

    assert found is not None
    assert (found.reason, found.container, found.heals) == ("InvalidImageName", "b", False)
    assert pod_health.pod_trouble({"status": {"phase": "Running"}}) is None


def test_objects_of_any_shape_get_an_answer() -> None:
    for status_value in (None, [], "text", {"conditions": "none"}, {"conditions": [None, 1]}):
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            body = {"apiVersion": "apps/v1", "kind": kind, "status": status_value}
            assert assessment.assess(body).status is statuses.HealthStatus.PROGRESSING
