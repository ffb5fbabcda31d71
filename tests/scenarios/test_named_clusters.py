"""`make test-clusters` on clusters that are somebody's: they stay as they were."""

import asyncio
import os
import re
import sys
from pathlib import Path

from kube_sandbox import fleet as kube_sandbox_fleet

ROOT = Path(__file__).parents[2]
_FAILS = """\
async def test_it_fails(clusters):
    await clusters.namespace()
    assert False, "on purpose"
"""
#: Objects that clusters write by themselves.
_OWN = ("Event", "Lease")


def _objects(cluster: kube_sandbox_fleet.Cluster) -> set[str]:
    return {
        f"{kind.name} {body['metadata'].get('namespace')}/{body['metadata']['name']}"
        for kind in cluster.registry.served
        if kind.name not in _OWN
        for body in cluster.registry.objects(kind)
    }


async def test_nothing_is_left_also_of_a_test_that_failed(tmp_path: Path) -> None:
    (tmp_path / "test_failing.py").write_text(_FAILS)
    settings = kube_sandbox_fleet.Settings(speed=30, seed=1)
    async with kube_sandbox_fleet.start(
        ("prod",), directory=tmp_path / "fleet", settings=settings
    ) as running:
        cluster = running.clusters["prod"]
        namespaces = len(cluster.view.list("Namespace"))
        await cluster.until(lambda view: len(view.list("ServiceAccount")) == namespaces)
        await cluster.until(lambda view: len(view.list("ConfigMap")) == namespaces)
        before = _objects(cluster)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)),
            *("-p", "sandbox_fixtures", "-p", "strict_tests", "-p", "cluster_fixtures"),
            "tests/clusters/test_adoption.py",
            str(tmp_path / "test_failing.py"),
            cwd=ROOT,
            env={
                **os.environ,
                "KUBECONFIG": str(cluster.kubeconfig_path),
                "VOLARY_TEST_CONTEXTS": "prod",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()

        assert re.search(r"1 failed, \d passed", said.decode()), said.decode()
        assert _objects(cluster) == before
