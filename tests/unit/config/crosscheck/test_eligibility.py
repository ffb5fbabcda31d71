"""Taints of the fleet file and tolerations of applications decide who takes something new."""

import pytest

from volary.config.application import application_files
from volary.config.crosscheck import eligibility
from volary.config.fleet import fleet_files
from volary.model import applications, errors
from volary.model.fleet import fleets, taints
from volary.planner import targets

FLEET = """\
apiVersion: volary.dev/v1
kind: Fleet
clusters:
- name: us
- name: gpu
  taints: [{key: example.com/gpu, value: a100, effect: NoSchedule}]
- name: old
  taints: [{key: example.com/old, effect: NoExecute}]
"""
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  placement:
    tolerations:
    - {key: example.com/gpu, operator: Exists}
    - {key: example.com/old, effect: NoExecute, tolerationSeconds: 300}
"""
WAVES = """\
  waves:
  - {name: all, onUnreachable: wait}
"""
LOST = taints.Taint(taints.UNREACHABLE, by=taints.BY_RULE, reason="no answer in time")


def read(text: str) -> applications.Application:
    found = application_files.parse(
        text, file="volary.yaml", default_name=application_files.default_name("a/b")
    )
    assert found.application is not None, found.problems
    return found.application


def wrong(text: str) -> list[str]:
    found = application_files.parse(text, file="volary.yaml", default_name="shop")
    return [f"{each.where.path}: {each.message}" for each in found.problems]


def test_a_fleet_file_has_taints_and_an_application_tolerates_them() -> None:
    members = fleet_files.parse(FLEET, file="fleet.yaml").require()
    shop = read(APPLICATION)
    plain = applications.Application("plain")

    tolerant, other = targets.select(shop, members), targets.select(plain, members)

    assert shop.tolerations[1].toleration_seconds == 300
    assert tolerant.names == ("us", "gpu", "old")
    assert other.names == ("us",)
    assert other.tainted == ("gpu", "old")
    assert other.absence == (
        "gpu (tainted example.com/gpu=a100:NoSchedule), old (tainted example.com/old:NoExecute)"
    )
    assert [each.message for each in other.warnings] == [
        "not deployed to gpu: tainted example.com/gpu=a100:NoSchedule",
        "not deployed to old: tainted example.com/old:NoExecute",
    ]


def test_nothing_is_left_when_all_clusters_are_tainted() -> None:
    mark = taints.Taint("maintenance")
    members = fleets.Fleet((fleets.Cluster("us", taints=(mark,)),))

    with pytest.raises(errors.UserError, match="no cluster is left to deploy to"):
        targets.select(applications.Application("shop"), members).require()


def test_a_wave_with_a_rule_for_it_decides_about_what_cannot_be_reached() -> None:
    lost = fleets.Cluster("eu", taints=(LOST,))
    by_hand = fleets.Cluster("eu", taints=(taints.Taint(taints.UNREACHABLE, by="ana"),))
    in_waves = read(APPLICATION + WAVES)

    assert eligibility.exclusion_reason(read(APPLICATION), lost) == (
        "tainted volary.dev/unreachable:NoSchedule (volary: no answer in time)"
    )
    assert eligibility.exclusion_reason(in_waves, lost) == ""
    assert eligibility.exclusion_reason(in_waves, by_hand).startswith(
        "tainted volary.dev/unreachable"
    )


@pytest.mark.parametrize(
    ("toleration", "message"),
    [
        ("{value: x}", "[0]: a toleration without a key is for all keys"),
        ("{key: a, operator: Exists, value: x}", "[0].value: Exists compares no value"),
        (
            "{key: a, effect: NoSchedule, tolerationSeconds: 3}",
            "[0].tolerationSeconds: NoSchedule is tolerated or not, whatever the time",
        ),
    ],
)
def test_a_toleration_without_sense_is_refused(toleration: str, message: str) -> None:
    text = APPLICATION.partition("    - {key")[0] + f"    - {toleration}\n"

    assert wrong(text) == [f"spec.placement.tolerations{message}"]


def test_a_taint_that_is_there_twice_is_refused() -> None:
    twice = FLEET.replace(
        "effect: NoExecute}]", "effect: NoExecute}, {key: example.com/old, effect: NoExecute}]"
    )

    with pytest.raises(errors.UserError, match="old:NoExecute is there twice"):
        fleet_files.parse(twice, file="fleet.yaml").require()
