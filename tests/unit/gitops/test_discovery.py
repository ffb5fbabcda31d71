"""Applications of a repository are read again when what they refer to changes."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pygit2
import pytest

from volary.gitops import discovery
from volary.model import applications, server_settings, work_limits
from volary.sources.git import repositories

AUTHOR = pygit2.Signature("Ana", "ana@example.com", 1_700_000_000, 60)
CANARY = """\
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: shop}
spec:
  provider: istio
  targetRef: {kind: Deployment, name: shop}
  service: {port: 80}
  analysis:
    stepWeight: 50
    metrics: [{name: lost, templateRef: {name: lost}, thresholdRange: {max: 1}}]
"""
TEMPLATE = """\
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: lost}
spec: {provider: {type: prometheus}, query: lost_total}
"""


def looking_at(directory: Path) -> Callable[[dict[str, str]], Awaitable[discovery.ParsedFile]]:
    """Make a repository; what it returns commits files and says how its application reads."""
    made = pygit2.init_repository(str(directory), initial_head="main")
    finder = discovery.Discovery(server_settings.Repository("apps", str(directory)))

    async def look(files: dict[str, str]) -> discovery.ParsedFile:
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        made.index.add_all()
        made.index.write()
        parents = [] if made.head_is_unborn else [made.head.target]
        tree = made.index.write_tree()
        commit = made.create_commit("HEAD", AUTHOR, AUTHOR, "Change it", tree, parents)
        opened = await repositories.open_repository(str(directory))
        (found,) = finder.look(await opened.tree(str(commit))).readings
        return found

    return look


async def test_a_canary_is_found_and_follows_its_neighbours(tmp_path: Path) -> None:
    look = looking_at(tmp_path)

    alone = await look({"shop/canary.yaml": CANARY})

    assert alone.application is None
    assert "the MetricTemplate lost is not in the application's directory" in str(alone.problems)

    both = await look({"shop/templates.yaml": TEMPLATE})

    assert (both.path, both.name) == ("shop/canary.yaml", "shop")
    assert both.application is not None
    assert both.application.dialect is applications.Dialect.FLAGGER


VOLARY = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop}\n"
POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: shop}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
  placement: {clusterAffinity: {clusterNames: [us]}}
"""


async def test_an_edited_policy_is_read_again(tmp_path: Path) -> None:
    look = looking_at(tmp_path)

    async def targets(files: dict[str, str]) -> tuple[str, ...]:
        found = await look(files)
        assert found.application is not None, found.problems
        return found.application.targets.names

    assert await targets({"shop/volary.yaml": VOLARY}) == ()
    assert await targets({"shop/policies/policy.yaml": POLICY}) == ("us",)
    changed = POLICY.replace("[us]", "[us, eu]")
    assert await targets({"shop/policies/policy.yaml": changed}) == ("us", "eu")


async def test_an_application_with_too_much_beside_it_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_limits, "SIBLING_BYTES", 2**10)
    whole = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: %s}\n"
    made = pygit2.init_repository(str(tmp_path), initial_head="main")
    files = {
        "big/volary.yaml": whole % "big",
        "big/data.yaml": "#" * 2**11,
        "shop/volary.yaml": whole % "shop",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    made.index.add_all()
    made.create_commit("HEAD", AUTHOR, AUTHOR, "All of it", made.index.write_tree(), [])
    opened = await repositories.open_repository(str(tmp_path))
    finder = discovery.Discovery(server_settings.Repository("apps", str(tmp_path)))

    big, shop = finder.look(await opened.tree((await opened.resolve("HEAD")).id)).readings

    assert (big.name, big.application) == ("big", None)
    assert "at most 0 MiB are read" in big.problems[0].message
    assert shop.application is not None
