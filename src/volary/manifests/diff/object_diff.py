"""Two sets of objects side by side: what is added, deleted and changed.

Secrets are brought to one form first (``stringData`` is what the API server turns into
``data``), and metadata that only says who deployed what is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.manifests.diff import value_diff
from volary.manifests.loading import object_keys
from volary.manifests.ownership import tracking
from volary.manifests.workloads import config_references, secret_data
from volary.model import json
from volary.model.objects import manifest


@dataclass(frozen=True, slots=True)
class Changed:
    """An object on both sides, with what differs; `items` is never empty."""

    old: manifest.Manifest
    new: manifest.Manifest
    items: tuple[value_diff.Item, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two sets, each part sorted by normalised key."""

    deleted: tuple[manifest.Manifest, ...] = ()
    added: tuple[manifest.Manifest, ...] = ()
    changed: tuple[Changed, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing differs."""
        return not (self.deleted or self.added or self.changed)

    @property
    def summary(self) -> str:
        """``1 added manifests, 0 changed manifests, 0 deleted manifests`` (PipeCD)."""
        if self.is_empty:
            return "No changes were detected"
        return (
            f"{len(self.added)} added manifests, {len(self.changed)} changed manifests, "
            f"{len(self.deleted)} deleted manifests"
        )


def compare(old: Sequence[manifest.Manifest], new: Sequence[manifest.Manifest]) -> Comparison:
    """Compare two sets of objects by their normalised keys, as for a preview."""
    before, after = object_keys.index(old), object_keys.index(new)
    return Comparison(
        deleted=tuple(before[key] for key in sorted(before.keys() - after.keys())),
        added=tuple(after[key] for key in sorted(after.keys() - before.keys())),
        changed=tuple(
            Changed(before[key], after[key], tuple(items))
            for key in sorted(before.keys() & after.keys())
            if (items := compare_pair(before[key], after[key], rules=value_diff.PREVIEW))
        ),
    )


def compare_pair(
    old: manifest.Manifest, new: manifest.Manifest, *, rules: value_diff.Rules = value_diff.PLAIN
) -> list[value_diff.Item]:
    """Return what differs between two forms of one object, without tracking metadata."""
    return value_diff.compare(_comparable(old), _comparable(new), rules)


def _comparable(item: manifest.Manifest) -> json.JsonObject:
    body = tracking.untrack(item).body
    return secret_data.with_one_data(body) if config_references.is_secret(item) else body
