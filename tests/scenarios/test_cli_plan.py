"""``volary plan`` as a user types it: what it foresees, and that nothing is written."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import command_world
from kube_sandbox.apiserver.storage import verbs

WORKLOAD = "deployment.yaml"
USER = verbs.Options(manager="kubectl", agent="kubectl")
OPERATOR = verbs.Options(manager="shop-operator", agent="operator")
PASSWORD = "correct-horse-battery"
PLUGIN = "kubernetes_multicluster:\n"


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    """Two clusters and the simple example, committed and deployed nowhere."""
    async with command_world.world(tmp_path, "us", "eu") as found:
        yield found


async def plan(given: command_world.World, *words: str) -> command_world.Ended:
    return await given.volary("plan", ".", "--fleet", given.fleet, *words)


async def planned(given: command_world.World, *words: str) -> dict[str, Any]:
    ended = await plan(given, "--output", "json", *words)
    assert ended.code in (0, 1, 4), ended
    return dict(json.loads(ended.out))


def config(name: str, text: str) -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
        f"data:\n  settings: {json.dumps(text)}\n"
    )


async def test_a_first_deployment_a_release_and_nothing_to_do(given: command_world.World) -> None:
    before = await given.settled()

    first = await plan(given)

    assert first.code == 4, first
    assert "strategy quick sync" in first.out
    assert "us, eu: 3 created" in first.out
    assert "  + created Deployment default/simple\n" in first.out
    assert first.out.endswith("2 of 2 clusters would change\n")
    assert given.versions() == before

    await given.deployed()
    before = await given.settled()
    same = await plan(given)

    assert same.code == 0, same
    assert same.out.endswith("no changes\n")

    given.edit(WORKLOAD, "simple:v1", "simple:v2", message="Release v2")
    second = await plan(given)

    assert second.code == 4, second
    assert "stage 1  K8S_CANARY_ROLLOUT" in second.out
    assert "us, eu: 1 changed" in second.out
    assert (
        "      @@ spec.template.spec.containers.0.image @@\n"
        "      -example/simple:v1\n"
        "      +example/simple:v2\n"
    ) in second.out
    assert given.versions() == before


async def test_created_changed_pruned_and_kept_are_told_apart(given: command_world.World) -> None:
    given.write({"one.yaml": config("one", "a\nb\nc\n"), "two.yaml": config("two", "x")})
    pruning = f"{PLUGIN}      quickSync: {{prune: true}}\n"
    given.edit("app.pipecd.yaml", PLUGIN, pruning, message="More objects, and prune")
    await given.deployed()
    (given.directory / "two.yaml").unlink()
    given.write({"three.yaml": config("three", "new")})
    given.edit("one.yaml", "b", "B", message="Change, add and remove")

    told = await planned(given, "--strategy", "quick")

    assert told["strategy"] == "quick_sync"
    assert told["hasChanges"] is True
    us = told["clusters"][0]
    assert (us["name"], us["status"]) == ("us", "changes")
    assert (us["created"], us["changed"], us["pruned"]) == (1, 1, 1), us
    by_object = {each["object"]: each for each in us["objects"]}
    assert by_object[":ConfigMap:default:two"]["action"] == "pruned"
    assert by_object[":ConfigMap:default:three"]["action"] == "created"
    assert by_object[":ConfigMap:default:one"]["differences"] == [
        {
            "path": ["data", "settings"],
            "operation": "change",
            "old": "a\nb\nc\n",
            "new": "a\nB\nc\n",
        }
    ]
    (group,) = told["groups"]
    diffs = {each["object"]: each["diff"] for each in group["diffs"]}
    assert "-  settings: x" in diffs[":ConfigMap:default:two"]
    assert given.find("us", "ConfigMap", "two") is not None

    comment = await plan(given, "--strategy", "quick", "--output", "markdown")

    assert comment.code == 4, comment
    assert comment.out.splitlines()[0] == "<!-- volary-plan: simple -->"
    assert "| us | 1 | 1 | 1 | 3 | |" in comment.out.replace("  |", " |")
    assert "<details><summary>us, eu: 1 created, 1 changed, 1 pruned</summary>" in comment.out
    assert "  -b\n  +B\n" in comment.out


async def test_a_refused_mass_deletion_is_no_green_run_without_a_word(
    given: command_world.World,
) -> None:
    many = {f"c{number}.yaml": config(f"c{number}", "x") for number in range(9)}
    pruning = f"{PLUGIN}      quickSync: {{prune: true}}\n"
    given.write(many)
    given.edit("app.pipecd.yaml", PLUGIN, pruning, message="More objects, and prune")
    await given.deployed()
    for name in many:
        (given.directory / name).unlink()
    given.write({}, message="Remove them")
    quick = ("--strategy", "quick")
    refusal = "nothing is pruned: 9 of 12 objects would be deleted, 6 are allowed at once"

    foreseen = await plan(given, *quick)
    tried = await given.run("--dry-run", *quick)
    ended = await given.run("--output", "json", *quick)
    after = await plan(given, *quick)
    allowed = await given.run("--allow-mass-deletion", *quick)
    done = await plan(given, *quick)

    for one in (foreseen, after):
        assert one.code == 4, one
        assert "  = kept ConfigMap default/c8 (not pruned: too many would go at once)" in one.out
        assert f"  refused: {refusal}" in one.out
        assert one.out.endswith("2 of 2 clusters would keep what Git no longer has\n")
    assert refusal in tried.out
    assert ended.code == 0, ended
    last = ended.events[-1]
    assert last["status"] == "succeeded_with_exceptions"
    assert f"every stage is done on us and eu, but us and eu: {refusal}" in last["reason"]
    assert {name: why.startswith(refusal) for name, why in last["exceptions"].items()} == {
        "us": True,
        "eu": True,
    }
    assert allowed.out.startswith("succeeded after"), allowed
    assert (done.code, given.find("us", "ConfigMap", "c8")) == (0, None), done


async def test_what_was_foreseen_is_what_a_run_does(given: command_world.World) -> None:
    await given.deployed()
    given.edit(WORKLOAD, "simple:v1", "simple:v2", message="Release v2")
    told = await planned(given, "--strategy", "quick")
    previewed = {each["object"] for each in told["clusters"][0]["objects"]}
    before = _specs(given)

    ended = await given.run("--strategy", "quick")

    assert ended.code == 0, ended
    after = _specs(given)
    assert previewed == {name for name in after if after[name] != before.get(name)}
    assert (await plan(given)).code == 0


def _specs(given: command_world.World) -> dict[str, Any]:
    found = {}
    for kind, group in (("Deployment", "apps"), ("Service", ""), ("ConfigMap", "")):
        body = given.find("us", kind, "simple")
        found[f"{group}:{kind}:default:simple"] = (body.get("spec"), body.get("data"))
    return found


async def test_values_of_secrets_show_in_no_form(given: command_world.World) -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\nstringData: {{password: {0}}}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: copy}}\n"
        "data: {{url: 'https://me:{0}@db'}}\n"
    )
    given.write({"secret.yaml": secret.format("an-older-password")}, message="Secret")
    await given.deployed()
    given.write({"secret.yaml": secret.format(PASSWORD)}, message=f"Use {PASSWORD}")

    for form in ("text", "json", "markdown"):
        ended = await plan(given, "--output", form)

        assert ended.code == 4, ended
        assert "Secret" in ended.out
        assert "*****" in ended.out
        for value in (PASSWORD, "an-older-password", "Y29ycmVjdC1o", "YW4tb2xkZXIt"):
            assert value not in ended.out + ended.err, (form, value)


async def test_a_lost_cluster_is_named_and_the_others_are_shown(
    given: command_world.World,
) -> None:
    await given.deployed()
    given.edit(WORKLOAD, "simple:v1", "simple:v2", message="Release v2")
    await given.running.clusters["eu"].stop()

    ended = await plan(given, "--running", "HEAD~1")

    assert ended.code == 1, ended
    assert "eu: could not be asked: " in ended.out
    assert "us: 1 changed" in ended.out
    assert ended.out.endswith("1 of 2 clusters would change, 1 of 2 clusters could not be asked\n")


async def test_a_cluster_that_would_refuse_says_why(given: command_world.World) -> None:
    await given.deployed()
    registry = given.running.clusters["eu"].registry
    body = given.find("eu", "ConfigMap", "three")
    assert body is None
    given.write({"three.yaml": config("three", "mine")}, message="A settings file")
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "three"},
        "data": {"settings": "theirs"},
    }
    registry.create(registry.kind("v1", "ConfigMap"), "default", theirs, OPERATOR)

    told = await planned(given)

    us, eu = told["clusters"]
    assert us["status"] == "changes"
    assert eu["status"] == "refused", eu
    assert "shop-operator owns .data.settings" in eu["problems"][0]
    assert eu["objects"] == []
    assert told["failed"] is True


async def test_an_object_that_is_there_without_labels_is_changed_not_created(
    given: command_world.World,
) -> None:
    """Many of one kind are looked for by label, which what others made does not carry."""
    many = {f"{name}.yaml": config(name, "same") for name in ("one", "two", "three", "four")}
    given.write(many, message="Settings")
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one"},
        "data": {"settings": "same"},
    }
    registry = given.running.clusters["us"].registry
    registry.create(registry.kind("v1", "ConfigMap"), "default", theirs, USER)

    told = await planned(given)

    by_object = {each["object"]: each for each in told["clusters"][0]["objects"]}
    assert by_object[":ConfigMap:default:two"]["action"] == "created"
    assert by_object[":ConfigMap:default:one"]["action"] == "changed"
    assert told["clusters"][1]["created"] == 7


async def test_what_the_user_has_to_mend_is_wrong_usage(given: command_world.World) -> None:
    given.edit(WORKLOAD, "kind: Deployment", "kind: [", message="Break it")

    ended = await plan(given)

    assert ended.code == 2, ended
    assert WORKLOAD in ended.err
    assert not ended.out
