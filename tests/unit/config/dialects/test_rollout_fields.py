"""Every field of other systems' rollouts: converted, warned about or refused, as the page says."""

import os

import pytest

import field_tables
from volary.config.dialects.rollouts import argocd, kubefleet, ocm
from volary.config.text import yaml
from volary.manifests.loading import serialization
from volary.model import errors

PAGE = field_tables.ROOT / "docs/reference/rollout-fields.md"
SECTIONS = field_tables.read("rollouts")
ROWS = [row for section in SECTIONS for row in section.rows]
ABOUT = """\
What `volary convert kubefleet`, `ocm` and `argocd` make of each field; how to move is told in
[come from Karmada](../how-to/coming-from-karmada.md#other-systems-waves). Refused means that
nothing is printed. Warned is said in the comments of the printed file and on the terminal. A field
that is in no table is refused as a typo, but for what Argo CD's generators and templates say.

The tests convert every row, and where something is said this page has the code's own words.
"""
SYSTEMS = {
    "ClusterStagedUpdateStrategy": kubefleet.convert,
    "ManifestWorkReplicaSet": ocm.convert,
    "ApplicationSet": argocd.convert,
}


def result(row: field_tables.Row) -> field_tables.Result:
    bodies = [row.document, *map(dict, row.beside)]
    text = "---\n".join(serialization.dump_body(body) for body in bodies)
    plan = SYSTEMS[row.document["kind"]](yaml.load_all(text, "rollout.yaml"), ["ana"])
    problems = plan.reading.problems
    if errors.mistakes(problems):
        with pytest.raises(errors.UserError):
            plan.body("shop")
        return field_tables.Result(problems)
    return field_tables.Result(problems, plan.body("shop")["spec"])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_field_is_converted_or_said(row: field_tables.Row) -> None:
    found = result(row)

    others = [
        problem
        for problem in found.problems
        if problem.severity is errors.Severity.ERROR and problem not in found.of(row)
    ]
    assert others == []
    assert found.outcome(row) == row.outcome, [str(problem) for problem in found.problems]
    assert field_tables.contains(found.becomes, row.becomes), found.becomes
    assert row.outcome != field_tables.CARRIED_OUT or row.note


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_writes_its_fields(row: field_tables.Row) -> None:
    objects = {str(other["kind"]): other for other in row.beside}
    for name in row.fields:
        kind, _, rest = name.partition(".")
        known = objects.get(kind)
        is_there = field_tables.has_field(known or row.document, rest if known else name)
        assert is_there or "object" in name, name


#: Conditions on labels of a group's clusters are those of a predicate; indices are as names.
ALIKE = (
    "Placement.spec.decisionStrategy.groupStrategy.decisionGroups.groupClusterSelector.",
    "spec.placementRefs.rolloutStrategy.progressivePerGroup.mandatoryDecisionGroups.groupIndex",
)


def test_every_field_of_the_forms_has_a_row() -> None:
    known = {name for row in ROWS for name in row.fields}
    fields = [
        *field_tables.fields_of(kubefleet.Spec, "spec."),
        *field_tables.fields_of(ocm.ReplicaSetSpec, "spec."),
        *field_tables.fields_of(ocm.Spec, "Placement.spec."),
        *field_tables.fields_of(argocd.Strategy, "spec.strategy."),
    ]

    assert [name for name in fields if name not in known and not name.startswith(ALIKE)] == []


def test_the_page_says_what_the_code_says() -> None:
    page = field_tables.page("Fields of other systems' rollouts", ABOUT, SECTIONS, result)

    if os.environ.get("VOLARY_UPDATE_CASES"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()
