"""Flagger's files: what they become, what differs, what is refused.

Each folder of tests/cases/flagger is an application's directory. `VOLARY_UPDATE_CASES=1` writes
what is found; read the difference before committing it.
"""

import dataclasses
import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from volary.config.application import application_files
from volary.config.crosscheck import lint
from volary.config.dialects.flagger import translation
from volary.config.text import yaml
from volary.manifests.loading import serialization
from volary.model import applications, errors
from volary.model.pipeline import webhook

CASES = Path(__file__).parents[3] / "cases/flagger"
REFUSED = CASES / "refused"


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name != "refused")


def read(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(folder.glob("*.yaml"))}


def loaded(files: dict[str, str]) -> application_files.Loaded:
    beside = {name: text for name, text in files.items() if name != "canary.yaml"}
    return application_files.parse(
        files["canary.yaml"], file="canary.yaml", default_name="unused", neighbours=beside
    )


def converted(files: dict[str, str]) -> str:
    beside = {name: text for name, text in files.items() if name != "canary.yaml"}
    made = translation.translate(
        yaml.load_all(files["canary.yaml"], "canary.yaml"), application_files.readable(beside)
    )
    return serialization.dump_body(translation.body(made))


def expect(file: Path, found: str) -> None:
    if os.environ.get("VOLARY_UPDATE_CASES"):
        file.write_text(found)
    assert found == file.read_text()


def shown(problems: tuple[errors.Problem, ...]) -> str:
    return "".join(f"{each.severity.value} {each}\n" for each in problems)


@pytest.mark.parametrize("case", names(CASES))
def test_a_canary_becomes_a_file_of_ours_and_says_what_differs(case: str) -> None:
    files = read(CASES / case)

    found = loaded(files)

    expect(CASES / case / "problems.txt", shown(found.problems))
    assert found.application is not None
    text = converted(files)
    expect(CASES / case / "volary.yaml.expected", text)


@pytest.mark.parametrize("case", names(CASES))
def test_the_converted_file_says_the_same_and_lints_clean(case: str) -> None:
    files = read(CASES / case)
    text = converted(files)

    again = application_files.parse(text, file="volary.yaml", default_name="unused")

    wrong = [each for each in again.problems if each.severity is errors.Severity.ERROR]
    assert wrong == []
    expected = loaded(files).application
    assert expected is not None
    assert again.application == dataclasses.replace(expected, dialect=applications.Dialect.VOLARY)
    others = {f"apps/{name}": each for name, each in files.items() if name != "canary.yaml"}
    linted = lint.check({"apps/volary.yaml": text, **others})
    assert not [each for each in linted if each.severity is errors.Severity.ERROR]


@pytest.mark.parametrize("case", names(REFUSED))
def test_what_cannot_be_carried_over_is_refused_with_its_place(case: str) -> None:
    files = read(REFUSED / case)

    found = loaded(files)

    expect(REFUSED / case / "problems.txt", shown(found.problems))
    assert found.application is None
    assert all(each.where.file and each.where.line for each in found.problems)


