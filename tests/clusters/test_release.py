"""A release, what Git drops, and what goes wrong, on clusters that may be anybody's."""

import json

import cluster_access
from cluster_access import PIPELINE, Clusters, config_map


async def test_a_release_by_its_pipeline_and_nothing_the_second_time(clusters: Clusters) -> None:
    old, new = clusters.images
    shop = await clusters.application(await clusters.namespace(), text=PIPELINE)
    await shop.deployed()
    shop.edit("web.yaml", old, new)

    ended = await shop.run("--strategy", "pipeline")

    assert ended.code == 0, ended
    assert await shop.images() == dict.fromkeys(clusters.contexts, f"{new} 2/2")
    for context in clusters.contexts:
        assert await clusters.names(context, "deployments", shop.namespace) == {"web"}
    before = await clusters.written(shop.namespace)
    assert (await shop.plan()).code == 0
    again = await shop.run()
    assert again.code == 0, again
    assert await clusters.written(shop.namespace) == before


async def test_a_release_that_fails_leaves_what_was_there(clusters: Clusters) -> None:
    old, _ = clusters.images
    shop = await clusters.application(await clusters.namespace())
    await shop.deployed()
    shop.write({"more.yaml": config_map("more")})
    shop.edit("settings.yaml", "hello", "good-bye")
    shop.edit("web.yaml", old, clusters.bad_image)

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 1, ended
    assert await shop.images() == dict.fromkeys(clusters.contexts, f"{old} 2/2")
    for context in clusters.contexts:
        assert await shop.find(context, "configmap", "more") is None
        settings = await shop.find(context, "configmap", "settings")
        assert settings["data"] == {"greeting": "hello"}


async def test_what_git_drops_goes_and_what_is_not_ours_stays(clusters: Clusters) -> None:
    shop = await clusters.application(await clusters.namespace())
    shop.write({"more.yaml": config_map("more")}, message="More")
    await shop.deployed()
    ours = await shop.find(clusters.first, "configmap", "more")
    # Somebody copies an object of ours, with all its marks.
    copy = {**ours, "metadata": {**ours["metadata"], "name": "copy"}}
    for key in ("resourceVersion", "uid", "managedFields", "creationTimestamp"):
        copy["metadata"].pop(key, None)
    theirs = (config_map("theirs"), json.dumps(copy))
    for text in theirs:
        await clusters.everywhere("create", "-n", shop.namespace, "-f", "-", text=text)
    (shop.directory / "more.yaml").unlink()
    shop.write({}, message="No more")

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 0, ended
    for context in clusters.contexts:
        names = await clusters.names(context, "configmaps", shop.namespace)
        assert {"theirs", "copy", "settings"} < names
        assert "more" not in names


async def test_render_shows_the_id_that_a_first_release_applies(clusters: Clusters) -> None:
    """Also where only the manifests say to which namespace they go."""
    shop = await clusters.application(await clusters.namespace())
    for name in ("web.yaml", "service.yaml"):
        (shop.directory / name).unlink()
    settings = json.loads(config_map("settings", greeting="hello"))
    settings["metadata"]["namespace"] = shop.namespace
    described = f"apiVersion: volary.dev/v1\nkind: Application\nmetadata: {{name: {shop.name}}}\n"
    files = {"volary.yaml": f"{described}spec: {{}}\n", "settings.yaml": json.dumps(settings)}
    shop.write(files, message="Only settings")

    shown = await shop.volary("render", ".", "--target", clusters.first, "--output", "json")

    assert shown.code == 0, shown
    await shop.deployed()
    live = await shop.find(clusters.first, "configmap", "settings")
    key = "volary.dev/application-id"
    assert f'"{key}": "{live["metadata"]["labels"][key]}"' in shown.out, shown


_WAVES = """\
  waves:
  - {name: first, targets: {names: [FIRST]}}
  - {name: rest}
"""


async def test_a_wave_that_fails_keeps_the_next_as_it_is(clusters: Clusters) -> None:
    clusters.require_two()
    old, _ = clusters.images
    waves = _WAVES.replace("FIRST", json.dumps(clusters.first))
    shop = await clusters.application(await clusters.namespace(), text=waves)
    await shop.deployed()
    before = await clusters.written(shop.namespace)
    shop.edit("web.yaml", old, clusters.bad_image)

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 1, ended
    after = await clusters.written(shop.namespace)
    first = f"{clusters.first} Deployment web"
    assert {
        title for title in before if "Deployment" in title and before[title] != after[title]
    } == {first}
    assert await shop.images() == dict.fromkeys(clusters.contexts, f"{old} 2/2")


def _definition(group: str, **properties: object) -> str:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    return json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{group}", "labels": cluster_access.OURS},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": schema},
                    }
                ],
            },
        }
    )


async def test_a_definition_and_an_object_of_its_kind_in_one_commit(clusters: Clusters) -> None:
    """New ones first, then a field that both get."""
    namespace = await clusters.namespace()
    shop = await clusters.application(namespace)
    group = f"{namespace}.example"
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "small"}}
    number = {"type": "integer"}
    shop.write(
        {
            "definition.yaml": _definition(group, size=number),
            "widget.yaml": json.dumps({**widget, "spec": {"size": 1}}),
        },
        message="Widgets",
    )
    await shop.deployed()
    shop.write(
        {
            "definition.yaml": _definition(group, size=number, weight=number),
            "widget.yaml": json.dumps({**widget, "spec": {"size": 1, "weight": 2}}),
        },
        message="Heavier",
    )

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 0, ended
    for context in clusters.contexts:
        found = await shop.find(context, f"widgets.{group}", "small")
        assert found["spec"] == {"size": 1, "weight": 2}
