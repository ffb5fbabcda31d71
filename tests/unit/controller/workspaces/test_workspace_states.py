"""What is stored of workspaces, and what is taken of those that are written: pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.controller.workspaces import cluster_workspaces, workspace_states
from volary.manifests.ownership import tracking
from volary.model import errors, json, workspaces
from volary.model.fleet import fleets
from volary.model.placement import rollouts
from volary.store import records

NOW = datetime(2026, 11, 23, tzinfo=UTC)
US = fleets.Cluster("us", labels={"env": "prod"})
EU = fleets.Cluster("eu", labels={"env": "dev"})
SHOP = workspaces.Workspace(
    name="team-a",
    project="team-a",
    clusters=rollouts.ClusterSelector(match_labels={"env": "prod"}),
    namespaces=(workspaces.WorkspaceNamespace("shop"),),
    members=(workspaces.Member(group="a", role=workspaces.MemberRole.EDIT),),
    quota=workspaces.Quota({"pods": 10}),
)
READY = workspace_states.ClusterState(
    workspace_states.ClusterWord.READY, since=NOW, namespaces=("shop", "old"), digest="d"
)
STATE = workspace_states.WorkspaceState(SHOP, {"us": READY})


def test_it_is_stored_and_read_again() -> None:
    record = workspace_states.to_record(replace(STATE, removed=NOW), NOW)

    assert (record.name, record.project) == ("team-a", "team-a")
    assert workspace_states.from_record(record) == replace(STATE, removed=NOW)


def test_what_cannot_be_read_is_an_error() -> None:
    record = records.WorkspaceRecord("team-a", document={"workspace": 5})
    with pytest.raises(errors.UserError, match="workspace team-a cannot be read"):
        workspace_states.from_record(record)
    with pytest.raises(errors.UserError, match="half of it"):
        workspace_states.from_record(replace(record, unreadable="half of it"))


def test_what_is_not_written_is_removed_once() -> None:
    later = NOW + timedelta(hours=1)
    removed = workspace_states.take({"team-a": STATE}, [], NOW)

    assert removed["team-a"].removed == NOW
    assert workspace_states.take(removed, [], later) == removed


def test_what_comes_back_is_not_removed_any_more() -> None:
    removed = workspace_states.take({"team-a": STATE}, [], NOW)

    assert workspace_states.take(removed, [SHOP], NOW) == {"team-a": STATE}


def test_what_was_never_begun_is_forgotten() -> None:
    known = {"team-a": workspace_states.WorkspaceState(SHOP)}

    assert workspace_states.take(known, [], NOW) == {}


@pytest.mark.parametrize(
    ("state", "members", "left"),
    [
        (STATE, (US, EU), ("old",)),
        (replace(STATE, removed=NOW), (US, EU), ("shop", "old")),
        # It has other labels now, or has left the fleet.
        (STATE, (replace(US, labels={}),), ("shop", "old")),
        (STATE, (EU,), ("shop", "old")),
    ],
)
def test_left_is_what_is_not_written_there(
    state: workspace_states.WorkspaceState,
    members: tuple[fleets.Cluster, ...],
    left: tuple[str, ...],
) -> None:
    assert state.left_on("us", members) == left


def namespace(**metadata: object) -> json.JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", **metadata}}


def owned_by(name: str) -> json.JsonObject:
    owner = workspaces.owner_of(name)
    marks = {
        tracking.MANAGED_BY: tracking.VOLARY,
        tracking.APPLICATION: owner.name,
        tracking.APPLICATION_ID: owner.id,
    }
    return namespace(labels=tracking.owner_labels(owner), annotations=marks)


ADOPTING = workspaces.WorkspaceNamespace("shop", adopt=True)
PLAIN = workspaces.WorkspaceNamespace("shop")
HELM = {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"}


@pytest.mark.parametrize(
    ("wanted", "live", "said"),
    [
        (PLAIN, None, ""),
        (PLAIN, owned_by("team-a"), ""),
        (PLAIN, namespace(), "namespace shop was there before"),
        (ADOPTING, namespace(), ""),
        (ADOPTING, namespace(deletionTimestamp="now"), "namespace shop is being deleted"),
        (ADOPTING, owned_by("team-b"), "belongs to Volary's workspace team-b"),
        (ADOPTING, namespace(annotations=HELM), "belongs to the Helm release n/r"),
    ],
)
def test_whose_a_namespace_is_decides(
    wanted: workspaces.WorkspaceNamespace, live: json.JsonObject | None, said: str
) -> None:
    refusal = cluster_workspaces.refusal_of_namespace(wanted, live, SHOP.owner)

    assert bool(refusal) is bool(said)
    assert said in refusal
