"""Metrics that look back too shortly for their Prometheus, or at several clusters at once."""

from collections.abc import Sequence

import pytest

from volary.config.application import application_files
from volary.config.crosscheck import fleet_checks, lint
from volary.config.fleet import fleet_files

HEAD = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  service: {name: shop}
  trafficRouting: {method: istio}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT}
"""
PROMETHEUS = "{name: prom, type: prometheus, config: {address: 'https://prom'%s}}"
JSON = "{name: own, type: http, config: {address: 'https://own'}}"
RATE = "rate(errors_total[{{ interval }}])"


def warnings(
    stage: str, *providers: str, names: Sequence[str] = ("us",), said: str = "looks back"
) -> list[str]:
    """What is said of a stage, beside what other checks say."""
    listed, clusters = ", ".join(providers), ", ".join(f"{{name: {name}}}" for name in names)
    members = fleet_files.parse(
        f"apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{clusters}]\n"
        f"analysisProviders: [{listed}]\n",
        file="fleet.yaml",
    ).require()
    loaded = application_files.parse(HEAD + stage, file="volary.yaml", default_name="x")
    app = loaded.require()
    found = fleet_checks.against_fleet(app, members, document=loaded.document, base=loaded.base)
    return [f"{each.where.line} {each.message}" for each in found if said in each.message]


def progressive(metric: str, interval: str = "10s") -> str:
    return (
        "    - name: K8S_PROGRESSIVE_TRAFFIC\n"
        f"      with: {{interval: {interval}, stepWeight: 50, metrics: [{metric}]}}\n"
    )


BUILT_IN = "{name: request-success-rate, expected: {min: 99}}"
FLAGGERS = "{name: request-success-rate, interval: 1m, expected: {min: 99}}"


@pytest.mark.parametrize(
    ("stage", "config", "warned"),
    [
        # The stage's interval is that of a metric without one.
        (progressive(BUILT_IN), "", True),
        (progressive(BUILT_IN, "30s"), "", False),
        (progressive(BUILT_IN, "30s"), ", scrapeInterval: 30s", True),
        (progressive(BUILT_IN, "2s"), ", scrapeInterval: 1s", False),
        # Flagger's usual one.
        (progressive(FLAGGERS), "", False),
        (progressive(f"{{name: a, query: '{RATE}', expected: {{max: 1}}}}"), "", True),
        (progressive("{name: a, query: 'rate(x[5m])', expected: {max: 1}}"), "", False),
        (progressive("{name: a, query: 'max(rate(x[20s]))', expected: {max: 1}}"), "", True),
        # What is now needs no range.
        (progressive("{name: a, query: 'max(queue)', expected: {max: 1}}"), "", False),
    ],
)
def test_a_range_shorter_than_two_scrapes_is_told(stage: str, config: str, warned: bool) -> None:
    assert bool(warnings(stage, PROMETHEUS % config)) is warned


def test_an_analysis_and_one_beside_a_stage_are_looked_at() -> None:
    metric = "{name: request-success-rate, interval: 20s, expected: {min: 99}}"
    stage = (
        f"    - {{name: ANALYSIS, with: {{duration: 5m, metrics: [{metric}]}}}}\n"
        f"    - {{name: WAIT, with: {{duration: 5m}}, analysis: {{metrics: [{metric}]}}}}\n"
    )
    assert warnings(stage, PROMETHEUS % "") == [
        f"{line} request-success-rate: looks back on 20s and may find nothing: prom is taken to "
        "look at pods every 15s, and a rate needs 2 of its looks"
        for line in (11, 12)
    ]


@pytest.mark.parametrize(
    ("metric", "config", "warned"),
    [
        (BUILT_IN, "", True),
        (BUILT_IN, ", clusterLabel: cluster", False),
        (BUILT_IN, ", addresses: {us: 'https://us', eu: 'https://eu'}", False),
        (BUILT_IN, ", addresses: {us: 'https://us'}", False),
        (BUILT_IN, ", addresses: {us: 'https://prom'}", True),
        ("{name: a, query: 'max(queue)', expected: {max: 1}}", ", clusterLabel: cluster", True),
        ("{name: a, query: 'max(q{at=\"{{ cluster }}\"})', expected: {max: 1}}", "", False),
        ("{name: pod-restarts, expected: {max: 2}}", "", False),
    ],
)
def test_who_judges_several_clusters_by_the_same_numbers_is_told(
    metric: str, config: str, warned: bool
) -> None:
    said = warnings(progressive(metric), PROMETHEUS % config, names=("us", "eu"), said="one place")

    assert bool(said) is warned
    if warned:
        assert "prom is asked about 2 clusters in one place, and not which is meant" in said[0]


def test_only_those_that_share_a_place_are_counted() -> None:
    provider = PROMETHEUS % ", addresses: {us: 'https://us'}"

    [said] = warnings(progressive(BUILT_IN), provider, names=("us", "eu", "asia"), said="one place")

    assert "prom is asked about 2 clusters in one place" in said


def test_one_cluster_needs_no_telling_apart() -> None:
    assert not warnings(progressive(BUILT_IN), PROMETHEUS % "", said="one place")


def test_others_than_prometheus_are_not_spoken_of() -> None:
    query = f"{{name: a, provider: own, query: '{RATE}', expected: {{max: 1}}}}"

    assert warnings(progressive(query), PROMETHEUS % "", JSON) == []
    assert warnings(progressive(query.replace("own", "prom")), PROMETHEUS % "", JSON) != []


def test_without_a_fleet_the_one_among_the_files_says_who_is_asked() -> None:
    listed = f"analysisProviders: [{PROMETHEUS % ''}]\n"
    files = {
        "app/volary.yaml": HEAD + progressive(BUILT_IN),
        "fleet.yaml": f"apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{{name: us}}]\n{listed}",
    }

    found = [each for each in lint.check(files) if "looks back" in each.message]

    assert [str(each.where) for each in found] == [
        "app/volary.yaml:12: spec.pipeline.stages[1].with.metrics[0].interval"
    ]
