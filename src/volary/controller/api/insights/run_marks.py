"""What marks a run's time line: decisions of people, traffic, verdicts, clusters lost and back.

Pure. What happens in many clusters at about the same time is one mark, so that a release on
hundreds of them is read like one on three; and there are never more marks than a bound.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.controller.api import analysis_representations, representations
from volary.model import phrases, statuses
from volary.model.runs import run_records
from volary.store import records

#: Events that marks are made of; of progress only that a cluster does not answer is kept.
EVENTS = ("rollback-started", "task-finished", "task-progressed", "task-started", "task-traffic")
#: What is one mark: the same in several clusters, not later than this after the first.
_TOGETHER = timedelta(minutes=1)
#: Marks of an answer: the first ones show how it began, the newest how it stands.
_MOST, _FIRST = 2_000, 400
_LOST, _BACK, _WEIGHTS = "lost", "back", "weights"
#: What people ask of a run, besides approvals, as the audit calls it, in words.
_DECISIONS = {
    "run.pause": ("paused", "paused the run"),
    "run.resume": ("resumed", "resumed the run"),
    "run.cancel": ("decision", "cancelled the run"),
    "run.abandon": ("decision", "ended the run as it was"),
    "run.retry": ("decision", "had the stage tried again"),
    "run.skip": ("decision", "went on without it"),
    "run.promote": ("decision", "promoted the wave"),
    "run.unfreeze": ("decision", "opened the windows"),
    "run.withdraw": ("decision", "withdrew the approval"),
    "application.pause": ("paused", "paused the application"),
    "application.resume": ("resumed", "resumed the application"),
}


class RunMark(representations.Representation, frozen=True):
    """Something at a moment of a run that is worth a look back."""

    at: datetime
    #: ``approved``, ``rejected``, ``paused``, ``resumed``, ``decision``, ``weights``, ``verdict``,
    #: ``lost``, ``back`` or ``rollback``.
    kind: str
    #: Such as ``ana approved: looks fine``.
    sentence: str
    #: Empty: it is about the whole run.
    stage: str
    clusters: tuple[str, ...]
    #: Of a verdict as in `analysis_representations.MetricVerdict`; else empty.
    result: str = ""


class RunMarks(representations.Representation, frozen=True):
    """The marks of a run's time line, in the order they happened."""

    run: str
    items: tuple[RunMark, ...]
    #: Beyond the bound, between the first ones and the newest.
    omitted: int


@dataclass(frozen=True, slots=True)
class _Told:
    """What events said about one or more clusters."""

    at: datetime
    kind: str
    stage: str
    clusters: tuple[str, ...]
    #: What was said; the same in each of the clusters.
    said: str


@dataclass(frozen=True, slots=True)
class Story:
    """What a run's events have told up to one of them: where reading goes on."""

    number: int = 0
    told: tuple[_Told, ...] = ()
    #: By stage and cluster: those that did not answer when they were heard of last.
    lost: frozenset[tuple[str, str]] = frozenset()
    #: By stage and cluster, the weights that were wanted last.
    weights: Mapping[tuple[str, str], str] = field(default_factory=dict)
    omitted: int = 0


def go_on(story: Story, events: Iterable[records.FeedEvent]) -> Story:
    """Return the story after more events, in the order they happened."""
    told, lost, weights = list(story.told), set(story.lost), dict(story.weights)
    number = story.number
    for event in events:
        number = event.number
        record = event.record
        place = (record.stage, record.target)
        match record.event:
            case "rollback-started":
                _add(told, _Told(record.at, "rollback", "", (), _word(record, "reason")))
            case "task-traffic":
                said = _split(record.document.get("wantedWeights"))
                if said and weights.get(place) != said:
                    weights[place] = said
                    _add(told, _of_task(record, _WEIGHTS, said))
            case "task-progressed" if place not in lost:
                lost.add(place)
                _add(told, _of_task(record, _LOST, _word(record, "sentence")))
            case "task-finished" if _is_lost(record) and place not in lost:
                lost.add(place)
                _add(told, _of_task(record, _LOST, _word(record, "reason")))
            case "task-started" if place in lost:
                lost.discard(place)
                _add(told, _of_task(record, _BACK, ""))
    shown = _shortened(told)
    omitted = story.omitted + len(told) - len(shown)
    return Story(number, shown, frozenset(lost), weights, omitted)


def _is_lost(record: run_records.EventRecord) -> bool:
    return record.document.get("status") == statuses.TaskStatus.UNREACHABLE.value


