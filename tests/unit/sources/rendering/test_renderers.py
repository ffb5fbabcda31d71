"""A tree becomes manifests: method, input per target, and everything that is refused."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from volary.model import applications, errors
from volary.sources.git import repositories
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]


def config_map(name: str, **data: str) -> str:
    lines = "".join(f"  {key}: {value}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{lines}  a: b\n"


def app(**given: object) -> applications.Application:
    return applications.Application("shop", input=applications.Input(**given))  # type: ignore[arg-type]


def names(rendered: renderers.Rendered) -> list[str]:
    return [each.name for each in rendered.manifests]


PLAIN = {
    "app/volary.yaml": "apiVersion: volary.dev/v1\nkind: Application\n",
    "app/other.pipecd.yaml": "kind: Application\n",
    "app/fleet.yaml": "apiVersion: volary.dev/v1\nkind: Fleet\n",
    "app/b.yml": config_map("b"),
    "app/a.yaml": config_map("a"),
    "app/c.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}',
    "app/notes.txt": "not a manifest",
    "app/sub/d.yaml": config_map("d"),
    "app/linked.yaml": "-> sub/d.yaml",
    "shared/e.yaml": config_map("e"),
}


async def test_plain_files_directly_in_the_directory(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    rendered = await renderer.render(directory_tree(PLAIN), app(), directory="app", target="us")

    assert rendered.method is renderers.Method.PLAIN
    assert names(rendered) == ["a", "b", "c", "d"]
    assert str(rendered.manifests[0].origin).startswith("app/a.yaml")


async def test_named_files_in_the_order_of_the_list_and_per_target(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    described = app(
        manifests=("b.yml", "sub/d.yaml"),
        multi_targets=(
            applications.TargetInput(applications.TargetReference("eu"), manifests=("a.yaml",)),
        ),
    )
    files = directory_tree(PLAIN)

    us = await renderer.render(files, described, directory="app", target="us")
    eu = await renderer.render(files, described, directory="app", target="eu")

    assert names(us) == ["b", "d"]
    assert names(eu) == ["a"]


async def test_the_namespace_is_forced_where_there_is_one(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree(
        {
            "a.yaml": config_map("a"),
            "n.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n",
        }
    )

    rendered = await renderer.render(files, app(namespace="shop"), directory="", target="us")

    assert [each.namespace for each in rendered.manifests] == ["shop", ""]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../shared/e.yaml", "outside the application directory"),
        ("../../secret.yaml", "outside the repository"),
        ("/etc/hostname", "outside the repository"),
        ("out.yaml", "points to ../../secret.yaml, outside the repository"),
        ("beside.yaml", "points to shared/e.yaml, outside the application directory"),
        ("none.yaml", "app/none.yaml: the file does not exist"),
    ],
)
async def test_manifests_outside_the_directory_are_refused(
    renderer: renderers.Renderer, directory_tree: Tree, tmp_path: Path, path: str, message: str
) -> None:
    (tmp_path / "secret.yaml").write_text(config_map("secret"))
    files = directory_tree(
        {
            **PLAIN,
            "app/out.yaml": "-> ../../secret.yaml",
            "app/beside.yaml": "-> ../shared/e.yaml",
        }
    )

    with pytest.raises(errors.UserError, match=message):
        await renderer.render(files, app(manifests=(path,)), directory="app", target="us")


async def test_all_broken_files_are_named_at_once(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree({"a.yaml": "a: [", "b.yaml": "just text", "c.yaml": config_map("c")})

    with pytest.raises(errors.UserError) as caught:
        await renderer.render(files, app(), directory="", target="us")

    assert {each.where.file for each in caught.value.problems} == {"a.yaml", "b.yaml"}


async def test_an_empty_rendering_and_a_doubled_object_are_refused(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree(
        {"empty/volary.yaml": "", "two/a.yaml": config_map("a"), "two/b.yaml": config_map("a")}
    )

    with pytest.raises(errors.UserError, match="renders to no object at all"):
        await renderer.render(files, app(), directory="empty", target="us")
    with pytest.raises(errors.UserError, match="ConfigMap a is described twice"):
        await renderer.render(files, app(), directory="two", target="us")
    with pytest.raises(errors.UserError, match="directory does not exist at this commit"):
        await renderer.render(files, app(), directory="gone", target="us")


async def test_targets_without_differences_are_rendered_once_even_at_the_same_time(
    renderer: renderers.Renderer, directory_tree: Tree, tmp_path: Path
) -> None:
    files = directory_tree(PLAIN)
    described = app(
        multi_targets=(
            applications.TargetInput(applications.TargetReference("eu"), manifests=("a.yaml",)),
        )
    )

    rendered = await asyncio.gather(
        *(
            renderer.render(files, described, directory="app", target=target)
            for target in ("us", "asia", "africa", "eu")
        )
    )

    assert renderer.renderings == 2
    assert rendered[0] is rendered[1] is rendered[2]
    assert rendered[0].digest != rendered[3].digest
    (tmp_path / "repository" / "app" / "a.yaml").write_text(config_map("a", changed="yes"))
    again = await renderer.render(files, described, directory="app", target="us")
    assert again.digest != rendered[0].digest


KUSTOMIZE = {
    "app/base/kustomization.yaml": "resources: [../../common, map.yaml]\n",
    "app/base/map.yaml": config_map("base"),
    "app/eu/kustomization.yml": (
        "resources: [../base]\nnamePrefix: eu-\n"
        "configMapGenerator: [{name: made, files: [text=words.txt]}]\n"
    ),
    "app/eu/words.txt": "hello",
    "common/Kustomization": "resources: [map.yaml]\n",
    "common/map.yaml": config_map("common"),
    "unrelated/broken": "-> ../../../etc",
}
EU = (applications.TargetInput(applications.TargetReference("eu"), kustomize_dir="eu"),)


async def test_kustomize_with_a_base_beside_the_application_at_a_commit(
    renderer: renderers.Renderer, commit_files: Callable[..., tuple[Path, str]]
) -> None:
    """Only what the build refers to is copied; so a bad link elsewhere does no harm."""
    root, made = commit_files(KUSTOMIZE)
    files = await (await repositories.open_repository(str(root))).tree(made)

    rendered = await renderer.render(
        files, app(multi_targets=EU, namespace="shop"), directory="app", target="eu"
    )

    assert rendered.method is renderers.Method.KUSTOMIZE
    assert [name[:8] for name in names(rendered)] == ["eu-base", "eu-commo", "eu-made-"]
    assert {each.namespace for each in rendered.manifests} == {"shop"}
    assert rendered.manifests[0].origin.file == "kustomize app/eu"


def kustomization(text: str) -> dict[str, str]:
    return {"app/kustomization.yaml": text, "app/map.yaml": config_map("a"), "x.yaml": "a: b"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resources: [https://git.example/base.yaml]", "is remote, and a build never uses"),
        ("resources: ['git@git.example:team/base.git']", "is remote"),
        ("resources: ['git.example/team/base?ref=v1']", "is remote"),
        ("components: ['ssh://git.example/team/base']", "is remote"),
        ("resources: [../../outside]", "../../outside is outside the repository"),
        ("resources: [/etc]", "/etc is outside the repository"),
        ("resources: [none.yaml]", "none.yaml does not exist in the repository"),
        ("resources: [..]", "the directory has no kustomization"),
        ("patches: [{path: 'https://git.example/p.yaml'}]", "is remote"),
        ("configMapGenerator: [{name: a, files: ['k=http://h.example/f']}]", "is remote"),
        ("configMapGenerator: [{name: a, files: ['k=/etc/hostname']}]", "outside the repository"),
        ("secretGenerator: [{name: a, envs: ['../../env']}]", "outside the repository"),
        ("helmCharts: [{name: redis}]", "charts inside a kustomization are not rendered"),
        (
            "resources: [map.yaml]\nconfigMapGenerator: [{name: a, files: [../x.yaml]}]",
            "../x.yaml is a file outside the kustomization",
        ),
        ("resources: [../x.yaml]", "../x.yaml is a file outside the kustomization"),
        ("resources: [", "kustomization.yaml"),
    ],
)
async def test_a_build_reaches_neither_the_network_nor_beyond_the_repository(
    renderer: renderers.Renderer, directory_tree: Tree, text: str, message: str
) -> None:
    with pytest.raises(errors.UserError, match=message.replace("?", ".")):
        await renderer.render(
            directory_tree(kustomization(text)), app(), directory="app", target="us"
        )


async def test_links_in_a_build_are_copied_or_refused(
    renderer: renderers.Renderer, directory_tree: Tree, tmp_path: Path
) -> None:
    (tmp_path / "secret.yaml").write_text(config_map("secret"))
    inside = {
        "good/kustomization.yaml": "resources: [a.yaml]",
        "good/a.yaml": "-> ../x/a.yaml",
        "good/dangling": "-> nowhere",
        "x/a.yaml": config_map("a"),
    }
    outside = {
        "bad/kustomization.yaml": "resources: [a.yaml]",
        "bad/a.yaml": "-> ../../secret.yaml",
    }
    circle = {
        "loop/kustomization.yaml": "resources: [a.yaml]",
        "loop/a.yaml": config_map("a"),
        "loop/sub/up": "-> ..",
    }
    files = directory_tree({**inside, **outside, **circle})

    good = await renderer.render(files, app(), directory="good", target="us")

    assert names(good) == ["a"]
    with pytest.raises(errors.UserError, match="outside the repository"):
        await renderer.render(files, app(), directory="bad", target="us")
    with pytest.raises(errors.UserError, match="link to a directory around it"):
        await renderer.render(files, app(), directory="loop", target="us")


async def test_a_named_kustomize_directory_has_to_be_one(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree({"app/a.yaml": config_map("a"), "app/us/a.yaml": config_map("a")})
    for written, message in (("us", "has no kustomization"), ("../..", "outside the repository")):
        entry = (
            applications.TargetInput(applications.TargetReference("us"), kustomize_dir=written),
        )
        with pytest.raises(errors.UserError, match=message):
            await renderer.render(files, app(multi_targets=entry), directory="app", target="us")


@pytest.mark.parametrize(
    "options",
    [
        {"enable-exec": ""},
        {"enable-helm": "true"},
        {"load-restrictor": "LoadRestrictionsNone"},
        {"--output": "/tmp/x"},
        {"helm-command": "/bin/sh"},
    ],
)
async def test_options_that_run_or_reach_something_are_refused(
    renderer: renderers.Renderer, directory_tree: Tree, options: dict[str, str]
) -> None:
    files = directory_tree(kustomization("resources: [map.yaml]"))

    with pytest.raises(errors.UserError, match="is not allowed"):
        await renderer.render(files, app(kustomize_options=options), directory="app", target="us")


async def test_harmless_options_are_passed_on(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree(kustomization("resources: [map.yaml]"))
    options = {"load-restrictor": "LoadRestrictionsRootOnly", "--network": "false"}

    rendered = await renderer.render(
        files, app(kustomize_options=options), directory="app", target="us"
    )

    assert names(rendered) == ["a"]


async def test_without_kubectl_it_says_what_to_install(directory_tree: Tree) -> None:
    bare = renderers.Renderer(programs.Settings(tools={}))
    files = directory_tree(kustomization("resources: [map.yaml]"))

    with pytest.raises(errors.UserError, match="kubectl was not found\nhint: install kubectl"):
        await bare.render(files, app(), directory="app", target="us")


async def test_a_canary_describes_and_is_not_applied(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    """What stands beside it in its file is; where something else describes, it is an object."""
    canary = "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: shop}\n"
    files = directory_tree({"app/canary.yaml": f"{canary}---\n{config_map('beside')}"})
    flaggers = replace(app(), dialect=applications.Dialect.FLAGGER)

    own = await renderer.render(files, flaggers, directory="app", target="us")
    ours = await renderer.render(files, app(), directory="app", target="us")

    assert names(own) == ["beside"]
    assert names(ours) == ["shop", "beside"]


async def test_policies_of_karmada_are_applied_only_by_pipecds_files(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    """They may well be there to be brought to Karmada."""
    policy = "apiVersion: policy.karmada.io/v1alpha1\nkind: OverridePolicy\n"
    text = f"{policy}metadata: {{name: shop}}\n---\n{config_map('beside')}"
    files = directory_tree({"app/policy.yaml": text})
    dialects = applications.Dialect

    found = {
        dialect: names(
            await renderer.render(
                files, replace(app(), dialect=dialect), directory="app", target="us"
            )
        )
        for dialect in (dialects.KARMADA, dialects.VOLARY, dialects.FLAGGER, dialects.PIPECD)
    }

    assert found == {
        dialects.KARMADA: ["beside"],
        dialects.VOLARY: ["beside"],
        dialects.FLAGGER: ["beside"],
        dialects.PIPECD: ["shop", "beside"],
    }


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\n{}\n"
PASSWORD = "{{ .encryptedSecrets.password }}"


@pytest.mark.parametrize("dialect", applications.Dialect)
@pytest.mark.parametrize(
    "values",
    [
        f"stringData: {{password: '{PASSWORD}'}}",
        f"stringData: {{password: {PASSWORD}}}",
        "stringData: {password: '{{- $.encryptedSecrets.password -}}'}",
        'stringData: {password: "{{ index .encryptedSecrets `pass-word` | b64enc }}"}',
        f"data: {{password: {base64.b64encode(PASSWORD.encode()).decode()}}}",
    ],
)
async def test_a_secret_that_pipecd_would_decrypt_is_never_deployed_as_text(
    values: str,
    dialect: applications.Dialect,
    renderer: renderers.Renderer,
    directory_tree: Tree,
) -> None:
    files = directory_tree({"app/secret.yaml": SECRET.format(values)})

    with pytest.raises(errors.UserError, match="has a placeholder of PipeCD") as raised:
        await renderer.render(files, replace(app(), dialect=dialect), directory="app", target="us")

    assert [problem.where.file for problem in raised.value.problems] == ["app/secret.yaml"]
    assert "encryption.decryptionTargets" in raised.value.problems[0].hint


async def test_a_secret_out_of_a_generator_of_kustomize_is_refused_too(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    """There the text is encoded."""
    files = directory_tree(
        kustomization("secretGenerator: [{name: db, files: [password]}]")
        | {"app/password": PASSWORD}
    )

    with pytest.raises(errors.UserError, match=r"Secret db-\w+ has a placeholder of PipeCD"):
        await renderer.render(files, app(), directory="app", target="us")


async def test_an_attachment_is_a_placeholder_in_pipecds_files_only(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    """Other templates have a word of that name, and no more than it may look like one."""
    files = directory_tree(
        {
            "app/map.yaml": config_map("mail", text="'{{ .attachment.name }}'"),
            "app/other.yaml": config_map("other", text="'{{ .Values.attachment.name }}'"),
        }
    )
    theirs = replace(app(), dialect=applications.Dialect.PIPECD)

    ours = await renderer.render(files, app(), directory="app", target="us")
    with pytest.raises(errors.UserError) as raised:
        await renderer.render(files, theirs, directory="app", target="us")

    assert names(ours) == ["mail", "other"]
    assert [(each.where.file, each.where.line) for each in raised.value.problems] == [
        ("app/map.yaml", 6)
    ]


async def test_records_that_volary_keeps_are_not_deployed_nor_forged(
    renderer: renderers.Renderer, directory_tree: Tree
) -> None:
    files = directory_tree(
        {"app/a.yaml": config_map("a"), "app/b.yaml": config_map("volary-inventory-4d2f")}
    )

    with pytest.raises(errors.UserError, match="ConfigMap volary-inventory-4d2f is called like"):
        await renderer.render(files, app(), directory="app", target="us")
