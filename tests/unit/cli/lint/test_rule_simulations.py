"""`volary lint` simulates rules where the file says which traffic to expect."""

from pathlib import Path

import pytest

from volary.cli.lint import linting, rule_simulations
from volary.config.crosscheck import lint
from volary.model import errors

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  service: {name: shop}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 10%}}
    - {name: K8S_BASELINE_ROLLOUT, with: {replicas: 10%}}
    - name: ANALYSIS
      with:
        duration: 10m
        expectedTraffic: {rate: RATE}
        metrics:
        - {name: memory, provider: prom, query: m, interval: 1m, expected: {max: 5}}
        - name: errors
          provider: prom
          kind: proportion
          query: bad{variant="{{ .Variant.Name }}"}
          totalQuery: all{variant="{{ .Variant.Name }}"}
          interval: 1m
          strategy: CANARY_BASELINE
          judgement: sequential
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
    - {name: K8S_BASELINE_CLEAN}
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


def found(directory: Path, rate: float, *, copies: int = 1) -> list[errors.Problem]:
    """Return the warnings for applications that expect so many requests a second."""
    files = {}
    for number in range(copies):
        text = APPLICATION.replace("RATE", str(rate + number)).replace("shop", f"shop-{number}")
        place = directory / f"shop-{number}"
        place.mkdir()
        (place / "volary.yaml").write_text(text)
        (place / "deployment.yaml").write_text(DEPLOYMENT)
        files[f"shop-{number}/volary.yaml"] = text
    loaded = lint.load_applications(files)
    assert all(each.application for each in loaded.values()), loaded
    return list(rule_simulations.check(str(directory), loaded, None))


def test_canary_gets_the_part_that_its_pods_have(tmp_path: Path) -> None:
    """One of ten pods: 200 a second are 20, and 5 are half a request, which is too little."""
    assert found(tmp_path, 200) == []


def test_the_warning_is_where_the_metric_is_written(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, 5)

    assert problem.severity is errors.Severity.WARNING
    assert problem.message.startswith("errors: ")
    assert problem.message.endswith(
        " of 40 simulated releases with twice the errors or latency would be found within 10m"
    )
    assert str(problem.where) == ("shop-0/volary.yaml:16: spec.pipeline.stages[2].with.metrics[1]")
    assert problem.hint.startswith("measure longer, or send canary more traffic")


def test_what_nobody_knows_before_it_is_rendered_is_said(tmp_path: Path) -> None:
    text = APPLICATION.replace("RATE", "5")
    loaded = lint.load_applications({"volary.yaml": text})
    (problem,) = rule_simulations.check(str(tmp_path), loaded, None)

    assert problem.message == (
        "errors: primary's pods are not known, so its rate is not known: nothing is simulated"
    )


def test_no_more_rules_are_simulated_than_one_likes_to_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_simulations, "_MOST_RULES", 2)
    first, second, rest = found(tmp_path, 1, copies=4)

    assert "would be found" in first.message
    assert "would be found" in second.message
    assert rest.message == "errors and what follows is not simulated: that would take long"
    assert rest.where.file == "shop-2/volary.yaml"


def test_the_command_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "volary.yaml").write_text(APPLICATION.replace("RATE", "5"))
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT)

    assert linting.run(str(tmp_path), fleet="", contexts="", as_json=False) == 0
    assert "twice the errors or latency would be found within 10m" in capsys.readouterr().out
