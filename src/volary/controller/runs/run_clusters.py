"""The clusters of a run as they were described when it began; kept with it. Pure.

A run goes on with what it was planned with. A cluster that was relabelled since is rendered for as
it was, until the next run; one that left the fleet can still be reached, as long as its kubeconfig
is there; of one that is still in the fleet, how it is reached is taken from the fleet as it is now,
so that new credentials count at once. No credentials are kept, only where they are.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from volary.model import json
from volary.model.fleet import fleets

_MEMBERS = "members"
_DEFAULT = msgspec.to_builtins(fleets.Cluster(""))


def to_document(members: Sequence[fleets.Cluster]) -> json.JsonObject:
    """Return clusters as JSON, without what nobody wrote."""
    return {
        _MEMBERS: [
            {name: value for name, value in whole.items() if value != _DEFAULT[name]}
            for whole in map(msgspec.to_builtins, members)
        ]
    }


def from_document(document: json.JsonObject) -> tuple[fleets.Cluster, ...]:
    """Read clusters; nothing where none were kept."""
    return json.convert(document.get(_MEMBERS, ()), tuple[fleets.Cluster, ...])


def pinned(members: fleets.Fleet, kept: Sequence[fleets.Cluster]) -> fleets.Fleet:
    """Return the fleet as a run sees it: its own clusters as they were, the others as they are."""
    before = {cluster.name: cluster for cluster in kept}
    here = [_as_before(cluster, before.pop(cluster.name, None)) for cluster in members.clusters]
    return replace(members, clusters=(*here, *before.values()))


def _as_before(now: fleets.Cluster, before: fleets.Cluster | None) -> fleets.Cluster:
    if before is None:
        return now
    how = {name: getattr(now, name) for name in fleets.CONNECTION}
    return dataclasses.replace(before, taints=now.taints, suspended=now.suspended, **how)
