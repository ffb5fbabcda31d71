"""Nobody's object is touched without a word, and what was taken over can be given back."""

from cluster_access import Application, Clusters, config_map

#: Where a Deployment's annotations go.
NAME = "  name: web\n"
HELM = {"meta.helm.sh/release-name": "store", "meta.helm.sh/release-namespace": "shop"}


def of_argo_cd(shop: Application) -> str:
    """Return a Deployment of the same name, as Argo CD's application `front` has it."""
    tracking = f"front:apps/Deployment:{shop.namespace}/web"
    marks = f'{NAME}  annotations: {{argocd.argoproj.io/tracking-id: "{tracking}"}}\n'
    return (shop.directory / "web.yaml").read_text().replace(NAME, marks, 1)


async def argo_cd_applies(shop: Application, text: str, *contexts: str) -> None:
    for context in contexts:
        await shop.clusters.kubectl(
            context,
            *("apply", "--server-side", "--field-manager=argocd-controller", "--force-conflicts"),
            *("-n", shop.namespace, "-f", "-"),
            text=text,
        )


async def test_what_argo_cd_manages_in_one_cluster_is_touched_in_none(clusters: Clusters) -> None:
    shop = await clusters.application(await clusters.namespace())
    last = clusters.contexts[-1]
    await argo_cd_applies(shop, of_argo_cd(shop), last)
    before = await clusters.written(shop.namespace)

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 2, ended
    said = " ".join(ended.err.split())
    assert f"Deployment {shop.namespace}/web on cluster {last}" in said
    assert "belongs to Argo CD's application front" in said
    assert "volary.dev/take-over: argocd:front" in said
    assert await clusters.written(shop.namespace) == before


async def test_git_says_that_it_is_taken_over_and_it_is_given_back(clusters: Clusters) -> None:
    shop = await clusters.application(await clusters.namespace())
    theirs = of_argo_cd(shop)
    await argo_cd_applies(shop, theirs, *clusters.contexts)
    marks = "{volary.dev/take-over: argocd:front, volary.dev/force-conflicts: enabled}"
    shop.edit("web.yaml", NAME, f"{NAME}  annotations: {marks}\n")

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 0, ended
    title = f"Deployment {shop.namespace}/web"
    assert f"takes {title} over from Argo CD's application front" in " ".join(ended.err.split())
    # The way back of docs/how-to/adopt.md.
    await clusters.everywhere(
        *("annotate", "deployment", "web", "-n", shop.namespace, "volary.dev/prune=disabled")
    )
    (shop.directory / "web.yaml").unlink()
    (shop.directory / "service.yaml").unlink()
    application = (shop.directory / "volary.yaml").read_text()
    kept = [line for line in application.splitlines(True) if "kind: " not in line or "App" in line]
    shop.write({"volary.yaml": "".join(kept)}, message="Give it back")
    back = await shop.run("--strategy", "quick")
    assert back.code == 0, back
    await argo_cd_applies(shop, theirs, *clusters.contexts)
    shop.edit("settings.yaml", "hello", "good-bye")
    assert (await shop.run("--strategy", "quick")).code == 0
    for context in clusters.contexts:
        assert await shop.find(context, "service", "web") is None
        body = await shop.find(context, "deployment", "web")
        assert body["status"]["readyReplicas"] == 2


async def test_a_single_changed_object_is_looked_at_as_well(clusters: Clusters) -> None:
    """It is written without a trial."""
    shop = await clusters.application(await clusters.namespace())
    await shop.deployed()
    claimed = config_map("more", HELM, a="1")
    await clusters.everywhere("create", "-n", shop.namespace, "-f", "-", text=claimed)
    shop.write({"more.yaml": config_map("more", b="2")}, message="One more")

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 2, ended
    assert "belongs to the Helm release shop/store" in " ".join(ended.err.split())
    assert (await shop.find(clusters.first, "configmap", "more"))["data"] == {"a": "1"}


async def test_a_release_of_helms_stays_helms(clusters: Clusters) -> None:
    """Its objects lack our labels, so that no list by label shows them."""
    shop = await clusters.application(await clusters.namespace())
    names = [f"settings-{number}" for number in range(5)]
    theirs = "\n---\n".join(config_map(name, HELM, a="1") for name in names)
    await clusters.everywhere("create", "-n", shop.namespace, "-f", "-", text=theirs)
    ours = {f"{name}.yaml": config_map(name, a="2") for name in names}
    shop.write(ours, message="The same names")
    before = await clusters.written(shop.namespace)

    for words, code in ((("plan",), 1), (("run", "--dry-run"), 2), (("run",), 2)):
        ended = await shop.volary_on_all(*words)

        assert ended.code == code, ended
        said = " ".join((ended.out + ended.err).split())
        for name in names:
            assert f"ConfigMap {shop.namespace}/{name} on cluster {clusters.first}" in said
        hints = said.count("volary.dev/take-over: helm:shop/store")
        assert hints == (len(clusters.contexts) if words == ("plan",) else 1), ended
        assert ("would refuse" in said) is (words == ("plan",))
    assert await clusters.written(shop.namespace) == before
