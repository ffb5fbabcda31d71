"""Redaction: what is seen or stored of a run passes here before.

Only prose is cleaned, not names: a secret value may happen to be a cluster's name, and a run
whose names were removed could not go on. `Secrets` are the values of the process itself, also
those that are learnt late.
"""

from collections.abc import Iterable, Mapping, Sequence
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

#: Secret values of one application, those of earlier commits included.
_MOST_VALUES = 20_000


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
    for name in event.__struct_fields__:
        if name not in PROSE | _PROSE_BY_NAME:
            continue
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


class SecretValues:
    """The secrets of the process itself, such as those of its metric systems, and those that
    came to light when applications were rendered.

    The latter are masked in what is said about their application, and in the log: what one
    repository calls secret does not take words out of what is said about another.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = dict.fromkeys(values)
        self._process = redaction.Masker(self._values)
        self._applications: dict[str, redaction.Masker] = {}

    @property
    def values(self) -> tuple[str, ...]:
        """All that are known of the process itself."""
        return tuple(self._values)

    def learn(self, value: str) -> None:
        """Learn one more; maskers that are in use know it from now on."""
        self._values[value] = None
        self._process.add(value)

    def learn_values(self, values: Iterable[object]) -> None:
        """Learn more of the process itself: strings and numbers, also inside of lists."""
        self._process.learn_values(values)

    def learn_of(self, application: str, values: Iterable[object]) -> None:
        """Learn what is secret in an application; its maskers know it from now on."""
        known = self._of(application)
        known.learn_values(values)
        known.keep_newest(_MOST_VALUES)

    def masker(self, application: str = "") -> redaction.Masker:
        """Return a new masker that knows all of them, also those that are learnt later.

        Args:
            application: Whose secrets it knows as well; empty: those of none.
        """
        beside = [self._process]
        if application:
            beside.append(self._of(application))
        return redaction.Masker(beside=beside)

    def clean(self, text: str) -> str:
        """Return a text of the log without any secret that is known."""
        return redaction.Masker(beside=(self._process, *self._applications.values())).clean(text)

    def _of(self, application: str) -> redaction.Masker:
        return self._applications.setdefault(application, redaction.Masker())
