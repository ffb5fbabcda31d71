"""Kinds of whose health nothing is known, said before a run goes on without waiting for them. Pure.

Whether a controller writes the usual conditions shows only in a live object, so a kind is
named unless one of its objects there can be judged.
"""

from collections.abc import Sequence

from volary.clusters import steps
from volary.manifests import health
from volary.model import health as healths
from volary.model import manifest


def warnings(foreseen: Sequence[steps.Foreseen], rules: Sequence[healths.Rule]) -> tuple[str, ...]:
    """Return a sentence for each kind, by name."""
    found: dict[tuple[str, str], bool] = {}
    for each in foreseen:
        body = each.after or each.before
        if body is None or health.is_ruled(manifest.Manifest(body), rules):
            continue
        item = manifest.Manifest(body)
        judged = each.before is not None and health.assess(each.before, rules).ruled
        found[item.group, item.kind] = found.get((item.group, item.kind), False) or judged
    return tuple(
        f"no rule says when a {kind} ({group}) is healthy: unless its controller writes a"
        " condition such as Ready, stages go on once it is there; give a rule under `health` of"
        " the application or the fleet file"
        for (group, kind), judged in sorted(found.items())
        if not judged
    )
