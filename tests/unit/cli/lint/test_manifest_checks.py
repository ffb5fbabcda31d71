"""`volary lint` finds overrides that would change nothing."""

import json
from pathlib import Path

import pytest

from volary.cli.lint import linting, manifest_checks
from volary.config.crosscheck import lint
from volary.model import errors

HEAD = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop}\nspec:\n"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template: {spec: {containers: [{name: web, image: "shop:v1"}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
"""
OVERRIDES = """\
  placement:
    overrides:
      - {resources: [{kind: Deploymnet}], labels: [{operator: add, value: {a: b}}]}
      - {resources: [{kind: ConfigMap}], labels: [{operator: add, value: {a: b}}]}
      - {env: [{containerName: wbe, value: {A: b}}, {value: {C: d}}]}
      - {args: [{containerName: web, operator: add, value: [--fast]}]}
      - {resources: [{matchLabels: {made: later}}], labels: [{operator: add, value: {a: b}}]}
"""


def found(base: Path, spec: str) -> list[errors.Problem]:
    (base / "shop").mkdir(exist_ok=True)
    (base / "shop/app.yaml").write_text(DEPLOYMENT)
    loaded = lint.load_applications({"shop/volary.yaml": HEAD + spec})
    return list(manifest_checks.check_overrides(str(base), loaded))


def test_manifests_and_containers_that_are_not_there_are_told_at_their_lines(
    tmp_path: Path,
) -> None:
    told = found(tmp_path, OVERRIDES)

    assert {each.severity for each in told} == {errors.Severity.WARNING}
    assert [(each.where.line, each.message, each.hint) for each in told] == [
        (7, "the override matches none of the manifests", "did you mean Deployment shop?"),
        (9, "no manifest that the override matches has a container wbe", "did you mean web?"),
    ]


def test_what_is_rendered_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/kustomization.yaml").write_text("resources: [app.yaml]\n")

    assert found(tmp_path, OVERRIDES) == []


PIPECD = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec: {plugins: {kubernetes: {}}}\n"
PIPED = """
apiVersion: pipecd.dev/v1beta1
kind: Piped
spec:
  git: {username: piped}
  plugins:
    - name: kubernetes
      deployTargets: [{name: dev, config: {masterURL: "https://dev.example"}}]
    - name: kubernetes_multicluster
      deployTargets: [{name: us}]
"""


def test_placeholders_of_pipecd_are_told_before_anything_is_deployed(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    secret = "kind: Secret\nmetadata: {name: db}\n"
    (tmp_path / "shop/db.yaml").write_text(
        f"apiVersion: v1\n{secret}stringData: {{a: '{{{{ .encryptedSecrets.a }}}}'}}\n"
    )
    loaded = lint.load_applications({"shop/app.pipecd.yaml": PIPECD})

    [wrong] = manifest_checks.check_manifests(str(tmp_path), loaded)

    assert wrong.severity is errors.Severity.ERROR
    assert (wrong.where.file, wrong.where.line) == ("shop/db.yaml", 4)
    assert wrong.message == "has a placeholder of PipeCD: {{ .encryptedSecrets.a }}"


def test_what_is_left_out_of_the_fleets_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app.pipecd.yaml").write_text(PIPECD)
    (tmp_path / "piped.yaml").write_text(PIPED)
    fleet = str(tmp_path / "piped.yaml")

    code = linting.run(str(tmp_path), fleet=fleet, contexts="", as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [problem["message"] for problem in told] == [
        "settings of piped itself are left out: git",
        "masterURL (another address of the API server, which kubectl is not told either) is not "
        "carried out yet; it is ignored",
    ]
