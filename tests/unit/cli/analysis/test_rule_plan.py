"""`volary analysis plan` by what the command states, or else what the file expects."""

import json
from pathlib import Path
from typing import Any

import pytest

from volary.cli import forms
from volary.cli.analysis import rule_plan
from volary.controller.planning import preparation

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  service: {name: shop}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 2}}
    - name: ANALYSIS
      with:
        duration: 3m
        expectedTraffic: {rate: 100, errors: 0.02}
        metrics:
        - {name: memory, provider: prom, query: m, interval: 1m, expected: {max: 5}}
        - name: errors
          provider: prom
          kind: proportion
          query: bad{variant="{{ .Variant.Name }}"}
          totalQuery: all{variant="{{ .Variant.Name }}"}
          interval: 1m
          strategy: CANARY_PRIMARY
          judgement: sequential
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 8
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: web, image: "shop:v1"}]}
"""


async def planned(
    directory: Path, capsys: pytest.CaptureFixture[str], **stated: Any
) -> dict[str, Any]:
    (directory / "volary.yaml").write_text(APPLICATION)
    (directory / "deployment.yaml").write_text(DEPLOYMENT)
    options = preparation.RunOptions(str(directory))
    request = rule_plan.PlanRequest(options, runs=20, **stated)
    assert await rule_plan.run(request, forms.Form.JSON) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


async def test_a_file_says_what_it_expects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of ten pods are canary's."""
    document = await planned(tmp_path, capsys, clusters=2)
    (metric,) = document["metrics"]

    assert not document["isMeasured"]
    assert document["notSimulated"] == ["memory of 2-ANALYSIS"]
    for each in metric["traffic"].values():
        assert (each["canary"], each["other"], each["errors"]) == (20, 80, 0.02)
    assert len(metric["traffic"]) == 2


async def test_what_the_command_states_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = await planned(tmp_path, capsys, rate=3.0, errors=0.1)
    (traffic,) = document["metrics"][0]["traffic"].values()

    assert (traffic["canary"], traffic["other"], traffic["errors"]) == (3, 3, 0.1)
