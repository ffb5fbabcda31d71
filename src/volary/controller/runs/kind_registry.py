"""All kinds of runs by name."""

from collections.abc import Mapping
from types import MappingProxyType

from volary.controller.runs import backfills, moves, releases, rollbacks, run_kinds
from volary.controller.status import run_requests

_ALL: tuple[run_kinds.RunKind, ...] = (
    releases.Release(),
    rollbacks.CommitRollback(),
    rollbacks.Rollback(),
    moves.Move(),
    backfills.Backfill(),
)
_BY_NAME: Mapping[run_requests.KindName, run_kinds.RunKind] = MappingProxyType(
    {kind.name: kind for kind in _ALL}
)


def kind_of(name: run_requests.KindName) -> run_kinds.RunKind:
    """Return the kind of this name; there is one for every name."""
    return _BY_NAME[name]
