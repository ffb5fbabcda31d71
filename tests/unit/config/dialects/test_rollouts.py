"""Other systems' rollouts over clusters as waves of ours.

Each file of tests/cases/rollouts/<system> is one of theirs. `VOLARY_UPDATE_CASES=1` writes what is
found beside it; read the difference before committing it.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from volary.config.application import application_files
from volary.config.dialects.rollouts import argocd, kubefleet, ocm, plans
from volary.config.text import yaml
from volary.manifests.loading import serialization
from volary.model import errors
from volary.model.fleet import fleets
from volary.placement.waves import planned_waves

CASES = Path(__file__).parents[3] / "cases/rollouts"
SYSTEMS: dict[str, Callable[[Sequence[yaml.Document], Sequence[str]], plans.Plan]] = {
    "argocd": argocd.convert,
    "kubefleet": kubefleet.convert,
    "ocm": ocm.convert,
}
FILES = sorted(each.relative_to(CASES).as_posix() for each in CASES.glob("*/*.yaml"))


def converted(name: str, text: str, approvers: Sequence[str] = ("ana",)) -> tuple[str, str]:
    """Return our file, and what is said about it."""
    system = name.partition("/")[0]
    plan = SYSTEMS[system](yaml.load_all(text, name), approvers)
    said = "".join(f"{each.severity.value} {each}\n" for each in plan.reading.problems)
    return serialization.dump_body(plan.body("shop")), said


def divided(name: str, **clusters: dict[str, str]) -> list[tuple[str, tuple[str, ...], int]]:
    """Return the waves over clusters with these labels: name, clusters, how many at once."""
    text, _ = converted(name, (CASES / name).read_text())
    found = application_files.parse(text, file="volary.yaml", default_name="x").require()
    members = [fleets.Cluster(each.replace("_", "-"), labels) for each, labels in clusters.items()]
    planned = planned_waves.divide(found.waves, members).waves
    return [(each.wave.name, each.targets, each.concurrency) for each in planned]


@pytest.mark.parametrize("name", FILES)
def test_a_rollout_becomes_waves_and_says_what_differs(name: str) -> None:
    text, said = converted(name, (CASES / name).read_text())

    expected = (CASES / name).with_suffix(".expected")
    found = f"{text}---\n{said}"
    if os.environ.get("VOLARY_UPDATE_CASES"):
        expected.write_text(found)
    assert found == expected.read_text()
    assert application_files.parse(text, file="volary.yaml", default_name="x").problems == ()


def test_stages_take_the_clusters_that_they_took() -> None:
    prod = {f"p{i}": {"env": "prod", "order": str(9 - i)} for i in range(1, 8)}

    found = divided("kubefleet/stages.yaml", c={"env": "canary"}, **prod)

    assert found == [
        ("before-canary", (), 0),
        ("canary", ("c",), 1),
        # 25 % of seven, rounded down.
        ("prod", ("p7", "p6", "p5", "p4", "p3", "p2", "p1"), 1),
    ]


def test_steps_take_clusters_by_the_label_that_applications_have_theirs_from() -> None:
    found = divided(
        "argocd/rolling_sync.yaml",
        d={"env": "dev"},
        p1={"env": "prod"},
        p2={"env": "prod", "ring": "last"},
    )

    assert found == [("step-1", ("d",), 0), ("step-2", ("p1",), 1), ("step-3", ("p2",), 0)]


def test_groups_go_one_after_another_the_mandatory_first() -> None:
    labels = {"e": {"ring": "early"}, "k": {"ring": "canary"}}
    others: dict[str, dict[str, str]] = {f"c{i}": {} for i in range(8)}

    found = divided("ocm/per_group.yaml", **labels, **others)

    assert [(name, targets) for name, targets, _ in found] == [
        ("canary", ("k",)),
        ("early", ("e",)),
        ("group-1", ("c0", "c1", "c2", "c3")),
        ("group-2", ("c4", "c5", "c6", "c7")),
        ("rest", ()),
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("ocm/progressive.yaml", "groupName: canary}]", "groupName: x}]", "decision group x"),
        ("ocm/progressive.yaml", "  predicates:", "  numberOfClusters: 3\n  predicates:", "number"),
        ("ocm/progressive.yaml", "40%", "x%", "should match pattern"),
        ("ocm/progressive.yaml", "ManifestWorkReplicaSet", "Other", "no object of the kind"),
        ("ocm/progressive.yaml", "Progressive\n", "Sometimes\n", "must be 'All'"),
        ("kubefleet/stages.yaml", "Approval", "Hope", "must be 'TimedWait' or 'Approval'"),
        ("kubefleet/stages.yaml", "TimedWait, waitTime: 1h", "TimedWait", "needs a waitTime"),
        (
            "kubefleet/stages.yaml",
            "1h}, {type: Approval}",
            "1h}, {type: Approval, waitTime: 1h}",
            "has no waitTime",
        ),
        ("argocd/rolling_sync.yaml", "RollingSync", "AllAtOnce", "has no steps"),
        ("argocd/rolling_sync.yaml", "operator: NotIn", "operator: Exists", "not an operator"),
        ("argocd/rolling_sync.yaml", "{{.metadata.labels.env}}", "{{.name}}", "by name"),
    ],
)
def test_what_cannot_be_converted(name: str, old: str, new: str, message: str) -> None:
    text = (CASES / name).read_text()
    assert old in text

    with pytest.raises(errors.UserError, match=message):
        converted(name, text.replace(old, new))


@pytest.mark.parametrize("name", ["kubefleet/stages.yaml", "argocd/rolling_sync.yaml"])
def test_people_who_approve_have_to_be_named(name: str) -> None:
    with pytest.raises(errors.UserError, match="it is not said who"):
        converted(name, (CASES / name).read_text(), ())
