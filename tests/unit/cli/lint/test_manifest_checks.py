"""`volary lint` finds overrides that would change nothing."""

from pathlib import Path

from volary.cli.lint import manifest_checks
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
