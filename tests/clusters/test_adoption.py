"""What kubectl deployed is taken over as it is, without a new pod; from then on Git decides."""

import pytest

from cluster_access import Clusters, config_map

_WITH_VARIABLES = 'image: "IMAGE", env: [{name: A, value: "1"}, {name: B, value: "2"}]'


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="client side"),
        pytest.param(("--server-side", "--field-manager=kubectl"), id="server side"),
    ],
)
async def test_what_kubectl_applied_is_adopted(clusters: Clusters, words: tuple[str, ...]) -> None:
    old, new = clusters.images
    shop = await clusters.application(await clusters.namespace())
    shop.edit("web.yaml", f'image: "{old}"', _WITH_VARIABLES.replace("IMAGE", old))
    shop.write({"settings.yaml": config_map("settings", a="1", b="2")}, message="Variables")
    files = ("web.yaml", "service.yaml", "settings.yaml")
    text = "\n---\n".join((shop.directory / name).read_text() for name in files)
    place = ("-n", shop.namespace)
    await clusters.everywhere("apply", *words, *place, "-f", "-", text=text)
    await clusters.everywhere("rollout", "status", "deployment/web", *place, "--timeout=2m")
    before = await clusters.names(clusters.first, "pods", shop.namespace)

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 0, ended
    assert await clusters.names(clusters.first, "pods", shop.namespace) == before
    body = await shop.find(clusters.first, "deployment", "web")
    assert body["metadata"]["labels"]["volary.dev/application-id"]
    # What Git drops goes, though kubectl wrote it.
    shop.edit("web.yaml", ', {name: B, value: "2"}', "", message="")
    shop.edit("web.yaml", old, new, message="")
    shop.write({"settings.yaml": config_map("settings", a="1")}, message="Less")
    ended = await shop.run("--strategy", "quick")
    assert ended.code == 0, ended
    assert await shop.images() == dict.fromkeys(clusters.contexts, f"{new} 2/2")
    for context in clusters.contexts:
        body = await shop.find(context, "deployment", "web")
        (container,) = body["spec"]["template"]["spec"]["containers"]
        assert container["env"] == [{"name": "A", "value": "1"}]
        assert (await shop.find(context, "configmap", "settings"))["data"] == {"a": "1"}
