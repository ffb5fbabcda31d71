"""The variant label in selectors stays as live workloads have it."""

from typing import Any

import pytest

from volary.manifests.workloads import immutable_selectors
from volary.model.objects import manifest
from volary.model.pipeline import variant

LABEL = variant.VariantLabel()
APP = {"app": "web"}
BOTH = {**APP, LABEL.key: "primary"}


def workload(selector: dict[str, str], pods: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": pods}},
        },
    }


@pytest.mark.parametrize(
    ("wanted", "live", "expected"),
    [
        (workload(BOTH, BOTH), workload(APP, APP), workload(APP, BOTH)),
        (workload(APP, APP), workload(BOTH, BOTH), workload(BOTH, BOTH)),
        (workload(APP, BOTH), workload(BOTH, BOTH), workload(BOTH, BOTH)),
        (workload(APP, BOTH), workload(APP, APP), workload(APP, BOTH)),
        (workload(BOTH, BOTH), None, workload(BOTH, BOTH)),
        # The cluster says no to these, in its own words.
        (workload(BOTH, BOTH), workload({"app": "x"}, APP), workload(BOTH, BOTH)),
        (
            workload(BOTH, BOTH),
            workload({**APP, LABEL.key: "canary"}, APP),
            workload(BOTH, BOTH),
        ),
        (
            workload(APP, {**APP, LABEL.key: "canary"}),
            workload(BOTH, BOTH),
            workload(APP, {**APP, LABEL.key: "canary"}),
        ),
    ],
)
def test_the_live_selector_decides(
    wanted: dict[str, Any], live: dict[str, Any] | None, expected: dict[str, Any]
) -> None:
    assert immutable_selectors.keep(manifest.Manifest(wanted), live, LABEL).body == expected


def test_the_manifest_itself_stays_as_it_is() -> None:
    wanted = workload(BOTH, BOTH)

    immutable_selectors.keep(manifest.Manifest(wanted), workload(APP, APP), LABEL)

    assert wanted == workload(BOTH, BOTH)
