"""What kubectl deployed is taken over as it is, without a word and without a new pod."""

from cluster_access import Clusters


async def test_what_kubectl_applied_is_adopted(clusters: Clusters) -> None:
    shop = await clusters.application(await clusters.namespace())
    text = "\n---\n".join(
        (shop.directory / name).read_text()
        for name in ("web.yaml", "service.yaml", "settings.yaml")
    )
    await clusters.everywhere("apply", "-n", shop.namespace, "-f", "-", text=text)
    await clusters.everywhere(
        *("rollout", "status", "deployment/web", "-n", shop.namespace, "--timeout=2m")
    )
    before = await clusters.names(clusters.first, "pods", shop.namespace)

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 0, ended
    assert await clusters.names(clusters.first, "pods", shop.namespace) == before
    body = await shop.find(clusters.first, "deployment", "web")
    assert body["metadata"]["labels"]["volary.dev/application-id"]
