"""Karmada's policies: what they become, what differs, what is refused.

Each folder of tests/cases/karmada is an application's directory. `VOLARY_UPDATE_CASES=1` writes
what is found; read the difference before committing it.
"""

import os
from pathlib import Path

import pytest

from volary.config.application import application_files
from volary.config.crosscheck import fleet_checks, lint
from volary.config.dialects.karmada import recognition, translation
from volary.manifests.loading import serialization
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.placement import cluster_manifests

CASES = Path(__file__).parents[3] / "cases/karmada"
REFUSED = CASES / "refused"


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name != "refused")


def read(folder: Path) -> dict[str, str]:
    found = sorted([*folder.glob("*.yaml"), *folder.glob("policies/*.yaml")])
    return {each.relative_to(folder).as_posix(): each.read_text() for each in found}


def loaded(files: dict[str, str]) -> application_files.Loaded:
    placed = [name for name, text in files.items() if recognition.has_propagation_policy(text)]
    main = "volary.yaml" if "volary.yaml" in files else placed[0]
    beside = {name: text for name, text in files.items() if name != main}
    return application_files.parse(files[main], file=main, default_name="web", neighbours=beside)


def expect(file: Path, found: str) -> None:
    if os.environ.get("VOLARY_UPDATE_CASES"):
        file.write_text(found)
    assert found == file.read_text()


def shown(problems: tuple[errors.Problem, ...]) -> str:
    return "".join(f"{each.severity.value} {each}\n" for each in problems)


def converted(files: dict[str, str]) -> str:
    texts = {name: text for name, text in files.items() if name != "volary.yaml"}
    made = translation.translate(application_files.readable(texts), "", "web")
    return serialization.dump_body(made.draft.value)


@pytest.mark.parametrize("case", names(CASES))
def test_policies_become_a_file_of_ours_and_say_what_differs(case: str) -> None:
    files = read(CASES / case)

    found = loaded(files)

    expect(CASES / case / "problems.txt", shown(found.problems))
    assert found.application is not None
    expect(CASES / case / "volary.yaml.expected", converted(files))


@pytest.mark.parametrize("case", [each for each in names(CASES) if "beside_our" not in each])
def test_the_converted_file_says_the_same(case: str) -> None:
    files = read(CASES / case)

    again = application_files.parse(
        converted(files), file="volary.yaml", default_name="x"
    ).require()

    first = loaded(files).require()
    assert first.dialect is applications.Dialect.KARMADA
    assert (again.name, again.targets, again.input) == (first.name, first.targets, first.input)
    assert again.differences == first.differences


@pytest.mark.parametrize("case", names(REFUSED))
def test_what_cannot_be_carried_over_is_refused_with_its_place(case: str) -> None:
    found = loaded(read(REFUSED / case))

    expect(REFUSED / case / "problems.txt", shown(found.problems))
    assert found.application is None


def test_our_file_has_the_last_word_where_both_speak() -> None:
    found = loaded(read(CASES / "beside_our_file")).require()

    assert found.dialect is applications.Dialect.VOLARY
    assert found.targets.names == ("us",)
    values = [each.value for rule in found.differences.rules for each in rule.overrides]  # type: ignore[union-attr]
    assert values == ["theirs", "ours"]
    # What only the policies say counts.
    assert found.differences.replicas.division.value == "Divided"


def test_pipecds_files_leave_policies_alone() -> None:
    files = read(CASES / "suspended_clusters")
    text = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec: {name: web}\n"

    found = application_files.parse(
        text, file="app.pipecd.yaml", default_name="web", neighbours=files
    ).require()

    assert found.targets == applications.TargetSelector()


