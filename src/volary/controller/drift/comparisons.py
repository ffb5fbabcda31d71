"""An application compared with Git, as people may see it: redacted, bounded, in sentences. Pure."""

import json as json_text
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from volary.clusters.observe import drifts
from volary.controller.status import drift_states
from volary.manifests import redaction
from volary.manifests.drift import differences
from volary.manifests.ownership import field_sets
from volary.model import drift_rules, phrases
from volary.model.objects import manifest

#: Told of one cluster, of one object, and characters of one value.
MOST_OBJECTS = 200
MOST_DIFFERENCES = 50
LONGEST_VALUE = 4000
ABSENT = differences.ABSENT
_Word = drift_states.SyncWord


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field, as it may be seen. A side is `ABSENT` when there is no such field."""

    path: str
    wanted: object
    live: object
    owners: tuple[differences.Owner, ...]


@dataclass(frozen=True, slots=True)
class ObjectDrift:
    """One object that is not as Git says."""

    key: manifest.ResourceKey
    verb: drifts.Verb
    differences: tuple[FieldDifference, ...] = ()
    #: Differences beyond the bound.
    omitted: int = 0
    #: When it may have come to be; None: nobody knows.
    since: datetime | None = None

    @property
    def reason(self) -> str:
        """What is not as Git says, and who did it."""
        match self.verb:
            case drifts.Verb.MISSING:
                return "Git has it, and the cluster lacks it"
            case drifts.Verb.EXTRA:
                return "it is the application's, and Git does not have it"
            case drifts.Verb.DIFFERS:
                first, *others = self.differences
                more = len(others) + self.omitted
                return describe(first) + (f"; {phrases.count(more, 'field')} more" if more else "")

    @property
    def sentence(self) -> str:
        """The same with the object's name."""
        if self.verb is drifts.Verb.DIFFERS:
            return f"{self.key.title}: {self.reason}"
        return f"{self.key.title} is {'missing' if self.verb is drifts.Verb.MISSING else 'extra'}"


