"""A server and laptops deploy one application: the clusters say what runs, and nobody forgets."""

from pathlib import Path

import pytest

import command_world
from controller_world import controlled
from kube_sandbox.apiserver.storage import verbs
from volary.store import records

ARGO = verbs.Options(manager="argocd-controller", agent="argocd")


@pytest.mark.parametrize("strategy", ["quick", "pipeline"])
async def test_a_server_and_a_laptop_take_turns(tmp_path: Path, strategy: str) -> None:
    async with command_world.world(tmp_path, "us", "eu") as world:
        store = f"sqlite:{tmp_path / 'volary.db'}"
        first = world.write({}, message="Deploy v1 by the server")
        async with controlled(world, store=store) as server:
            await server.synced(first)

        second = world.edit("deployment.yaml", "simple:v1", "simple:v2")
        by_laptop = await world.run("--strategy", strategy)

        assert by_laptop.code == 0, by_laptop
        said = " ".join((by_laptop.out + by_laptop.err).split())
        assert f"running {first[:7]}: us, eu run it" in said, by_laptop
        async with controlled(world, store=store) as server:
            # It sees that the commit runs, and goes on from there.
            await server.synced(second)
            third = world.edit("deployment.yaml", "simple:v2", "simple:v3")
            application = await server.synced(third)
            run = await server.service.run(application.run)
            assert run.summary.running_commit == second
        assert {world.images(name) for name in ("us", "eu")} == {"example/simple:v3 2/2"}

        # The laptop remembers v2.
        world.edit("deployment.yaml", "simple:v3", "simple:bad")
        planned = await world.volary("plan", ".", "--fleet", world.fleet)
        assert f"running {third[:7]}: us, eu run it" in " ".join(planned.out.split()), planned
        failed = await world.run("--strategy", "quick")
        assert failed.code == 1, failed
        assert {world.images(name) for name in ("us", "eu")} == {"example/simple:v3 2/2"}


async def test_the_audit_says_what_was_taken_over_from_whom(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as world:
        registry = world.running.clusters["us"].registry
        claimed = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "simple",
                "annotations": {
                    "argocd.argoproj.io/tracking-id": "front:/ConfigMap:default/simple"
                },
            },
        }
        registry.create(registry.kind("v1", "ConfigMap"), "default", claimed, ARGO)
        marks = "metadata:\n  annotations: {volary.dev/take-over: argocd:front}\n"
        commit = world.edit("config.yaml", "metadata:\n", marks, message="Take it over")

        async with controlled(world) as server:
            application = await server.synced(commit)

            entries = (
                await server.service.audit(records.AuditFilter(action="object.taken-over"))
            ).items
            (entry,) = entries
            assert (entry.application, entry.run) == ("simple", application.run)
            assert entry.by == "Ana <ana@example.com>"
            assert entry.document == {
                "cluster": "us",
                "object": "ConfigMap default/simple",
                "from": "Argo CD's application front",
            }
