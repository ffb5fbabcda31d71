"""Every field of Karmada's policies: carried out, warned about or refused, as the page says."""

import os
from typing import Any

import pytest

import field_tables
from volary.config.application import application_files
from volary.config.dialects.karmada import schema, translation
from volary.manifests.loading import serialization
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.placement.replicas import shares

PAGE = field_tables.ROOT / "docs/reference/karmada-fields.md"
SECTIONS = field_tables.read("karmada")
ROWS = [row for section in SECTIONS for row in section.rows]
ABOUT = """\
What becomes of each field of Karmada's policies; how to move is told in
[come from Karmada](../how-to/coming-from-karmada.md). **Refused** is an error of `volary lint` and
of every run, before anything is written. Warned is said by lint, plan and run, and everything else
of the file is carried out. A field that is in no table is refused as a typo. What changes what or
where Karmada would deploy is carried out or refused.

The tests carry out every row, and where something is said this page has the code's own words.
"""
CLUSTERS = [
    fleets.Cluster("us", {"env": "prod"}, region="us"),
    fleets.Cluster("eu", {"env": "prod"}, region="eu"),
]
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"replicas": 4},
}
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "everywhere"},
    "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]},
}
NEEDS_CAPACITY = ("AvailableReplicas", "Aggregated")


def result(row: field_tables.Row, *, cluster: bool = False) -> field_tables.Result:
    """Return what becomes of a row, of the kind with or without a namespace."""
    policy = row.document
    if cluster:
        policy["kind"] = f"Cluster{policy['kind']}"
    is_override = "Override" in policy["kind"]
    bodies = [dict(other) for other in row.beside] or [WEB]
    placing, others = (POLICY, [policy]) if is_override else (policy, [])
    texts = {f"other-{i}.yaml": serialization.dump_body(one) for i, one in enumerate(bodies)}
    texts |= {f"policy-{i}.yaml": serialization.dump_body(one) for i, one in enumerate(others)}
    main = serialization.dump_body(placing)
    loaded = application_files.parse(
        main, file="placing.yaml", default_name="shop", neighbours=texts
    )
    made = translation.translate(
        application_files.readable({"placing.yaml": main, **texts}), "", "shop"
    )
    problems, counts = list(loaded.problems), dict[str, dict[str, Any]]()
    if loaded.application is not None:
        counts, told = divided(loaded.application, bodies)
        problems += told
    return field_tables.Result(problems, {**made.draft.value, **counts})


def divided(
    app: applications.Application, bodies: list[dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], tuple[errors.Problem, ...]]:
    """Return what the first cluster gets of the pods, by kind, and why nobody can tell."""
    policy = app.differences.replicas
    if policy.preference.value in NEEDS_CAPACITY:
        return {}, ()
    manifests = [manifest.Manifest(body) for body in bodies]
    try:
        shared = shares.apply(manifests, policy, CLUSTERS[0], CLUSTERS)
    except errors.UserError as error:
        return {}, error.problems
    return {
        key: {item.kind: item.body.get("spec", {}).get(key) for item in shared}
        for key in ("replicas", "parallelism")
    }, ()


KINDS = [
    pytest.param(row, cluster, id=f"{'Cluster ' if cluster else ''}{row}")
    for row in ROWS
    for cluster in (False, True)
    if not (cluster and row.is_namespaced)
]


@pytest.mark.parametrize(("row", "cluster"), KINDS)
def test_a_field_is_carried_out_or_said(row: field_tables.Row, cluster: bool) -> None:
    found = result(row, cluster=cluster)

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
    for name in row.fields:
        is_there = field_tables.has_field(row.document, name)
        assert is_there or name.startswith("`") or row.when == "missing", name


#: Where fields of a cluster affinity stand besides; they are read by the same code.
ALIKE = (
    "spec.placement.clusterAffinities.",
    "spec.placement.replicaScheduling.weightPreference.staticWeightList.targetCluster.",
    "spec.overrideRules.targetCluster.",
    "spec.targetCluster.",
    "spec.overriders.",
)


@pytest.mark.parametrize("kind", ["", "override"])
def test_every_field_of_the_forms_has_a_row(kind: str) -> None:
    form = schema.OverrideSpec if kind else schema.PropagationSpec
    sections = [one for one in SECTIONS if (one.title == "Overrides") is bool(kind)]
    known = {name for section in sections for row in section.rows for name in row.fields}

    missing = [name for name in field_tables.fields_of(form, "spec.") if name not in known]

    assert [name for name in missing if not name.startswith(ALIKE)] == []


def test_the_page_says_what_the_code_says() -> None:
    page = field_tables.page("Fields of Karmada's policies", ABOUT, SECTIONS, result)

    if os.environ.get("VOLARY_UPDATE_CASES"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()
