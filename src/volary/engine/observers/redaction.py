"""Redaction: what is seen or stored of a run passes here before.

Only prose is cleaned, not names: a secret value may happen to be a cluster's name, and a run
whose names were removed could not go on.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import structs

from volary.engine.observers import feed
from volary.manifests import redaction
from volary.model import json
from volary.model.runs import run_records

#: Keys of documents that hold sentences, in the engine's and the feed's spelling.
PROSE = frozenset(
    {
        *("reason", "stop_reason", "left_out", "sentence", "details", "comment", "summary"),
        *("line", "subject", "message", "description", "warnings", "promoted", "exception"),
    }
)
#: Keys of objects that hold a sentence for each name.
_PROSE_BY_NAME = frozenset({"exceptions"})

#: More sentences, in what analyses find: queries may bear what a Secret holds.
_FINDING_PROSE = frozenset({"query"})


class RedactingObserver:
    """Gives events on to observers, without secret values in their texts."""

    def __init__(self, masker: redaction.Masker, observers: Sequence[feed.Observer]) -> None:
        self._masker = masker
        self._observers = tuple(observers)

    def notify(self, event: feed.RunEvent) -> None:
        """Clean the event and give it on."""
        clean = clean_event(self._masker, event)
        for observer in self._observers:
            observer.notify(clean)


def clean_event(masker: redaction.Masker, event: feed.RunEvent) -> feed.RunEvent:
    """Return the event as it may be seen."""
    if isinstance(event, feed.TaskFinding):
        return structs.replace(event, document=clean_finding(masker, dict(event.document)))
    changed: dict[str, object] = {}
    for name in _prose_fields(type(event)):
        value = getattr(event, name)
        if isinstance(value, Mapping):
            cleaned: object = _clean_by_name(masker, value)
        elif isinstance(value, str):
            cleaned = masker.clean(str(value))
        elif isinstance(value, tuple):
            cleaned = tuple(masker.clean(part) if type(part) is str else part for part in value)
        else:
            continue
        if cleaned != value:
            changed[name] = cleaned
    return structs.replace(event, **changed) if changed else event


@functools.cache
def _prose_fields(kind: type[feed.RunEvent]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name in PROSE | _PROSE_BY_NAME)


def clean_transition(
    masker: redaction.Masker, transition: run_records.Transition
) -> run_records.Transition:
    """Return the transition as it may be kept."""
    return replace(
        transition,
        head=replace(transition.head, reason=masker.clean(transition.head.reason)),
        document=transition.document and clean_document(masker, transition.document),
        stages=tuple(_clean_stage_or_task(masker, stage) for stage in transition.stages),
        tasks=tuple(_clean_stage_or_task(masker, task) for task in transition.tasks),
        feed=tuple(
            replace(entry, document=clean_document(masker, entry.document))
            for entry in transition.feed
        ),
        approvals=tuple(
            replace(approval, comment=masker.clean(approval.comment))
            for approval in transition.approvals
        ),
        origin=clean_document(masker, transition.origin),
    )


def clean_finding(masker: redaction.Masker, document: json.JsonObject) -> json.JsonObject:
    """Return what an analysis found as it may be seen."""
    return clean_document(masker, document, also=_FINDING_PROSE)


def clean_document(
    masker: redaction.Masker,
    document: json.JsonObject,
    *,
    also: frozenset[str] = frozenset(),
) -> json.JsonObject:
    """Return the document with its sentences cleaned, at any depth; `also` of more keys."""
    return {key: _clean_value(masker, key, value, also) for key, value in document.items()}


def clean_everything(masker: redaction.Masker, document: json.JsonObject) -> json.JsonObject:
    """Return a document that nothing goes on from, with every text in it cleaned."""
    return {key: _clean_every(masker, value) for key, value in document.items()}


def _clean_every(masker: redaction.Masker, value: object) -> object:
    if isinstance(value, str):
        return masker.clean(value)
    if isinstance(value, Mapping):
        return {key: _clean_every(masker, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_every(masker, element) for element in value]
    return value


def _clean_value(masker: redaction.Masker, key: str, value: object, also: frozenset[str]) -> object:
    if key in PROSE or key in also:
        return _clean_prose(masker, value)
    if key in _PROSE_BY_NAME and isinstance(value, Mapping):
        return _clean_by_name(masker, value)
    return _descend(masker, value)


def _clean_by_name(masker: redaction.Masker, reasons: Mapping[str, object]) -> dict[str, object]:
    return {name: _clean_prose(masker, reason) for name, reason in reasons.items()}


def _descend(masker: redaction.Masker, value: object) -> object:
    if isinstance(value, dict):
        return clean_document(masker, value)
    if isinstance(value, list | tuple):
        return [_descend(masker, element) for element in value]
    return value


def _clean_prose(masker: redaction.Masker, value: object) -> object:
    if isinstance(value, str):
        return masker.clean(value)
    if isinstance(value, list | tuple):
        return [_clean_prose(masker, element) for element in value]
    return _descend(masker, value)


StageOrTask = TypeVar("StageOrTask", run_records.StageRecord, run_records.TaskRecord)


def _clean_stage_or_task(masker: redaction.Masker, piece: StageOrTask) -> StageOrTask:
    return replace(
        piece,
        reason=masker.clean(piece.reason),
        document=clean_document(masker, piece.document),
    )
