"""Whether so many of an application's clusters are away that a release waits for them. Pure.

A few lost clusters are left out and caught up later. When more than half are lost it is more
likely that the observer is cut off, and a release that only the rest has seen has not been tried
enough to be brought to the others without its pipeline.
"""

from volary.config import admission, crosscheck
from volary.model import application as applications
from volary.model import fleet, taints

_AWAY = (taints.NOT_READY, taints.UNREACHABLE)
_NAMED = 5


def why_wait(app: applications.Application, members: fleet.Fleet) -> str:
    """Return why a release waits, one sentence; empty: it does not."""
    there = [each for each in crosscheck.deployed(app, members) if not each.suspended]
    away = [each.name for each in there if _is_away(app, each)]
    if 2 * len(away) <= len(there):
        return ""
    named = ", ".join(away[:_NAMED]) + (" and more" if len(away) > _NAMED else "")
    return (
        f"{len(away)} of {len(there)} clusters are not ready or do not answer ({named}): a release"
        " goes on without half of its clusters at most"
    )


def _is_away(app: applications.Application, cluster: fleet.Cluster) -> bool:
    found = admission.keeping_away(app, cluster)
    return any(each.by == taints.RULE and each.key in _AWAY for each in found)