def _of_task(record: run_records.EventRecord, kind: str, said: str) -> _Told:
    return _Told(record.at, kind, record.stage, (record.target,), said)


def _add(told: list[_Told], new: _Told) -> None:
    """Add what is new, to what was told of other clusters a moment ago where it is the same."""
    for place in range(len(told) - 1, -1, -1):
        before = told[place]
        if new.at - before.at > _TOGETHER:
            break
        if (before.kind, before.stage, before.said) == (new.kind, new.stage, new.said):
            clusters = tuple(dict.fromkeys((*before.clusters, *new.clusters)))
            told[place] = replace(before, clusters=clusters)
            return
    told.append(new)


def _shortened(told: list[_Told]) -> tuple[_Told, ...]:
    if len(told) <= _MOST:
        return tuple(told)
    return (*told[:_FIRST], *told[-(_MOST - _FIRST) :])


def marks(
    run_id: str,
    story: Story,
    approvals: Iterable[run_records.ApprovalRecord],
    decisions: Iterable[records.AuditRecord],
    verdicts: Iterable[records.Finding],
) -> RunMarks:
    """Return the marks of a run.

    Args:
        run_id: Of the run.
        story: What its events told.
        approvals: Who agreed and who did not.
        decisions: What else people asked of it, as the audit has it.
        verdicts: What its analyses concluded.
    """
    found = [
        *map(_of_told, story.told),
        *map(_of_approval, approvals),
        *filter(None, map(_of_decision, decisions)),
        *map(_of_verdict, verdicts),
    ]
    found.sort(key=lambda mark: mark.at)
    shown = found if len(found) <= _MOST else [*found[:_FIRST], *found[-(_MOST - _FIRST) :]]
    return RunMarks(run_id, tuple(shown), story.omitted + len(found) - len(shown))


def _of_told(told: _Told) -> RunMark:
    where = phrases.join_names(told.clusters)
    match told.kind:
        case "weights":
            sentence = f"traffic of {where}: {told.said}"
        case "lost":
            verb = "does" if len(told.clusters) == 1 else "do"
            sentence = f"{where} {verb} not answer: {told.said}"
        case "back":
            sentence = f"{where} {'answers' if len(told.clusters) == 1 else 'answer'} again"
        case _:
            sentence = f"the rollback began: {told.said}"
    return RunMark(told.at, told.kind, sentence, told.stage, told.clusters)


def _of_approval(given: run_records.ApprovalRecord) -> RunMark:
    word = "approved" if given.approved else "rejected"
    about = f" {given.group}" if given.group else ""
    sentence = f"{given.by} {word}{about}{_after(given.comment)}"
    return RunMark(given.at, word, sentence, given.stage, ())


def _of_decision(entry: records.AuditRecord) -> RunMark | None:
    if entry.action not in _DECISIONS or entry.result != "ok":
        return None
    kind, words = _DECISIONS[entry.action]
    reason = entry.document.get("reason")
    target = entry.document.get("target")
    clusters = (target,) if isinstance(target, str) and target else ()
    if entry.action == "run.skip":
        words = f"went on without {target}" if clusters else "ended the stage early"
    sentence = f"{entry.by} {words}{_after(reason if isinstance(reason, str) else '')}"
    return RunMark(entry.at, kind, sentence, "", clusters)


def _of_verdict(finding: records.Finding) -> RunMark:
    document = finding.document
    said = value if isinstance(value := document.get("sentence"), str) else ""
    result = analysis_representations.result_of(document)
    # What was said begins with what it is of, and names the cluster where it is about one.
    about = said or " ".join(filter(None, (finding.metric, result)))
    is_named = not finding.target or f" {finding.target}:" in said
    sentence = about if is_named else f"{about} ({finding.target})"
    clusters = (finding.target,) if finding.target else ()
    return RunMark(finding.at, "verdict", sentence, finding.stage, clusters, result)


def _after(reason: str) -> str:
    return f": {reason}" if reason else ""


def _word(record: run_records.EventRecord, key: str) -> str:
    value = record.document.get(key)
    return value if isinstance(value, str) else ""


def _split(weights: object) -> str:
    """Return ``canary 10, primary 90``; empty: they are none."""
    if not isinstance(weights, Mapping):
        return ""
    return ", ".join(
        f"{name} {share}" for name, share in sorted(weights.items()) if isinstance(share, int)
    )