NUMBERS = st.one_of(*[st.integers(1, 100)] * 9, st.integers(-5, 130))
WAYS = st.one_of(
    st.fixed_dictionaries({"stepWeight": NUMBERS}, optional={"maxWeight": NUMBERS}),
    st.fixed_dictionaries({"stepWeights": st.lists(NUMBERS, max_size=4)}),
    st.fixed_dictionaries({"iterations": NUMBERS}),
    st.fixed_dictionaries({"stepWeight": NUMBERS, "iterations": NUMBERS}),
)
METRICS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["request-success-rate", "request-duration"])},
        optional={
            "interval": st.sampled_from(["30s", "1m"]),
            "thresholdRange": st.fixed_dictionaries(
                {}, optional={"min": st.floats(0, 100), "max": st.floats(100, 500)}
            ),
            "threshold": st.integers(0, 100),
            "query": st.sampled_from(["up", "{{ target }}-primary {{ namespace }}"]),
        },
    ),
    max_size=3,
)
WEBHOOKS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b"]), "url": st.just("https://hooks.example.org/x")},
        optional={
            "type": st.sampled_from(["", *(each.value for each in webhook.WebhookType)]),
            "timeout": st.sampled_from(["5s", "1m"]),
            "retries": st.integers(0, 10),
            "metadata": st.dictionaries(
                st.sampled_from(["k", "l"]), st.text(alphabet="abc{}$ ", max_size=5)
            ),
        },
    ),
    max_size=4,
)
ANALYSES = st.builds(
    lambda way, rest: {**way, **rest},
    WAYS,
    st.fixed_dictionaries(
        {"interval": st.sampled_from(["5s", "30s", "1m", "2h"]), "threshold": NUMBERS},
        optional={
            "stepWeightPromotion": NUMBERS,
            "mirror": st.booleans(),
            "mirrorWeight": NUMBERS,
            "canaryReadyThreshold": NUMBERS,
            "metrics": METRICS,
            "webhooks": WEBHOOKS,
            "match": st.just([{"headers": {"x-canary": {"exact": "yes"}}}]),
            "sessionAffinity": st.just({"cookieName": "c", "maxAge": 60}),
        },
    ),
)
SPECS = st.fixed_dictionaries(
    {
        "targetRef": st.just({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}),
        "service": st.fixed_dictionaries(
            {"port": st.sampled_from([80, 9898])},
            optional={
                "name": st.just("front"),
                "targetPort": st.sampled_from(["http", 8080]),
                "hosts": st.lists(st.sampled_from(["shop.example.org", "*"]), max_size=2),
                "timeout": st.just("5s"),
                "headless": st.booleans(),
                "portDiscovery": st.booleans(),
            },
        ),
        "analysis": ANALYSES,
    },
    optional={
        "provider": st.sampled_from(
            ["istio", "linkerd", "gatewayapi:v1", "nginx", "traefik", "kubernetes", "gloo"]
        ),
        "ingressRef": st.just({"kind": "Ingress", "name": "shop"}),
        "progressDeadlineSeconds": NUMBERS,
        "skipAnalysis": st.booleans(),
        "suspend": st.booleans(),
        "autoscalerRef": st.just({"kind": "HorizontalPodAutoscaler", "name": "shop"}),
    },
)


@hypothesis.given(SPECS)
@hypothesis.settings(max_examples=200)
def test_whatever_a_canary_says_is_carried_over_or_refused(spec: dict[str, Any]) -> None:
    """Never a crash; never a translation that our own dialect does not read as the same."""
    body = {
        "apiVersion": "flagger.app/v1beta1",
        "kind": "Canary",
        "metadata": {"name": "shop"},
        "spec": spec,
    }
    files = {"canary.yaml": serialization.dump_body(body)}
    found = loaded(files)
    wrong = [each for each in found.problems if each.severity is errors.Severity.ERROR]
    assert (found.application is None) == bool(wrong)
    assert all(each.where.line for each in found.problems)
    hypothesis.event("refused" if wrong else "carried over")
    if found.application is None:
        return

    text = converted(files)
    again = application_files.parse(text, file="volary.yaml", default_name="unused")

    assert again.application == dataclasses.replace(
        found.application, dialect=applications.Dialect.VOLARY
    )


CANARY = """\
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: shop}
spec:
  provider: istio
  targetRef: {kind: Deployment, name: shop}
  autoscalerRef: {kind: HorizontalPodAutoscaler, name: shop}
  service: {port: 80}
  analysis: {interval: 1m, threshold: 3, stepWeight: 50}
"""
WORKLOAD = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n"
SCALER = "---\napiVersion: autoscaling/v2\nkind: %s\nmetadata: {name: %s}\n"


@pytest.mark.parametrize(
    ("beside", "is_told"),
    [
        ({"app.yaml": WORKLOAD}, True),
        ({"app.yaml": WORKLOAD + SCALER % ("HorizontalPodAutoscaler", "other")}, True),
        ({"app.yaml": WORKLOAD + SCALER % ("HorizontalPodAutoscaler", "shop")}, False),
        # What kustomize makes is not known before it is built, and what is elsewhere never.
        ({"app.yaml": WORKLOAD, "kustomization.yaml": "resources: [app.yaml, hpa/]\n"}, False),
        ({}, False),
    ],
)
def test_a_scaler_that_is_not_beside_the_canary_is_a_warning(
    beside: dict[str, str], is_told: bool
) -> None:
    found = loaded({"canary.yaml": CANARY, **beside}).problems

    told = [each for each in found if "there is no HorizontalPodAutoscaler shop" in each.message]
    assert bool(told) is is_told
    assert all(each.severity is errors.Severity.WARNING for each in told)
    assert all(each.where.line == 7 for each in told)