@dataclass(frozen=True, slots=True)
class ClusterComparison:
    """One cluster compared with Git."""

    name: str
    status: drift_states.SyncWord
    reason: str
    #: The commit that it is compared with.
    commit: str = ""
    compared: datetime | None = None
    objects: tuple[ObjectDrift, ...] = ()
    #: Objects that somebody else claims as well: nothing is repaired beside them.
    shared: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether its objects could be compared."""
        return self.status in (_Word.IN_SYNC, _Word.OUT_OF_SYNC)

    @property
    def verbs(self) -> dict[manifest.ResourceKey, drifts.Verb]:
        """How objects that are not as Git says are not."""
        return {one.key: one.verb for one in self.objects}

    @property
    def fields(self) -> frozenset[str]:
        """What a repair would change, to tell whether it is the same again."""
        return frozenset(
            f"{self.name} {one.key} {path}"
            for one in self.objects
            if one.verb is not drifts.Verb.EXTRA
            for path in ([each.path for each in one.differences] or [""])
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """An application compared with Git."""

    application: str
    commit: str
    mode: drift_rules.DriftMode
    #: Between the beginnings of two repairs, at least.
    window: timedelta
    at: datetime
    clusters: tuple[ClusterComparison, ...] = ()
    #: Why nothing could be compared, one sentence; empty: it could.
    problem: str = ""

    @property
    def status(self) -> drift_states.SyncWord:
        """How all of them compare: what somebody has to look at counts most."""
        if self.mode is drift_rules.DriftMode.OFF:
            return _Word.OFF
        known = {cluster.status for cluster in self.clusters}
        for word in (_Word.OUT_OF_SYNC, _Word.RUNNING, _Word.UNKNOWN):
            if word in known:
                return word
        return _Word.UNKNOWN if self.problem or not known else _Word.IN_SYNC

    @property
    def reason(self) -> str:
        """One sentence over all clusters."""
        return self.problem or summarize(self.clusters)


def changed(
    before: Comparison | None, after: Comparison
) -> dict[str, frozenset[manifest.ResourceKey] | None]:
    """Return by cluster the objects that compare otherwise than before; None: all of them."""
    known = {one.name: one for one in before.clusters} if before is not None else {}
    found: dict[str, frozenset[manifest.ResourceKey] | None] = {}
    for one in after.clusters:
        last = known.get(one.name)
        if one.is_known != (last is not None and last.is_known):
            found[one.name] = None
        elif last is not None and (differs := last.verbs.items() ^ one.verbs.items()):
            found[one.name] = frozenset(key for key, _ in differs)
    return found


def summarize(clusters: Sequence[ClusterComparison]) -> str:
    """Return one sentence over clusters; those that are out of sync count most."""
    drifted = [one for one in clusters if one.status is _Word.OUT_OF_SYNC]
    told = drifted or [one for one in clusters if one.status is not _Word.IN_SYNC]
    return _reason_of_several(told) if told else "every object is as Git says"


def _reason_of_several(clusters: Sequence[ClusterComparison]) -> str:
    """Say the reason of the first, with all that share it, and where there are others."""
    first = clusters[0].reason
    same = phrases.first_of([one.name for one in clusters if one.reason == first])
    others = phrases.first_of([one.name for one in clusters if one.reason != first])
    return f"{same}: {first}" + (f"; something else in {others}" if others else "")


def of_cluster(
    name: str,
    commit: str,
    found: drifts.ClusterDrift,
    masker: redaction.Masker,
    now: datetime,
) -> ClusterComparison:
    """Return what may be seen of what was found in one cluster."""
    objects = tuple(_object(one, masker) for one in found.objects[:MOST_OBJECTS])
    shared = tuple(key.title for key in found.shared)
    if objects:
        more = len(found.objects) - 1
        reason = objects[0].sentence + (f"; {phrases.count(more, 'object')} more" if more else "")
        return ClusterComparison(name, _Word.OUT_OF_SYNC, reason, commit, now, objects, shared)
    if found.warnings:
        reason = masker.clean(f"not everything could be compared: {found.warnings[0]}")
        return ClusterComparison(name, _Word.UNKNOWN, reason, commit, now, (), shared)
    count = phrases.count(found.compared, "object")
    return ClusterComparison(name, _Word.IN_SYNC, f"{count} as Git says", commit, now, (), shared)


def _object(found: drifts.DriftedObject, masker: redaction.Masker) -> ObjectDrift:
    body = found.wanted or found.live or {"kind": found.key.kind}
    shown = tuple(_difference(one, body, masker) for one in found.fields[:MOST_DIFFERENCES])
    since = [one.since for one in found.fields if one.since is not None]
    return ObjectDrift(
        found.key,
        found.verb,
        shown,
        max(0, len(found.fields) - MOST_DIFFERENCES),
        min(since, default=None),
    )


def _difference(
    found: differences.Difference, body: dict[str, Any], masker: redaction.Masker
) -> FieldDifference:
    hidden = redaction.is_redacted(body, found.steps)
    wanted, live = (
        side if side is ABSENT else redaction.MASK if hidden else _bounded(side, masker)
        for side in (found.wanted, found.live)
    )
    owners = tuple(
        differences.Owner(masker.clean(owner.manager), owner.operation, owner.since)
        for owner in found.owners
    )
    return FieldDifference(masker.clean(found.shown_path), wanted, live, owners)


def _bounded(value: object, masker: redaction.Masker) -> object:
    text = value if isinstance(value, str) else json_text.dumps(value, default=str)
    cleaned = masker.clean(text)
    if len(cleaned) > LONGEST_VALUE:
        more = len(cleaned) - LONGEST_VALUE
        return f"{cleaned[:LONGEST_VALUE]} … ({more} characters more)"
    return value if cleaned == text else cleaned


def describe(difference: FieldDifference) -> str:
    """Say one difference: ``spec.replicas is 5, Git says 3 (kubectl, 12:00:01)``."""
    live, wanted = (field_sets.shown_value(side) for side in (difference.live, difference.wanted))
    if difference.live is ABSENT:
        told = f"{difference.path} is missing, Git says {wanted}"
    elif difference.wanted is ABSENT:
        told = f"{difference.path} is {live}, Git does not say it"
    else:
        told = f"{difference.path} is {live}, Git says {wanted}"
    by = managers([difference])
    return f"{told} (by {by})" if by else told


def managers(found: Iterable[FieldDifference]) -> str:
    """Return who has fields now, besides us: ``kubectl-edit, scaler``."""
    names = dict.fromkeys(one.owners[0].manager for one in found if one.owners)
    return phrases.first_of(list(names)) if names else ""
