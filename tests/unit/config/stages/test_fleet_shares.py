"""Shares of the whole fleet in application files: what is read, and what is wrong with it."""

import pytest

from volary.config.application import application_files
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages

FILE = """
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: web}}
spec:
  service: {{name: web}}
  trafficRouting: {{method: {method}, istio: {{virtualService: {{name: web}}}}}}
  pipeline:
    stages:
      - {{name: K8S_CANARY_ROLLOUT, with: {{{canary}}}}}
      - {{name: K8S_TRAFFIC_ROUTING, with: {{{traffic}}}}}
      - {{name: K8S_PRIMARY_ROLLOUT}}
      - {{name: K8S_CANARY_CLEAN}}
"""
FLEET = "replicas: 10%, of: fleet"


def loaded(
    canary: str = FLEET, traffic: str = "canary: 10, of: fleet", method: str = "istio"
) -> application_files.Loaded:
    text = FILE.format(canary=canary, traffic=traffic, method=method)
    return application_files.parse(text, file="volary.yaml", default_name="web")


def test_shares_are_read() -> None:
    found = loaded(f"{FLEET}, atMost: 50%")

    assert found.problems == ()
    first, second = (each.options for each in found.require().pipeline[:2])
    assert first == rollout_stages.VariantRolloutOptions(
        rollout_stages.Replicas(10, is_percentage=True),
        of=stage_kind.Scope.FLEET,
        at_most=rollout_stages.Replicas(50, is_percentage=True),
    )
    # The rest is primary's.
    assert second == traffic_stages.TrafficOptions(90, 10, of=stage_kind.Scope.FLEET)


@pytest.mark.parametrize(
    ("canary", "traffic", "method", "said"),
    [
        ("of: fleet", "primary: 100", "istio", "a share of the fleet has to be said"),
        ("of: fleet, replicas: 150%", "primary: 100", "istio", "150% of the fleet is more"),
        ("replicas: 1, atMost: 2", "primary: 100", "istio", "atMost has no effect"),
        (f"{FLEET}, atMost: 0", "primary: 100", "istio", "no cluster would get any"),
        (FLEET, "canary: 10, of: fleet", "podselector", "needs a router that divides it"),
        (FLEET, "canary: 10, of: fleet, mirror: 5", "istio", "go to canary on every cluster"),
        (FLEET, "canary: 90, baseline: 20, of: fleet", "istio", "must add up to 100"),
        (FLEET, "primary: 90, canary: 10", "istio", "without its share of canary cannot send"),
    ],
)
def test_what_is_wrong_with_them(canary: str, traffic: str, method: str, said: str) -> None:
    assert any(said in each.message for each in loaded(canary, traffic, method).problems)


def test_traffic_for_a_canary_of_each_cluster_is_fine() -> None:
    assert loaded("replicas: 10%", "primary: 90, canary: 10").problems == ()
