"""Carries out what people ask for about clusters: marks made and taken away by hand."""

from collections.abc import Iterable
from datetime import datetime

from volary.controller import register
from volary.model import attendance as words
from volary.model import errors, fleet, record, taints
from volary.placement import attendance
from volary.store import records


async def answer(
    request: records.RequestRecord,
    known: register.Register,
    now: datetime,
    *,
    fence: record.Fence | None,
) -> str:
    """Do what a request asks for; returns why not, or nothing.

    Raises:
        errors.TemporaryError: The database cannot be written now.
    """
    said = request.document
    name = said.get("cluster", "")
    member = next((each for each in known.members.clusters if each.name == name), None)
    if member is None:
        return f"there is no cluster {name} in the fleet"
    refused, change = _decide(request, member, known.of(name), now)
    return refused or await known.change(name, change, fence=fence)


def _decide(
    request: records.RequestRecord, member: fleet.Cluster, known: words.Attendance, now: datetime
) -> tuple[str, register.Change]:
    said, by = request.document, request.by
    reason = said.get("reason", "")
    match said.get("action", ""):
        case "cordon":
            refused = _already(member, known.cordon, "cordoned")
            change = _marking([_by_hand(taints.CORDONED, by, reason, now)])
        case "drain":
            refused = _already(member, known.drain, "drained")
            cordon = known.cordon or _by_hand(taints.CORDONED, by, reason, now)
            drain = _by_hand(taints.DRAINED, by, reason, now, taints.Effect.NO_EXECUTE)
            change = _marking([cordon, drain])
        case "uncordon":
            refused = "" if known.cordon or known.drain else f"{member.name} is not cordoned"
            change = _taking_away([taints.CORDONED, taints.DRAINED])
        case "taint":
            effect = taints.Effect(said["effect"])
            mark = taints.Taint(said["key"], said.get("value", ""), effect, now, by, reason)
            refused, change = "", _marking([mark])
        case "untaint":
            refused, change = _untaint(member, known, said["key"], said.get("effect", ""))
        case unknown:
            raise errors.PermanentError(f"nobody knows how to {unknown} a cluster")
    return refused, change


def _already(member: fleet.Cluster, mark: taints.Taint | None, what: str) -> str:
    return f"{member.name} is already {what} by {_who(mark)}" if mark else ""


def _untaint(
    member: fleet.Cluster, known: words.Attendance, key: str, effect: str
) -> tuple[str, register.Change]:
    wanted = taints.Effect(effect) if effect else None

    def meant(each: taints.Taint) -> bool:
        return each.key == key and wanted in (None, each.effect)

    title = f"{key}:{effect}" if effect else key
    found = [each for each in known.taints if meant(each)]
    if any(each.by != taints.RULE for each in found):
        return "", _taking_away([key], wanted)
    if found:
        return f"{title} follows from how {member.name} is: {found[0].reason}", _nothing
    if any(map(meant, member.taints)):
        return f"{title} is written in the fleet file", _nothing
    return f"{member.name} has no taint {title}", _nothing


def _marking(marks: list[taints.Taint]) -> register.Change:
    return lambda known: attendance.taint(known, marks)


def _taking_away(keys: Iterable[str], effect: taints.Effect | None = None) -> register.Change:
    def change(known: words.Attendance) -> words.Attendance:
        for key in keys:
            known = attendance.untaint(known, key, effect)
        return known

    return change


def _nothing(known: words.Attendance) -> words.Attendance:
    return known


def _by_hand(
    key: str,
    by: str,
    reason: str,
    now: datetime,
    effect: taints.Effect = taints.Effect.NO_SCHEDULE,
) -> taints.Taint:
    return taints.Taint(key, "", effect, now, by, reason)


def _who(taint: taints.Taint) -> str:
    return f"{taint.by}: {taint.reason}" if taint.reason else taint.by
