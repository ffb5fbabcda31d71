"""All kinds of runs by name."""

from collections.abc import Mapping
from types import MappingProxyType

from volary.controller.runs import backfills, moves, releases, repairs, rollbacks, run_kinds
from volary.controller.status import run_requests

_ALL: tuple[run_kinds.RunKind, ...] = (
    releases.Release(),
    rollbacks.CommitRollback(),
    rollbacks.Rollback(),
    moves.Move(),
    backfills.Backfill(),
    repairs.Repair(),
)
#: There is one for every name.
BY_NAME: Mapping[run_requests.KindName, run_kinds.RunKind] = MappingProxyType(
    {kind.name: kind for kind in _ALL}
)
