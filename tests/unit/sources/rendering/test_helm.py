"""Charts of the repository, rendered by a small program that keeps helm's contract."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from volary.model import applications, errors
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]

#: Answers with what it was called with, as an object.
HELM = f"""#!{sys.executable}
import json, os, sys
arguments = sys.argv[1:]
chart = arguments[2]
if not os.path.isfile(os.path.join(chart, "Chart.yaml")):
    sys.exit("Error: Chart.yaml file is missing")
if os.path.exists(os.path.join(chart, "broken")):
    print("Error: parse error at (chart/templates/a.yaml:3)", file=sys.stderr)
    sys.exit(1)
root = os.path.dirname(chart)
files = [each.split("=")[-1] for each in arguments if each.startswith(("--values", "--set-file"))]
print(json.dumps({{
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "said"}},
    "data": {{
        "arguments": json.dumps([each.replace(root, "ROOT") for each in arguments]),
        "read": json.dumps([open(each).read() for each in files]),
        "environment": json.dumps(sorted(os.environ)),
        "here": json.dumps(os.listdir(os.getcwd())),
        "home": os.environ["HOME"],
    }},
}}))
"""
FILES = {
    "apps/shop/volary.yaml": "",
    "apps/shop/values-prod.yaml": "replicas: 3",
    "apps/shop/certificate.txt": "PEM",
    "apps/chart/Chart.yaml": "name: shop\n",
    "apps/chart/values.yaml": "",
    "apps/shop-2/values.yaml": "of another",
    "apps/shop/linked.yaml": "-> ../shop-2/values.yaml",
    "apps/shop/out.yaml": "-> ../../../secret.yaml",
    "apps/shop/x,b=/etc/passwd": "",
    "apps/shop/x,/etc/values.yaml": "",
    'apps/shop/"q".yaml': "",
}


@pytest.fixture
def with_helm(tmp_path: Path) -> renderers.Renderer:
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(HELM)
    program.chmod(0o755)
    return renderers.Renderer(programs.Settings(tools=programs.find(search=str(program.parent))))


def app(chart: str = "../chart", **options: object) -> applications.Application:
    given = applications.Input(
        namespace="shop",
        helm_chart=applications.HelmChart(chart),
        helm_options=applications.HelmOptions(**options),  # type: ignore[arg-type]
    )
    return applications.Application("shop", input=given)


async def test_helm_is_called_as_its_contract_says_and_sees_nothing_of_ours(
    with_helm: renderers.Renderer, directory_tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/precious")
    described = app(
        release_name="web",
        set_values={"image.tag": "v2", "a": "1,2"},
        value_files=("values-prod.yaml",),
        set_files={"tls": "certificate.txt"},
        api_versions=("example.dev/v1",),
        kube_version="1.36",
    )

    rendered = await with_helm.render(
        directory_tree(FILES), described, directory="apps/shop", target="us"
    )

    said = rendered.manifests[0].body["data"]
    assert rendered.method is renderers.Method.HELM
    assert json.loads(said["arguments"]) == [
        "template",
        "web",
        "ROOT/chart",
        "--no-hooks",
        "--include-crds",
        "--namespace=shop",
        "--set=a=1,2",
        "--set=image.tag=v2",
        "--values=ROOT/shop/values-prod.yaml",
        "--set-file=tls=ROOT/shop/certificate.txt",
        "--api-versions=example.dev/v1",
        "--kube-version=1.36",
    ]
    assert json.loads(said["read"]) == ["replicas: 3", "PEM"]
    assert json.loads(said["here"]) == []
    assert "KUBECONFIG" not in json.loads(said["environment"])
    assert not Path(said["home"]).exists()


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (app(value_files=("https://h.example/v.yaml",)), "cannot be fetched from a URL"),
        (app(value_files=("../shop-2/values.yaml",)), "value file is outside the application"),
        (app(value_files=("linked.yaml",)), "value file is outside the application"),
        (app(value_files=("out.yaml",)), "outside the repository"),
        (app(value_files=("/etc/hostname",)), "value file is outside the application"),
        (app(value_files=("../../../../secret.yaml",)), "value file is outside the application"),
        (app(value_files=("none.yaml",)), "the value file does not exist"),
        (app(set_files={"a": "/etc/hostname"}), "set file is outside the application"),
        (
            app(set_files={"a=/etc/passwd,b": "certificate.txt"}),
            "key of setFiles a=/etc/passwd,b has",
        ),
        (app(set_files={"a": "x,b=/etc/passwd"}), "set file apps/shop/x,b=/etc/passwd has ','"),
        (app(value_files=("x,/etc/values.yaml",)), "value file apps/shop/x,/etc/values.yaml has"),
        (app(value_files=('"q".yaml',)), "where helm begins another one"),
        (app(chart="../../../chart"), "the chart ../../../chart is outside the repository"),
        (app(chart="none"), "Chart.yaml is missing"),
        (app(release_name="--post-renderer=/bin/sh"), "cannot be the name of a release"),
    ],
)
async def test_a_chart_reads_nothing_from_elsewhere(
    with_helm: renderers.Renderer,
    directory_tree: Tree,
    tmp_path: Path,
    described: applications.Application,
    message: str,
) -> None:
    (tmp_path / "secret.yaml").write_text("password: x")

    with pytest.raises(errors.UserError, match=message):
        await with_helm.render(directory_tree(FILES), described, directory="apps/shop", target="us")


async def test_dependencies_have_to_be_in_the_repository(
    with_helm: renderers.Renderer, directory_tree: Tree
) -> None:
    needs = "name: shop\ndependencies: [{name: redis, repository: 'https://h.example'}]\n"
    files = directory_tree(
        {
            "without/Chart.yaml": needs,
            "with/Chart.yaml": needs,
            "with/charts/redis-1.2.3.tgz": "archive",
        }
    )

    rendered = await with_helm.render(files, app("."), directory="with", target="us")

    assert rendered.manifests
    with pytest.raises(errors.UserError, match="depends on redis, which is not in its charts"):
        await with_helm.render(files, app("."), directory="without", target="us")


SCHEMA = """{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://h.example/x",
 "definitions": {"port": {"type": "integer"}},
 "properties": {"$ref": {"type": "string"}, "port": {"$ref": "#/definitions/port"},
  "other": {"allOf": [%s]}}}
