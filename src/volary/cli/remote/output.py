"""What answers look like: aligned text, wide text, JSON or YAML."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
import yaml
from rich import markup

from volary.cli import console, durations, exit_codes, forms
from volary.cli.run import reasons
from volary.controller import system_clock
from volary.model import json, phrases, projects, safe_text
from volary.model.fleet import taints
from volary.model.objects import manifest


def status_reason(cluster: json.JsonObject) -> str:
    """Return why a cluster is as it is, and who keeps new work away from it and why.

    What a rule about the cluster's state marks says nothing more than that state.
    """
    marks = json.convert(cluster.get("taints", ()), list[taints.Taint])
    said = taints.explain([mark for mark in marks if mark.by != taints.BY_RULE])
    return "; ".join(part for part in (cluster.get("reason", ""), said) if part)


#: Column title, key in the answer, whether only wide text has it.
_COLUMNS: dict[forms.Noun, tuple[tuple[str, str, bool], ...]] = {
    "apps": (
        ("NAME", "name", False),
        ("STATUS", "status", False),
        ("COMMIT", "runningCommit", False),
        ("HEAD", "head", False),
        ("RUN", "run", False),
        ("REASON", "reason", False),
        ("MISSING", "missing", True),
        ("REPOSITORY", "repository", True),
        ("PATH", "path", True),
        ("LABELS", "labels", True),
    ),
    "runs": (
        ("RUN", "id", False),
        ("APPLICATION", "application", False),
        ("STATUS", "status", False),
        ("COMMIT", "commit", False),
        ("AGE", "started", False),
        ("REASON", "reason", False),
        ("TRIGGER", "trigger", True),
        ("BY", "by", True),
        ("STRATEGY", "strategy", True),
        ("CLUSTERS", "targets", True),
    ),
    "clusters": (
        ("NAME", "name", False),
        ("STATUS", "status", False),
        ("FOR", "since", False),
        ("VERSION", "version", False),
        ("APPS", "applications", False),
        ("FREE", "free", False),
        ("TAINTS", "taints", False),
        ("REASON", "reason", False),
        ("CHANGING", "changing", True),
        ("LABELS", "labels", True),
        ("NAMESPACES", "namespaces", True),
    ),
    "servers": (
        ("NAME", "name", False),
        ("ADDRESS", "address", False),
        ("LEADS", "isLeader", False),
        ("VERSION", "version", False),
        ("AGE", "started", False),
        ("SEEN", "lastSeen", False),
        ("SCHEMA", "revision", True),
    ),
}
#: Runs, and applications, that may want a person.
_WORTH_A_LOOK = ("running", "waiting", "rolling_back", "failed", "out_of_sync", "broken")
#: So many clusters are named in a status.
_FEW = 2
_LONGEST = 60
#: Reasons come last, or nearly so.
_LONGEST_REASON = 160


def show_list(noun: forms.Noun, items: Sequence[json.JsonObject], form: forms.Form) -> None:
    """Write a list."""
    if form.is_document:
        show(list(items), form)
        return
    columns = [column for column in _COLUMNS[noun] if form is forms.Form.WIDE or not column[2]]
    if noun == "apps" and any(
        item.get("project", projects.DEFAULT) != projects.DEFAULT for item in items
    ):
        columns.insert(1, ("PROJECT", "project", False))
    rows = [[title for title, _, _ in columns]]
    if noun == "clusters":
        items = [{**item, "reason": status_reason(item), **_facts_cells(item)} for item in items]
    if noun == "apps":
        items = [
            {**item, "status": _status(item), "reason": _status_reason(item)} for item in items
        ]
    now = system_clock.SystemClock().now()
    rows += [[_cell(key, item.get(key), form, now) for _, key, _ in columns] for item in items]
    console.write_lines(console.aligned(rows))
    if noun in ("apps", "runs"):
        key = "name" if noun == "apps" else "id"
        _tell_how_to_explain([item[key] for item in items if item.get("status") in _WORTH_A_LOOK])


def _facts_cells(cluster: json.JsonObject) -> json.JsonObject:
    """Return what a cluster is made of, as cells of the list."""
    facts = cluster.get("facts") or {}
    return {
        "version": facts.get("version", ""),
        "free": _room(facts.get("free"), facts.get("capacity")),
    }


def _room(free: json.JsonObject | None, whole: json.JsonObject | None) -> str:
    """Return what is left: ``12 of 110 pods, 3.5 of 8 cores, 6.0 of 16.0 GiB``; empty: unknown."""
    if whole is None:
        return ""
    shown = []
    for name, unit, scale in (("pods", "pods", 1), ("cpu", "cores", 1), ("memory", "GiB", 2**30)):
        left = "?" if free is None else _amount(free[name] / scale)
        shown.append(f"{left} of {_amount(whole[name] / scale)} {unit}")
    return ", ".join(shown)


def _amount(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _tell_how_to_explain(names: Sequence[str]) -> None:
    """Say, beside a list, how to find out about what somebody may want to look at."""
    if names:
        more = f" (and {len(names) - 1} more)" if names[1:] else ""
        console.tell(f"type volary explain {names[0]}{more}: why, and what can be done")


def _status(application: json.JsonObject) -> str:
    """Return the status of an application, with the clusters that miss what it has reached."""
    status, lacking = str(application.get("status") or ""), list(application.get("missing") or ())
    if status != "synced" or not lacking:
        return status
    who = ", ".join(lacking) if len(lacking) <= _FEW else f"{len(lacking)} clusters"
    return f"{status} except {who}"


def _status_reason(application: json.JsonObject) -> str:
    """Return why an application has its status, and what a new run of it waits for.

    What a run under way waits for says more than why it began.
    """
    waiting = application.get("waiting") or {}
    held = waiting.get("waitingReason") or application.get("paused", "")
    held = held or application.get("unowned", "")
    why = application.get("cause") or application.get("reason", "")
    return "; ".join(dict.fromkeys(part for part in (why, held) if part))


def answer(body: Any, form: forms.Form, write_text: Callable[[], None]) -> exit_codes.Exit:
    """Write one answer in the form that was asked for; returns the exit code."""
    if form.is_document:
        show(body, form)
    else:
        write_text()
    return exit_codes.Exit.DONE


def show(body: Any, form: forms.Form) -> None:
    """Write one answer as JSON or YAML."""
    if form is forms.Form.YAML:
        console.write(yaml.safe_dump(body, sort_keys=False, allow_unicode=True))
    else:
        console.write(safe_text.escaped(msgspec.json.format(msgspec.json.encode(body)).decode()))


def _cell(key: str, value: object, form: forms.Form, now: datetime) -> str:
    text = _text(value)
    if key in ("since", "started", "lastSeen") and text:
        text = durations.age(text, now)
    if key in ("runningCommit", "head", "commit"):
        text = text[:7]
    most = _LONGEST_REASON if key == "reason" else _LONGEST
    if form is not forms.Form.WIDE and len(text) > most:
        text = text[: most - 1] + "…"
    return text or "-"


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case dict():
            return ",".join(f"{name}={label}" for name, label in value.items())
        case list():
            return ",".join(
                taint(element) if isinstance(element, dict) else str(element) for element in value
            )
        case _:
            return str(value)


def _moment(stamp: str | None) -> str:
    """Return a moment with its age: ``2026-11-21T16:37:11Z (4m12s ago)``."""
    if not stamp:
        return ""
    return f"{stamp[:19]}Z ({durations.age(stamp, system_clock.SystemClock().now())} ago)"


def taint(mark: json.JsonObject) -> str:
    """Return a mark of a cluster as kubectl writes it."""
    return str(json.convert(mark, taints.Taint))


def describe_cluster(cluster: json.JsonObject) -> None:
    """Write everything about a cluster that matters to people."""
    for name in ("name", "status", "since", "reason", "changing", "region", "labels"):
        shown = _moment if name == "since" else _text
        _pair(name, shown(cluster[name]))
    cells = _facts_cells(cluster)
    _pair("version", cells["version"])
    _pair("applications", _text(cluster.get("applications")))
    _pair("free", cells["free"])
    for mark in cluster["taints"]:
        since = f" since {_moment(mark['since'])}" if mark["since"] else ""
        reason = f": {mark['reason']}" if mark["reason"] else ""
        _pair("taint", f"{taint(mark)} by {mark['by']}{since}{reason}")


def describe_run(run: json.JsonObject) -> None:
    """Write everything about a run that matters to people."""
    data, summary = console.results(), run["summary"]
    for name in ("id", "application", "commit", "runningCommit", "subject"):
        _pair(name, summary[name])
    explain_run(run)
    _pair("windows", run["unfrozen"])
    for entry in run["replicas"]:
        _pair("replicas", f"{_workload(entry['workload'])}: {entry['reason']}")
    said = reasons.Reasons()
    for stage in (*run["stages"], *([run["rollback"]] if run["rollback"] else [])):
        wave = f" in wave {stage['wave']}" if stage.get("wave") else ""
        data.print(
            f"[bold]{markup.escape(stage['name'])}[/]{markup.escape(wave)}  {stage['status']}"
        )
        if stage.get("promoted"):
            data.print(f"  {stage['promoted']}", markup=False)
        for line in _task_lines(stage["tasks"], said):
            data.print(f"  {line}", markup=False)
    for entry in run["approvals"]:
        word = "approved" if entry["approved"] else "not approved"
        data.print(f"{word} by {entry['by']}: {entry['comment']}", markup=False)


def _task_lines(tasks: Sequence[json.JsonObject], said: reasons.Reasons) -> Iterator[str]:
    """Yield a line for the clusters that are alike, and each reason in full only once."""
    alike: dict[tuple[str, str], list[str]] = {}
    for task in tasks:
        why = said.shortened(task["reason"] or task["progress"])
        alike.setdefault((task["status"], why), []).append(task["target"])
        if task["attempt"]:
            said.say(task["target"], task["reason"])
    for (status, why), names in alike.items():
        yield "  ".join(part for part in (phrases.join_names(names), status, why) if part)


def _workload(key: str) -> str:
    """Return ``Deployment shop/web`` for the ``apps:Deployment:shop:web`` of the API."""
    return manifest.ResourceKey(*key.split(":", 3)).title if key.count(":") >= 3 else key


def explain_run(run: json.JsonObject) -> None:
    """Say why a run is there, why it waits, what comes next, and what if it fails."""
    summary = run["summary"]
    by = f", asked for by {summary['by']}" if summary["by"] else ""
    _pair("why", f"{summary['trigger']}{by}")
    _pair("how", run["plan"])
    _pair("now", f"{summary['status']}: {summary['reason']}")
    if not summary["finished"]:
        _pair("waits", run["waitingReason"])
    for warning in run.get("warnings", ()):
        _pair("warning", warning)
    _pair("next", run["whatNext"])
    _pair("move", run["move"])
    _pair("if it fails", run["ifFailed"])
    for command in run.get("nextCommands", ()):
        _pair("type", command)


def explain_waiting(application: json.JsonObject, commands: Sequence[str]) -> None:
    """Say what an application will do next, why not yet, and what a person may type about it."""
    waiting = application["waiting"]
    _pair("waiting", f"{waiting['commit'][:7]}: {waiting['reason']}")
    _pair("waits", waiting["waitingReason"])
    for command in commands:
        _pair("type", command)


def tell_what_to_type(run: json.JsonObject) -> None:
    """Say, beside the answer, what a person may type about a run as it is."""
    for command in run.get("nextCommands", ()):
        console.messages().print(f"type {command}", markup=False)


def describe_application(application: json.JsonObject) -> None:
    """Write everything about an application."""
    application = {**application, "status": _status(application)}
    if application.get("project", "") not in ("", projects.DEFAULT):
        _pair("project", application["project"])
    for name in ("name", "status", "reason", "repository", "path", "branch", "head"):
        _pair(name, application[name])
    _pair("running", application["runningCommit"])
    _pair("run", application["run"])
    _pair("labels", _text(application["labels"]))
    _pair("paused", application["paused"])
    for name, why in application["missing"].items():
        _pair("missing", f"{name}: {why}")
    for warning in application.get("warnings", ()):
        _pair("warning", warning)
    if application["waiting"]:
        _pair(
            "waiting",
            f"{application['waiting']['reason']}: {application['waiting']['waitingReason']}",
        )
    _pair("cause", application["cause"])
    if application["waiting"] or (application["run"] and application["status"] != "synced"):
        _pair("type", f"volary explain {application['name']}")


def placement_lines(placement: json.JsonObject) -> Iterator[str]:
    """Yield where an application is; evidence that was given once is not said again."""
    yield f"on {', '.join(placement['clusters']) or 'no cluster'}"
    explained: dict[str, str] = {}
    for move in placement["leaving"]:
        done = "replaced" if move["replaced"] else "not replaced yet"
        explained[move["cluster"]] = move["reason"]
        yield f"leaving {move['cluster']} ({done}): {move['reason']}"
    for move in placement["away"]:
        why = "" if explained.get(move["cluster"]) == move["reason"] else f": {move['reason']}"
        yield f"away from {move['cluster']} until a rebalance{why}"
    for move in placement["waiting"]:
        known = explained.get(move["cluster"])
        reason = move["reason"].removeprefix(f"{known}; ") if known else move["reason"]
        yield f"waiting, {move['cluster']}: {reason}"


def _pair(name: str, value: object) -> None:
    if value:
        console.write_text(f"{name + ':':<14} {value}")
