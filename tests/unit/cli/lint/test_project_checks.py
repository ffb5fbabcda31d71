"""`volary lint --project` says without a server what a project does not permit."""

import json
from pathlib import Path

import pytest

from volary.cli import exit_codes
from volary.cli.lint import linting, project_file
from volary.model import errors

PROJECTS = """\
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-a}
spec:
  sources: [{repository: a}]
  destinations: [{namespaces: ["*"]}]
---
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-b}
spec:
  sources: [{repository: b}]
  destinations:
  - clusters: {names: [us]}
    namespaces: [shop]
  stages: [K8S_SYNC]
  limits: {objects: 1}
  windows: {deny: []}
"""
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  input: {namespace: %s}
  pipeline:
    stages: [{name: K8S_CANARY_ROLLOUT}, {name: K8S_PRIMARY_ROLLOUT}, {name: K8S_CANARY_CLEAN}]
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "shop:v1"}]}
"""
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all, namespace: shop}
"""
FLEET = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us}, {name: eu}]\n"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    files = {
        "projects.yaml": PROJECTS,
        "fleet.yaml": FLEET,
        "shop/volary.yaml": APPLICATION % "shop",
        "shop/deployment.yaml": DEPLOYMENT,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def lint(base: Path, name: str, *, fleet: str = "") -> int:
    return linting.run(
        str(base / "shop"),
        fleet=str(base / fleet) if fleet else "",
        contexts="",
        project=f"{base / 'projects.yaml'}:{name}",
        as_json=False,
    )


def test_what_a_project_permits_is_no_problem(base: Path, capsys: Captured) -> None:
    assert lint(base, "team-a") == exit_codes.Exit.DONE
    assert "team-a" not in capsys.readouterr().out


def test_stages_kinds_and_sizes_are_checked(base: Path, capsys: Captured) -> None:
    (base / "shop/role.yaml").write_text(ROLE)

    assert lint(base, "team-b") == exit_codes.Exit.USAGE
    said = capsys.readouterr().out
    assert "project team-b may not have the stage K8S_CANARY_ROLLOUT: stage 1" in said
    assert "may not deploy ClusterRole (rbac.authorization.k8s.io): role.yaml" in said
    assert "project team-b may have 1 object of one application on a cluster" in said


def test_a_file_by_itself_is_checked_as_its_directory_is(base: Path, capsys: Captured) -> None:
    (base / "shop/role.yaml").write_text(ROLE)

    code = linting.run(
        str(base / "shop/volary.yaml"),
        fleet=str(base / "fleet.yaml"),
        contexts="",
        project=f"{base / 'projects.yaml'}:team-b",
        as_json=True,
    )

    assert code == exit_codes.Exit.USAGE
    said = [each["message"] for each in json.loads(capsys.readouterr().out)]
    assert (
        "project team-b may not deploy ClusterRole (rbac.authorization.k8s.io): role.yaml" in said
    )


def test_without_a_fleet_any_destination_will_do(base: Path, capsys: Captured) -> None:
    (base / "shop/volary.yaml").write_text(APPLICATION % "kube-system")

    assert lint(base, "team-b") == exit_codes.Exit.USAGE
    said = capsys.readouterr().out
    assert "project team-b may not deploy to namespace kube-system of any cluster" in said


def test_with_a_fleet_clusters_are_checked_too(base: Path, capsys: Captured) -> None:
    assert lint(base, "team-b", fleet="fleet.yaml") == exit_codes.Exit.USAGE
    assert "project team-b may not deploy to 1 cluster of 2" in capsys.readouterr().out


def test_what_cannot_be_rendered_is_said_not_to_be_checked(base: Path, capsys: Captured) -> None:
    (base / "shop/deployment.yaml").unlink()

    lint(base, "team-a")

    assert "whether project team-a permits its manifests was not checked" in capsys.readouterr().out


def test_a_file_of_several_projects_needs_a_name(base: Path) -> None:
    file = base / "projects.yaml"
    with pytest.raises(errors.UserError, match=r"does not have one project\nhint: name one"):
        project_file.read(str(file))
    with pytest.raises(errors.UserError, match="does not have project team-c") as refusal:
        project_file.read(f"{file}:team-c")
    assert refusal.value.problems[0].hint.startswith("did you mean team-")
    with pytest.raises(errors.UserError, match="cannot be read: no such file or directory"):
        project_file.read(str(base / "missing.yaml"))
    file.write_text(PROJECTS.partition("---")[0])
    assert project_file.read(str(file)).name == "team-a"


def test_mistakes_of_the_file_are_said(base: Path) -> None:
    file = base / "projects.yaml"
    file.write_text(PROJECTS.replace("destinations: [{", "destination: [{"))

    with pytest.raises(errors.UserError, match="destination"):
        project_file.read(f"{file}:team-a")
