"""Workspaces on sandbox clusters: made, kept, changed, and deleted only when it is confirmed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import command_world
import controller_world
import process_time
from kube_sandbox import fleet
from volary.config.fleet import fleet_files
from volary.controller import refusals
from volary.model import errors, json
from volary.store import records
from workspace_world import RBAC, TEAM_A, TEAM_B, Kept, find, kept, life

ANA = controller_world.ANA
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
        },
    },
}


POLICIES = "admissionregistration.k8s.io/v1"
NO_BINDINGS = {
    "apiVersion": POLICIES,
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "no-bindings"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["rbac.authorization.k8s.io"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["rolebindings"],
                }
            ]
        },
        "validations": [{"expression": "false", "message": "nobody is bound today"}],
    },
}
FOR_ALL = {
    "apiVersion": POLICIES,
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "no-bindings"},
    "spec": {"policyName": "no-bindings", "validationActions": ["Deny"]},
}


def put(cluster: fleet.Cluster, body: json.JsonObject, namespace: str = "") -> None:
    """Make an object in a cluster, as its administrator."""
    cluster.registry.create(cluster.registry.kind_of(body), namespace, body)


def named(name: str, **metadata: object) -> json.JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def delete(cluster: fleet.Cluster, version: str, kind: str, name: str, namespace: str) -> None:
    cluster.registry.delete(cluster.registry.kind(version, kind), namespace, name)


def version_of(body: json.JsonObject | None) -> str:
    assert body is not None
    return str(body["metadata"]["resourceVersion"])


def binding(cluster: fleet.Cluster) -> json.JsonObject | None:
    return find(cluster, "RoleBinding", "volary-edit", "shop", version=RBAC)


def uid_of(cluster: fleet.Cluster) -> str:
    """Return which namespace of the first team is there; empty: none."""
    found = find(cluster, "Namespace", "shop")
    return str(found["metadata"]["uid"]) if found else ""


async def until(cluster: fleet.Cluster, holds: Callable[[], object]) -> None:
    await cluster.until(lambda _: bool(holds()), timeout=process_time.HANG)


async def test_it_comes_to_every_cluster(tmp_path: Path) -> None:
    async with kept(tmp_path, "us", "eu") as given:
        given.write(TEAM_A, TEAM_B)
        await given.ready("team-a", "team-b")

        for cluster in given.clusters.values():
            assert find(cluster, "Namespace", "shop")
            assert find(cluster, "ResourceQuota", "volary-quota", "pay")
            assert binding(cluster)


async def test_what_others_change_is_put_back_and_nothing_else_is_written(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        given.write(TEAM_A)
        await given.ready("team-a")
        namespace = find(us, "Namespace", "shop")
        assert namespace is not None
        labels = {**namespace["metadata"]["labels"], "cost-centre": "7"}
        del labels["pod-security.kubernetes.io/enforce"]
        changed = {**namespace, "metadata": {**namespace["metadata"], "labels": labels}}
        us.registry.update(us.registry.kind("v1", "Namespace"), "", "shop", changed)
        role = find(us, "Role", "volary-view", "shop", version=RBAC)
        delete(us, RBAC, "RoleBinding", "volary-edit", "shop")
        delete(us, "v1", "ResourceQuota", "volary-quota", "shop")

        await until(us, lambda: binding(us) and find(us, "ResourceQuota", "volary-quota", "shop"))
        await until(
            us,
            lambda: (
                "pod-security.kubernetes.io/enforce"
                in (find(us, "Namespace", "shop") or {})["metadata"]["labels"]
            ),
        )

        known = await given.until(
            "team-a", lambda one: one.status == "ready" and bool(one.clusters[0].repair)
        )
        assert (find(us, "Namespace", "shop") or {})["metadata"]["labels"]["cost-centre"] == "7"
        again = find(us, "Role", "volary-view", "shop", version=RBAC)
        assert version_of(again) == version_of(role)
        assert known.clusters[0].repaired


async def test_what_cannot_be_put_back_is_drifted_and_the_rest_is(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        both = TEAM_A.replace("namespaces: [{", "namespaces: [{name: jobs}, {")
        given.write(both)
        await given.ready("team-a")
        put(us, NO_BINDINGS)
        put(us, FOR_ALL)

        delete(us, RBAC, "RoleBinding", "volary-edit", "shop")
        delete(us, "v1", "ResourceQuota", "volary-quota", "jobs")

        drifted = await given.on("team-a", "us", "drifted")
        assert "nobody is bound today" in drifted.reason
        await until(us, lambda: find(us, "ResourceQuota", "volary-quota", "jobs"))


async def test_a_namespace_that_somebody_deletes_comes_back(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        given.write(TEAM_A)
        await given.ready("team-a")
        before = uid_of(us)

        delete(us, "v1", "Namespace", "shop", "")

        await until(us, lambda: binding(us) and uid_of(us) not in ("", before))
        await given.ready("team-a")


async def test_a_workspace_that_never_came_anywhere_can_go(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        put(given.clusters["us"], named("shop"))
        given.write(TEAM_A)
        await given.on("team-a", "us", "failing")
        given.write()
        await given.until("team-a", lambda one: one.status == "removed")

        assert (await given.service.delete("team-a", ANA, confirm="team-a")).is_gone
        assert find(given.clusters["us"], "Namespace", "shop")


async def test_access_that_is_taken_away_ends(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        given.write(TEAM_A)
        await given.ready("team-a")

        given.write(TEAM_A.replace("  - {group: team-a-developers, role: edit}\n", ""))

        await until(us, lambda: binding(us) is None)
        assert find(us, "RoleBinding", "volary-view", "shop", version=RBAC)
        assert find(us, "Role", "volary-edit", "shop", version=RBAC) is None


async def test_one_bad_cluster_holds_up_no_other_and_is_brought_up_to_date(tmp_path: Path) -> None:
    async with kept(tmp_path, "us", "eu") as given:
        given.clusters["eu"].faults.change({"lost": "refuse"})
        given.write(TEAM_A)

        assert (await given.on("team-a", "us", "ready")).namespaces == ("shop",)
        failing = await given.on("team-a", "eu", "failing")
        assert failing.reason
        given.clusters["eu"].faults.clear()
        await given.ready("team-a")
        assert find(given.clusters["eu"], "Namespace", "shop")


async def test_a_cluster_that_joins_later_gets_it(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as world:
        file = Path(world.fleet)
        members = fleet_files.parse(
            file.read_text(), file=str(file), directory=str(file.parent)
        ).require()
        alone = replace(members, clusters=members.clusters[:1])
        async with life(world, members=alone) as given:
            given.write(TEAM_A)
            first = alone.clusters[0].name
            await given.on("team-a", first, "ready")

            given.controller.change_fleet(members)

            await given.on("team-a", members.clusters[1].name, "ready")


async def test_what_is_stored_is_kept_without_anybody_reading_files(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'volary.db'}"
    async with command_world.world(tmp_path, "us") as world:
        async with life(world, store=store) as given:
            given.write(TEAM_A)
            await given.ready("team-a")
        us = given.clusters["us"]
        delete(us, RBAC, "RoleBinding", "volary-edit", "shop")

        async with life(world, store=store):
            await until(us, lambda: binding(us))


async def test_two_of_one_name_change_nothing(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        given.write(TEAM_A)
        await given.ready("team-a")

        with pytest.raises(errors.UserError, match="several workspaces team-a"):
            given.write(TEAM_A, TEAM_A.replace("name: shop", "name: other"))

        assert (await given.service.get("team-a")).namespaces == ("shop",)


async def test_what_is_stored_and_cannot_be_read_waits_for_its_file(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        broken = records.WorkspaceRecord("team-b", "team-b", {"workspace": 5})
        await given.controller.service.store.workspaces.keep([broken], fence=None)
        given.write(TEAM_A)
        await given.ready("team-a")

        assert "cannot be read" in (await given.service.get("team-b")).reason
        given.write(TEAM_A, TEAM_B)
        await given.ready("team-b")


async def test_a_namespace_of_somebody_else_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        put(us, named("shop", labels={"app.kubernetes.io/managed-by": "Helm", "keep": "me"}))
        both = TEAM_A.replace("namespaces: [{", "namespaces: [{name: shop-db}, {")
        given.write(both)

        failing = await given.on("team-a", "us", "failing")
        assert "shop was there before" in failing.reason
        assert "managed by Helm" in failing.reason
        assert failing.namespaces == ("shop-db",)
        assert find(us, "ResourceQuota", "volary-quota", "shop") is None

        given.write(both.replace("{name: shop,", "{name: shop, adopt: true,"))
        await given.ready("team-a")
        adopted = find(us, "Namespace", "shop")
        assert adopted is not None
        assert adopted["metadata"]["labels"]["keep"] == "me"
        assert find(us, "ResourceQuota", "volary-quota", "shop")


async def test_no_workspace_takes_anothers_namespace(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        given.write(TEAM_A)
        await given.ready("team-a")

        given.write(TEAM_A, TEAM_B.replace("{name: pay,", "{name: shop, adopt: true,"))

        failing = await given.on("team-b", "us", "failing")
        assert "belongs to Volary's workspace team-a" in failing.reason
        assert binding(given.clusters["us"])


async def removed(given: Kept) -> None:
    """Have the workspace of the first team written and gone again."""
    given.write(TEAM_A)
    await given.ready("team-a")
    given.write()
    await given.until("team-a", lambda one: one.status == "removed")


async def test_nothing_goes_until_it_is_confirmed(tmp_path: Path) -> None:
    async with kept(tmp_path, "us", "eu") as given:
        await removed(given)
        assert all(find(one, "Namespace", "shop") for one in given.clusters.values())

        with pytest.raises(refusals.Conflict, match="does not name"):
            await given.service.delete("team-a", ANA, confirm="team-b")
        assert all(find(one, "Namespace", "shop") for one in given.clusters.values())
        done = await given.service.delete("team-a", ANA, confirm="team-a")

        assert done.is_gone
        assert {one.cluster: one.deleted for one in done.clusters} == {
            "eu": ("shop",),
            "us": ("shop",),
        }
        for one in given.clusters.values():
            await until(one, lambda one=one: find(one, "Namespace", "shop") is None)


async def test_what_is_written_is_not_deleted(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        given.write(TEAM_A)
        await given.ready("team-a")

        with pytest.raises(refusals.Conflict, match="is written as it is"):
            await given.service.delete("team-a", ANA, confirm="team-a")


async def test_contents_of_others_stay_unless_it_is_said(tmp_path: Path) -> None:
    async with kept(tmp_path, "us", "eu") as given:
        us, eu = given.clusters["us"], given.clusters["eu"]
        await removed(given)
        put(us, {**DEPLOYMENT, "metadata": {"name": "web", "namespace": "shop"}}, "shop")
        eu.faults.change({"lost": "refuse"})

        done = await given.service.delete("team-a", ANA, confirm="team-a")

        left = {one.cluster: one.left[0].reason for one in done.clusters}
        assert not done.is_gone
        assert "still holds Deployment web" in left["us"]
        assert left["eu"]
        assert find(us, "ResourceQuota", "volary-quota", "shop")
        eu.faults.clear()
        again = await given.service.delete("team-a", ANA, confirm="team-a", with_contents=True)
        if not again.is_gone:  # the client of eu waits a moment before it asks again
            await given.on("team-a", "eu", "removed")
        await until(us, lambda: find(us, "Namespace", "shop") is None)


async def test_a_namespace_that_was_adopted_is_let_go_of(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        put(us, named("shop", labels={"keep": "me"}))
        given.write(TEAM_A.replace("{name: shop,", "{name: shop, adopt: true,"))
        await given.ready("team-a")
        given.write()
        await given.until("team-a", lambda one: one.status == "removed")

        done = await given.service.delete("team-a", ANA, confirm="team-a")

        assert done.is_gone
        namespace = find(us, "Namespace", "shop")
        assert namespace is not None
        assert namespace["metadata"]["labels"] == {
            "keep": "me",
            "kubernetes.io/metadata.name": "shop",
        }
        assert find(us, "ResourceQuota", "volary-quota", "shop") is None
        assert binding(us) is None


async def test_a_namespace_that_is_taken_out_waits_while_the_rest_is_kept(tmp_path: Path) -> None:
    async with kept(tmp_path, "us") as given:
        us = given.clusters["us"]
        given.write(TEAM_A.replace("namespaces: [{", "namespaces: [{name: shop-db}, {"))
        await given.ready("team-a")
        given.write(TEAM_A)
        known = await given.until("team-a", lambda one: bool(one.clusters[0].removed))

        assert [one.name for one in known.clusters[0].removed] == ["shop-db"]
        assert "waiting for confirmation" in known.reason
        done = await given.service.delete("team-a", ANA, confirm="team-a")

        assert done.clusters[0].deleted == ("shop-db",)
        assert not done.is_gone
        await until(us, lambda: find(us, "Namespace", "shop-db") is None)
        assert find(us, "Namespace", "shop")
        await given.ready("team-a")