@pytest.mark.parametrize(("cluster", "tag"), [("us", "by-name"), ("eu", "by-name")])
def test_the_more_exact_policy_has_the_last_word(cluster: str, tag: str) -> None:
    files = read(CASES / "precedence")
    found = loaded(files).require()
    body = application_files.readable({"web.yaml": files["web.yaml"]})[0].value
    body["metadata"]["namespace"] = "shop"
    body["spec"]["template"]["spec"]["initContainers"] = [{"name": "i", "image": "r.io/i:1"}]
    clusters = [
        fleets.Cluster("us", {"env": "prod"}),
        fleets.Cluster("eu", {"env": "prod"}),
    ]
    chosen = next(each for each in clusters if each.name == cluster)

    (changed,) = cluster_manifests.apply(
        [manifest.Manifest(body)], found.differences, chosen, clusters
    )

    pod = changed.body["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == f"example/web:{tag}"
    assert pod["initContainers"][0]["image"] == "i:1"
    assert changed.labels["team"] == "web"
    assert ("replicas" in changed.body["spec"]) == (cluster == "us")


def test_lint_takes_a_directory_of_policies_for_one_application() -> None:
    files = {f"web/{name}": text for name, text in read(CASES / "several_policies").items()}
    again = {f"b/{name}": text for name, text in read(CASES / "beside_our_file").items()}

    found = lint.check({**files, **again})

    # Both are called web, in two directories.
    assert [each.message for each in found if each.severity is errors.Severity.ERROR] == []


def test_a_policy_that_cannot_be_read_is_not_passed_over() -> None:
    files = read(CASES / "beside_our_file")
    files["policies/policy.yaml"] += "\n  - ["

    found = loaded(files)

    assert found.application is None
    assert found.problems[0].where.file == "policies/policy.yaml"


def test_an_unknown_cluster_is_named_where_the_policy_names_it() -> None:
    files = read(CASES / "beside_our_file")
    files["volary.yaml"] = files["volary.yaml"].replace("  targets: {names: [us]}\n", "")
    found = loaded(files)

    wrong = fleet_checks.against_fleet(
        found.require(), fleets.Fleet((fleets.Cluster("us"),)), document=found.document
    )

    assert [(each.where.file, each.message) for each in wrong] == [
        ("policies/policy.yaml", "unknown target eu: the fleet has no such cluster")
    ]


def test_what_policies_hold_back_is_held_back_from_our_targets_too() -> None:
    found = loaded(read(CASES / "beside_our_placement")).require()

    assert found.targets.names == ("us", "eu")
    assert found.targets.exclude == ("us",)
    # Of spread and failover ours counts, and tolerations are those of both.
    assert [each.max_groups for each in found.spread] == [3]
    assert found.failover is not None
    assert found.failover.cluster is None
    assert [each.key for each in found.tolerations] == ["b", "a"]


def test_a_suspended_policy_is_no_mistake_but_holds_back() -> None:
    found = loaded(read(REFUSED / "suspended"))

    assert [each.holds for each in found.problems] == [True]
    assert not any(each.holds for each in loaded(read(REFUSED / "elsewhere")).problems)


def test_clusters_of_overrides_are_named_where_they_are_written() -> None:
    found = loaded(read(CASES / "beside_our_placement"))
    members = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu")))

    wrong = fleet_checks.against_fleet(found.require(), members, document=found.document)

    named = {each.where.file: each.where.line for each in wrong if "nowhere" in each.message}
    assert named == {"policies/policy.yaml": 17}
    named = {each.where.file: each.where.line for each in wrong if "neverwhere" in each.message}
    assert named == {"volary.yaml": 11}


def test_a_suspended_cluster_that_nobody_knows_is_named_where_it_is_suspended() -> None:
    files = read(CASES / "suspended_clusters")
    found = loaded(files)

    wrong = fleet_checks.against_fleet(
        found.require(),
        fleets.Fleet((fleets.Cluster("us", zones=("us-1",)), fleets.Cluster("attic"))),
        document=found.document,
    )

    (unknown,) = [each for each in wrong if each.message.startswith("unknown target eu")]
    assert unknown.where.path == "spec.suspension.dispatchingOnClusters.clusterNames"


def test_policies_in_a_list_are_read_as_any_others() -> None:
    files = read(CASES / "suspended_clusters")
    inside = "".join(f"    {line}\n" for line in files["policy.yaml"].splitlines())
    listed = "apiVersion: v1\nkind: List\nitems:\n  -\n" + inside
    assert recognition.has_propagation_policy(listed)

    found = loaded({**files, "policy.yaml": listed})

    assert found.require().targets == loaded(files).require().targets
    first, again = loaded(files).problems[0].where, found.problems[0].where
    assert (again.file, again.line, again.path) == (first.file, first.line + 4, first.path)
