"""What is judged of canary's pods where nothing is said, and in whose files."""

from datetime import timedelta

import pytest

from volary.config.application import application_files
from volary.model import analysis
from volary.model.pipeline.stage_kinds import waiting_stages

OURS = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT}
    - name: ANALYSIS
      with: {duration: %s, metrics: [{name: %s, interval: 10s, %s expected: {max: 1}}] %s}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
PIPECD = """\
apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: shop
  plugins: {kubernetes: {}, analysis: {}}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT}
    - name: ANALYSIS
      with: {duration: 5m, restartThreshold: 0, metrics: [{provider: p, query: q, interval: 1m,
        expected: {max: 1}}]}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


def pods_of(text: str) -> dict[str, analysis.Rule]:
    application = application_files.parse(text, file="volary.yaml", default_name="").require()
    (options,) = (
        stage.options
        for stage in application.pipeline
        if isinstance(stage.options, waiting_stages.AnalysisOptions)
    )
    return {rule.name: rule for rule in options.pods}


def ours(
    more: str = "", *, duration: str = "5m", name: str = "errors", query: str = "query: q,"
) -> dict[str, analysis.Rule]:
    return pods_of(OURS % (duration, name, query, more))


def test_restarts_and_memory_are_judged_and_silence_condemns_nobody() -> None:
    found = ours()

    assert {name: rule.expected for name, rule in found.items() if not rule.dry_run} == {
        "pod-restarts": analysis.Range(maximum=2),
        "pod-oom-kills": analysis.Range(maximum=0),
        "pod-memory-limit": analysis.Range(maximum=0.95),
    }
    for rule in found.values():
        assert rule.is_of_pods
        assert rule.no_data is analysis.NoData.PASS
        assert (rule.critical, rule.weight) == (not rule.dry_run, 0)
        assert rule.interval == timedelta(seconds=30)
    assert [name for name, rule in found.items() if rule.spares_alike] == ["pod-memory-limit"]


def test_what_pods_use_beside_the_other_side_is_shown_and_decides_nothing() -> None:
    shown = {name: rule for name, rule in ours().items() if rule.dry_run}

    assert {name: rule.ratio_limit for name, rule in shown.items()} == {
        "pod-cpu": 2,
        "pod-memory": 1.5,
    }
    assert {rule.strategy for rule in shown.values()} == {analysis.Strategy.CANARY_PRIMARY}


def test_a_short_analysis_measures_memory_often_enough_to_say_something() -> None:
    assert ours(duration="15s")["pod-memory-limit"].interval == timedelta(seconds=3.75)


@pytest.mark.parametrize("threshold", [0, 7])
def test_so_many_restarts_are_allowed(threshold: int) -> None:
    found = ours(f", restartThreshold: {threshold}")

    assert found["pod-restarts"].expected == analysis.Range(maximum=threshold)


def test_there_is_a_look_in_the_shortest_analysis() -> None:
    assert ours(duration="15s")["pod-restarts"].interval == timedelta(seconds=15)


def test_what_a_metric_says_is_not_said_twice() -> None:
    assert "pod-restarts" in ours()
    assert "pod-restarts" not in ours(name="pod-restarts", query="")
    assert not ours(name="pod-memory", query="").get("pod-memory")


def test_it_can_be_turned_off() -> None:
    assert ours(", judgePods: false") == {}


def test_pipecds_files_mean_what_they_mean_to_pipecd() -> None:
    assert pods_of(PIPECD) == {}