"""


async def test_schemas_of_values_name_no_other_file(
    with_helm: renderers.Renderer, directory_tree: Tree
) -> None:
    """Nor do those of charts inside of the chart, behind links too."""
    own = directory_tree({**FILES, "apps/chart/values.schema.json": SCHEMA % "{}"})
    assert await with_helm.render(own, app(), directory="apps/shop", target="us")

    foreign = [
        '{"$ref": "http://127.0.0.1:8080/api/v1/audit"}',
        '{"\\u0024ref": "file:///dev/zero"}',
        '{"$ref": "port.json"}',
    ]
    files = directory_tree(
        {
            "library/charts/b/values.schema.json": SCHEMA % ", ".join(foreign),
            "apps/chart/charts/a": "-> ../../../library",
            "library/charts/circle": "-> ../../apps/chart",
        }
    )
    with pytest.raises(errors.UserError) as caught:
        await with_helm.render(files, app(), directory="apps/shop", target="us")

    assert {problem.message.split()[0] for problem in caught.value.problems} == {
        "http://127.0.0.1:8080/api/v1/audit",
        "file:///dev/zero",
        "port.json",
    }
    assert {problem.where.file for problem in caught.value.problems} == {
        "library/charts/b/values.schema.json"
    }


async def test_what_helm_complains_about_is_said(
    with_helm: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree({**FILES, "apps/chart/broken": ""})

    with pytest.raises(errors.UserError, match="apps/chart: helm failed: parse error at"):
        await with_helm.render(files, app(), directory="apps/shop", target="us")


async def test_without_helm_it_says_what_to_install(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    with pytest.raises(errors.UserError, match="helm was not found\nhint: install helm 3"):
        await renderer.render(directory_tree(FILES), app(), directory="apps/shop", target="us")
