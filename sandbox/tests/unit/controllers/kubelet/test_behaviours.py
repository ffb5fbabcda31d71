"""How pods behave by image, annotation and rule."""

import pytest

from kube_sandbox import errors
from kube_sandbox.controllers.kubelet import behaviours


@pytest.fixture
def rules() -> behaviours.ImageRules:
    return behaviours.ImageRules()


def test_an_ordinary_image_behaves(rules: behaviours.ImageRules) -> None:
    assert behaviours.of("nginx:1", {}, rules) == behaviours.Behaviour()


def test_a_bad_image_cannot_be_pulled(rules: behaviours.ImageRules) -> None:
    assert behaviours.of("example.com/bad-shop:3", {}, rules).pull_fails


def test_a_crashing_image_never_counts_as_ready(rules: behaviours.ImageRules) -> None:
    found = behaviours.of("crash:1", {}, rules)

    assert found.never_ready
    assert found.crash_after == 1.0


def test_annotations_are_read(rules: behaviours.ImageRules) -> None:
    annotations = {
        "kube-sandbox/start-delay": "3s",
        "kube-sandbox/ready-delay": "500ms",
        "kube-sandbox/error-rate": "25%",
        "kube-sandbox/never-ready": "true",
        "example.com/other": "x",
    }

    found = behaviours.of("nginx:1", annotations, rules)

    assert found == behaviours.Behaviour(
        start_delay=3.0, ready_delay=0.5, error_rate=0.25, never_ready=True
    )


def test_what_a_pod_uses_is_said_in_quantities(rules: behaviours.ImageRules) -> None:
    rules.add("nginx:*", "cpu=250m")
    annotations = {"kube-sandbox/memory": "1.5Gi", "kube-sandbox/cpu": "-1"}

    found = behaviours.of("nginx:1", annotations, rules)

    assert found == behaviours.Behaviour(cpu=0.25, memory=1.5 * 2**30)


def test_an_unreadable_annotation_is_left_out(rules: behaviours.ImageRules) -> None:
    annotations = {
        "kube-sandbox/start-delay": "soon",
        "kube-sandbox/latency": "20ms",
    }

    assert behaviours.of("nginx:1", annotations, rules) == behaviours.Behaviour(latency=0.02)


def test_a_rule_of_the_cluster_beats_the_name(rules: behaviours.ImageRules) -> None:
    rules.add("*/bad:*", "latency=1s")

    assert not behaviours.of("example.com/bad:1", {}, rules).pull_fails
    assert behaviours.of("bad:1", {}, rules).pull_fails


def test_later_rules_win_and_can_be_removed(rules: behaviours.ImageRules) -> None:
    rules.add("shop:*", "bad")
    rules.add("shop:v2", "slow")

    assert behaviours.of("shop:v2", {}, rules) == behaviours.BEHAVIOURS["slow"]

    rules.remove("shop:v2")

    assert behaviours.of("shop:v2", {}, rules).pull_fails


@pytest.mark.parametrize("text", ["unknown", "speed=3", "start-delay=soon", "error-rate=150%"])
def test_an_unknown_behaviour_is_the_users_error(rules: behaviours.ImageRules, text: str) -> None:
    with pytest.raises(errors.UserError):
        rules.add("shop:*", text)

    assert rules.as_text() == {}
