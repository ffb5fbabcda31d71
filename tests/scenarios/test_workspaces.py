"""Workspaces on sandbox clusters: made, kept, changed, and deleted only when it is confirmed."""

from pathlib import Path

import pytest

import controller_world
import process_time
from volary.controller import refusals
from volary.model import errors
from workspace_world import RBAC, TEAM_A, TEAM_B, find, kept, life

ANA = controller_world.ANA


def _versions(given, *names: str) -> dict[str, str]:
    """Return the versions of all objects of workspaces, by cluster, kind and name."""
    return {
        f"{name}/{kind}/{body['metadata'].get('namespace')}/{body['metadata']['name']}": body[
            "metadata"
        ]["resourceVersion"]
        for name in names
        for version, kind in (
            ("v1", "Namespace"),
            ("v1", "ResourceQuota"),
            ("networking.k8s.io/v1", "NetworkPolicy"),
            (RBAC, "Role"),
            (RBAC, "RoleBinding"),
        )
        for body in given.clusters[name]
        .registry.list(given.clusters[name].registry.kind(version, kind), "")
        .items
        if "volary.dev/workspace" in body["metadata"].get("labels", {})
    }


async def test_it_comes_to_every_cluster(tmp_path: Path) -> None:
    async with kept(tmp_path, "us", "eu") as given:
        given.write(TEAM_A, TEAM_B)
        await given.ready("team-a", "team-b")

        for cluster in given.clusters.values():
            assert find(cluster, "Namespace", "shop")
            assert find(cluster, "ResourceQuota", "volary-quota", "pay")
            assert find(cluster, "RoleBinding", "volary-edit", "shop", version=RBAC)
