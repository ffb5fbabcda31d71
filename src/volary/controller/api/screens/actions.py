"""What may be done next about a run, an application or a cluster, for whoever asks. Pure.

Whether something can be done is not decided here: the state machine is asked what it would answer,
and so are the checks by which commands are carried out. Its answer also says what will happen.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib import parse

from volary.controller.api.commands import request_events
from volary.controller.api.screens import action_representations, approval_consequences
from volary.controller.fleet import taint_commands
from volary.controller.status import application_requests, application_statuses
from volary.engine.runs import rollback, run_builder, state
from volary.engine.state_machine import commands, deadlines, failures, machine, sightings
from volary.model import json, phrases, statuses
from volary.model.fleet import cluster_health, fleets
from volary.store import records

#: Clusters of which it is said one by one what may be done about them.
_MOST_CLUSTERS = 50
#: Stands for a reason that nobody has given yet; never shown.
_SOME_REASON = "…"
_GOOD = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class Asker:
    """Whoever asks what they may do."""

    by: str
    #: Returns why they may not, one sentence, for a noun and a verb; empty: they may.
    why_not: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class _Wish:
    """Something that could be asked for."""

    verb: str
    noun: str = "run"
    stage: str = ""
    clusters: tuple[str, ...] = ()
    body: json.JsonObject = field(default_factory=dict)
    reason_field: str = ""
    needs_reason: bool = False
    is_destructive: bool = False
    #: Options of the command besides the name and the reason.
    options: str = ""
    #: What a button says; empty: the verb, and the clusters where it is about some only.
    title: str = ""


def _action(
    wish: _Wish, name: str, path: str, asker: Asker, refusal: str, consequence: str
) -> action_representations.Action:
    why_not = asker.why_not(wish.noun, wish.verb) or refusal.partition("\n")[0]
    command = f"volary {_SPOKEN.get((wish.noun, wish.verb), wish.verb)} {shlex.quote(name)}"
    reason = f" --{wish.reason_field} TEXT" if wish.needs_reason else ""
    return action_representations.Action(
        verb=wish.verb,
        noun=wish.noun,
        stage=wish.stage,
        clusters=wish.clusters,
        enabled=not why_not,
        disabled_reason=why_not,
        consequence="" if refusal else consequence.replace(f": {_SOME_REASON}", ""),
        needs_reason=wish.needs_reason,
        reason_field=wish.reason_field,
        is_destructive=wish.is_destructive,
        command=f"{command}{wish.options}{reason}",
        path=f"/api/v1/{parse.quote(path)}/{wish.verb}",
        body=wish.body,
        title=wish.title or _title(wish),
    )


def _title(wish: _Wish) -> str:
    verb = _TITLES.get(wish.verb, wish.verb.capitalize())
    is_about_some = wish.verb in ("retry", "skip") and wish.clusters
    return f"{verb} {phrases.join_names(wish.clusters)}" if is_about_some else verb


_TITLES = {"rollback": "Roll back", "unfreeze": "Open windows", "withdraw": "Withdraw approval"}
#: Commands that are not called as their verbs.
_SPOKEN = {
    ("run", "withdraw"): "approve --withdraw",
    ("application", "forget"): "application forget",
    ("cluster", "cordon"): "cluster cordon",
    ("cluster", "drain"): "cluster drain",
    ("cluster", "uncordon"): "cluster uncordon",
    ("cluster", "untaint"): "cluster untaint",
}


# Runs.


def of_run(
    run: state.Run, asker: Asker, now: datetime, *, cluster: str = ""
) -> tuple[action_representations.Action, ...]:
    """Return what may be done about a run, what can be done first.

    Args:
        run: The run.
        asker: Whoever asks.
        now: When.
        cluster: Only what is about this one; empty: also what is about the whole.
    """
    wishes = _of_cluster(run, cluster) if cluster else _of_whole_run(run)
    made = [_of_wish(run, wish, asker, now) for wish in wishes]
    return tuple(sorted(made, key=lambda action: not action.enabled))


def _of_wish(
    run: state.Run, wish: _Wish, asker: Asker, now: datetime
) -> action_representations.Action:
    if wish.verb == "abandon":
        said = "" if not run.is_final else f"a run that is {run.status.value} cannot be abandoned"
        return _action(wish, run.id, f"runs/{run.id}", asker, said, _abandoned(run))
    reason = {wish.reason_field: _SOME_REASON} if wish.reason_field else {}
    request = records.RequestRecord(
        "", wish.verb, asker.by, now, run.application, run.id, {**wish.body, **reason}
    )
    step = machine.advance(run, request_events.of_request(request, now))
    consequence = "" if step.refusal else _CONSEQUENCES[wish.verb](run, step, wish)
    return _action(wish, run.id, f"runs/{run.id}", asker, step.refusal, consequence)


def _of_whole_run(run: state.Run) -> Iterator[_Wish]:
    """Yield what makes sense about a run, the most likely first."""
    seen = _seen(run)
    if run.is_final:
        yield _retry(run)
        return
    stage, current = run.current.id, sightings.of_run(run)
    group = deadlines.waiting_group(run)
    waiting = tuple(task.target for task in group.tasks) if group else ()
    if any(group.rule is not None for each in run.stages for group in each.groups):
        options = f" --stage {stage}"
        options += f" --group {shlex.quote(current.group)}" if current.group else ""
        options += f" --seen {current.version}"
        for verb in ("approve", "reject", "withdraw"):
            yield _Wish(
                verb,
                stage=stage,
                clusters=waiting,
                body=seen,
                reason_field="comment",
                is_destructive=verb == "reject",
                options=options,
            )
    yield _retry(run)
    for target in _troubled(run)[:_MOST_CLUSTERS]:
        yield _skip(run, target)
    if run.current.stage.kind.is_skippable and run.rollback is None:
        yield _Wish(
            "skip",
            stage=stage,
            body={**seen, "stage": stage},
            title=f"Skip the rest of {run.current.stage.name}",
            reason_field="reason",
            needs_reason=True,
            options=f" --stage {stage}",
        )
    if run.waves:
        wave = run.stages[run.position].wave
        yield _Wish(
            "promote",
            stage=stage,
            body={**seen, "wave": wave or run.waves[0].name},
            title=f"Promote wave {wave or run.waves[0].name}",
            reason_field="reason",
            needs_reason=True,
            options=f" --wave {shlex.quote(wave or run.waves[0].name)}",
        )
    if run.windows:
        yield _Wish("unfreeze", body=seen, reason_field="reason", needs_reason=True)
    yield _Wish("resume", body=seen)
    yield _Wish("pause", reason_field="reason")
    yield from _cancels(run)
    yield _Wish("abandon", reason_field="reason", needs_reason=True, is_destructive=True)


def _cancels(run: state.Run) -> Iterator[_Wish]:
    """Yield the ways to end a run: going back, leaving everything, or breaking off."""

    def cancel(title: str, body: json.JsonObject, options: str = "") -> _Wish:
        return _Wish(
            "cancel",
            title=title,
            body=body,
            reason_field="reason",
            is_destructive=True,
            options=options,
        )

    if run.rollback is None:
        yield cancel("Cancel and roll back", {"rollback": True, "now": False})
        yield cancel("Cancel and keep", {"rollback": False, "now": False}, " --keep")
    if run.rollback is not None or run.ending is not None:
        goes_back = run.ending is None or run.ending.rollback
        yield cancel(
            "Break off",
            {**_seen(run), "rollback": goes_back, "now": True},
            " --now" if goes_back else " --keep --now",
        )


def _of_cluster(run: state.Run, cluster: str) -> Iterator[_Wish]:
    """Yield what makes sense about one cluster of a run."""
    if not run.is_final:
        yield _retry(run, cluster)
        yield _skip(run, cluster)


def _retry(run: state.Run, cluster: str = "") -> _Wish:
    body, options = _seen(run), ""
    failed = tuple(task.target for task in failures.of_stage(run)) if run.stages else ()
    if run.stages:
        options = f" --stage {run.current.id} --seen {run.revision}"
    if cluster:
        body, options = (
            {**body, "targets": [cluster]},
            f" --cluster {shlex.quote(cluster)}{options}",
        )
    return _Wish(
        "retry",
        stage=run.current.id if run.stages else "",
        clusters=(cluster,) if cluster else failed,
        body=body,
        options=options,
    )


def _skip(run: state.Run, cluster: str) -> _Wish:
    return _Wish(
        "skip",
        stage=run.current.id,
        clusters=(cluster,),
        body={**_seen(run), "target": cluster},
        reason_field="reason",
        needs_reason=True,
        is_destructive=True,
        options=f" --cluster {shlex.quote(cluster)}",
    )


def _troubled(run: state.Run) -> list[str]:
    """Return the clusters that somebody may want to go on without: those that failed first."""
    failed = [task.target for task in failures.of_stage(run)]
    silent = [task.target for task in run.current.unreachable_tasks]
    running = [task.target for task in run.current.running]
    return list(dict.fromkeys((*failed, *silent, *running)))


def _seen(run: state.Run) -> json.JsonObject:
    now = sightings.of_run(run)
    return {"seen": {"stage": now.stage, "group": now.group, "version": now.version}}


# What will happen, as the state machine says.

_Consequence = Callable[[state.Run, machine.Step, _Wish], str]


def _approved(run: state.Run, step: machine.Step, _: _Wish) -> str:
    group = deadlines.waiting_group(run)
    if group is None or group.rule is None:
        return ""
    given, count = len(group.approvals) + 1, group.rule.count
    then = approval_consequences.goes_on(run, group)
    if missing := approval_consequences.still_needed(group, given):
        return f"approval {given} of {count}; {missing}; then {then}"
    head = f"approval {given} of {count}, the last that is needed"
    after = step.run
    if after.is_final or after.ending is not None or after.rollback is not None:
        return f"{head}; {_follows(run, step)}"
    # Closed windows and a pause hold up also what was approved.
    is_held_up = after.pause is not None or any(one.closed for one in after.current.groups)
    return f"{head}; {then}; {after.reason}" if is_held_up else f"{head}; {then}"


def _rejected(run: state.Run, step: machine.Step, _: _Wish) -> str:
    return f"{run.current.stage.name} fails as rejected; {_follows(run, step)}"


def _withdrawn(_: state.Run, step: machine.Step, __: _Wish) -> str:
    group = deadlines.waiting_group(step.run)
    if group is None or group.rule is None:
        return "your approval does not count any more"
    return (
        f"your approval does not count any more: {len(group.approvals)} of {group.rule.count}"
        " are left"
    )


def _tried_again(run: state.Run, step: machine.Step, wish: _Wish) -> str:
    again = wish.clusters or tuple(task.target for task in step.run.current.running)
    where = f" on {phrases.join_names(again)}" if again else ""
    return f"tries {run.current.stage.name} again{where}; {_follows(run, step)}"


def _skipped(run: state.Run, step: machine.Step, wish: _Wish) -> str:
    if wish.body.get("stage"):
        return (
            f"ends {run.current.stage.name} early: what it would have measured or waited for"
            f" stays unknown; {_follows(run, step)}"
        )
    [name] = wish.clusters
    cluster = run.cluster(name)
    if run.rollback is not None:
        return f"{name} is not taken back: what was written there stays; {_follows(run, step)}"
    left = (
        "what was written there stays until it is rolled back or gets a release"
        if cluster is not None and cluster.touched
        else f"it stays on {_commit(run, name)}"
    )
    return f"the run goes on without {name}: {left}; {_follows(run, step)}"


def _promoted(run: state.Run, step: machine.Step, _: _Wish) -> str:
    return (
        f"ends early what wave {run.current.wave} waits for; its clusters are checked for health"
        f" once more, approvals are still needed; {_follows(run, step)}"
    )


def _unfrozen(run: state.Run, step: machine.Step, _: _Wish) -> str:
    return f"closed windows do not hold this run up any more; {_follows(run, step)}"


def _paused(run: state.Run, _: machine.Step, __: _Wish) -> str:
    running = tuple(task.target for task in run.current.running)
    finish = f"; what is under way on {phrases.join_names(running)} finishes" if running else ""
    return f"starts nothing new until it is resumed{finish}"


def _resumed(run: state.Run, step: machine.Step, _: _Wish) -> str:
    return f"goes on at commit {run.commit[:7]}; {_follows(run, step)}"


def _cancelled(run: state.Run, step: machine.Step, wish: _Wish) -> str:
    if run.rollback is not None:
        return (
            "breaks the rollback off, also in the middle of a write: clusters stay as they are"
            " then, and the run fails"
        )
    if wish.body.get("now"):
        return f"breaks off what is under way, also in the middle of a write; {_follows(run, step)}"
    if step.run.is_final:
        return f"ends the run as {step.run.status.value}{_stays(step.run)}"
    return f"ends the run; {_follows(run, step)}"


_CONSEQUENCES: Mapping[str, _Consequence] = {
    "approve": _approved,
    "reject": _rejected,
    "withdraw": _withdrawn,
    "retry": _tried_again,
    "skip": _skipped,
    "promote": _promoted,
    "unfreeze": _unfrozen,
    "pause": _paused,
    "resume": _resumed,
    "cancel": _cancelled,
}


def _abandoned(run: state.Run) -> str:
    stays = phrases.join_names(run.touched)
    what = f"{stays} {'stays' if len(run.touched) == 1 else 'stay'} as they are"
    if len(run.touched) == 1:
        what = f"{stays} stays as it is"
    left = f"{what}, half-way or not" if run.touched else "nothing was written anywhere"
    return f"ends the run at once without going back: {left}"


def _follows(run: state.Run, step: machine.Step) -> str:
    """Say what follows from a step: what is rolled back, what begins, or what is waited for."""
    after = step.run
    if after.rollback is not None and run.rollback is None:
        return _goes_back(after, [task.target for task in after.rollback.tasks])
    if after.is_final:
        return f"the run ends as {after.status.value}{_stays(after)}"
    if after.ending is not None and run.rollback is None:
        return _ends(after, after.ending)
    begun = _begun(after, step.commands)
    return begun or after.reason


def _ends(after: state.Run, ending: state.Ending) -> str:
    """Say what a run does that ends as soon as what is under way has come to rest."""
    running = tuple(task.target for task in after.current.running)
    first = f"what is under way on {phrases.join_names(running)} finishes its write"
    if not ending.rollback:
        return f"{first}, and everything stays as it is{_stays(after)}"
    back = _goes_back(after, run_builder.targets_to_roll_back(after, ending.wave))
    return f"{first}, then {back}" if running else back


def _goes_back(run: state.Run, names: Iterable[str]) -> str:
    """Return ``rolls back us and eu to 3f2a1c; asia was not touched``."""
    by_commit: dict[str, list[str]] = {}
    names = list(names)
    for name in names:
        by_commit.setdefault(run.running_commit_of(name), []).append(name)
    parts = [
        f"{phrases.join_names(clusters)} to {commit[:7]}"
        if commit
        else f"{phrases.join_names(clusters)} to what was there before, where nothing of it ran"
        for commit, clusters in by_commit.items()
    ]
    back = f"rolls back {', and '.join(parts)}" if parts else "there is nothing to roll back"
    untouched = [name for name in run.targets if name not in names and name not in run.touched]
    if not untouched:
        return back
    verb = "was" if len(untouched) == 1 else "were"
    return f"{back}; {phrases.join_names(untouched)} {verb} not touched"


def _stays(run: state.Run) -> str:
    """Say what stays where it was written, when a run ends without going back."""
    left = rollback.clusters_left(run)
    if not left or run.status in statuses.GOOD_ENDS:
        return ""
    return f"; what was written on {phrases.join_names(left)} stays"


def _begun(run: state.Run, all_commands: Iterable[commands.Command]) -> str:
    begun: dict[str, list[str]] = {}
    for command in all_commands:
        if isinstance(command, commands.StartTask):
            begun.setdefault(command.stage, []).append(command.target)
    names = {stage.id: stage.stage.name for stage in run.all_stages}
    parts = [f"{names[stage]} begins on {phrases.join_names(on)}" for stage, on in begun.items()]
    return ", ".join(parts)


def _commit(run: state.Run, cluster: str) -> str:
    return run.running_commit_of(cluster)[:7] or "nothing"


# Applications.


@dataclass(frozen=True, slots=True)
class ApplicationFacts:
    """What is known of an application whose actions are asked for."""

    record: records.ApplicationRecord
    #: None: what is stored of it cannot be read.
    status: application_statuses.ApplicationStatus | None
    #: Why its repository is not in the settings; empty: it is.
    why_orphaned: str = ""
    #: The run under way; None: none is, or it cannot be read.
    run: state.Run | None = None
    #: The run that was its last change; None: there is none, see `why_not_back`.
    last_change: state.Run | None = None
    why_not_back: str = ""


def of_application(
    facts: ApplicationFacts, asker: Asker, now: datetime
) -> tuple[action_representations.Action, ...]:
    """Return what may be done about an application, what can be done first."""
    made = list(_of_application(facts, asker, now))
    return tuple(sorted(made, key=lambda action: not action.enabled))


def _of_application(
    facts: ApplicationFacts, asker: Asker, now: datetime
) -> Iterator[action_representations.Action]:
    record, status = facts.record, facts.status
    name, path = record.name, f"applications/{record.name}"

    def act(wish: _Wish, refusal: str, consequence: str) -> action_representations.Action:
        return _action(wish, name, path, asker, refusal, consequence)

    if status is None:
        forget = _Wish(
            "forget", "application", reason_field="reason", needs_reason=True, is_destructive=True
        )
        yield act(forget, "", f"drops what is stored of {name}; {_NOTHING_CHANGES}")
        return
    starts = application_requests.why_nothing_starts(facts.why_orphaned)
    sync = _Wish("sync", "application", body={"commit": "", "strategy": ""})
    yield act(sync, starts, _synced(facts, status))
    yield _rolled_back(facts, asker, now, starts)
    resume = _Wish("resume", "application", options=" --application")
    waiting = status.run_request
    goes_on = f"; then {waiting.commit[:7]} begins" if waiting else ""
    yield act(
        resume,
        application_requests.why_not_resumed(status),
        f"runs of {name} may begin again, the one under way goes on{goes_on}"
        if facts.run
        else f"runs of {name} may begin again{goes_on}",
    )
    pause = _Wish("pause", "application", reason_field="reason", options=" --application")
    under_way = f"; run {facts.run.id} is paused with it" if facts.run else ""
    yield act(
        pause,
        application_requests.why_not_paused(status),
        f"nothing of {name} begins until it is resumed{under_way}; a rollback still does",
    )
    rebalance = _Wish("rebalance", "application", is_destructive=True)
    yield act(
        rebalance,
        starts or application_requests.why_not_moved(status, is_moving=False),
        f"places {name} anew: what moved away may come back, and replicas are divided anew;"
        " refused when nothing would move",
    )
    if record.removed is not None or facts.why_orphaned:
        run_id = facts.run.id if facts.run else ""
        forget = _Wish(
            "forget", "application", reason_field="reason", needs_reason=True, is_destructive=True
        )
        yield act(
            forget,
            application_requests.why_not_forgotten(record, facts.why_orphaned)
            or application_requests.why_run_keeps_it(run_id, facts.why_orphaned),
            f"drops what is kept of {name}; {_NOTHING_CHANGES}",
        )


_NOTHING_CHANGES = "nothing changes in any cluster, and what runs there is no longer managed"


def _synced(facts: ApplicationFacts, status: application_statuses.ApplicationStatus) -> str:
    head = f", {status.head[:7]} when it was looked at last" if status.head else ""
    behind = f"; it begins when run {facts.run.id} has ended" if facts.run else ""
    return f"rolls out the newest commit of {facts.record.branch or 'the branch'}{head}{behind}"


def _rolled_back(
    facts: ApplicationFacts, asker: Asker, now: datetime, starts: str
) -> action_representations.Action:
    name = facts.record.name
    wish = _Wish("rollback", "application", body={"to": ""}, is_destructive=True)
    path, run = f"applications/{name}", facts.run
    if run is not None and not starts:
        cancel = records.RequestRecord(
            "", "cancel", asker.by, now, name, run.id, {"rollback": True, "reason": "rollback"}
        )
        step = machine.advance(run, request_events.of_request(cancel, now))
        said = "" if step.refusal else f"cancels run {run.id}; {_follows(run, step)}"
        return _action(wish, name, path, asker, step.refusal, said)
    last = facts.last_change
    said = _goes_back(last, rollback.clusters_left(last)) if last is not None else ""
    refusal = starts or ("" if last is not None else facts.why_not_back)
    return _action(wish, name, path, asker, refusal, said)


@dataclass(frozen=True, slots=True)
class Version:
    """What a run brought that has ended."""

    run: str
    commit: str
    status: statuses.RunStatus
    clusters: tuple[str, ...]


def back_to(
    application: str,
    version: Version,
    asker: Asker,
    *,
    running_commit: str,
    under_way: str = "",
    why_orphaned: str = "",
) -> action_representations.Action | None:
    """Return going back to a version; None: it is what runs, or was not completed.

    Args:
        application: Its name.
        version: What a run of it that has ended brought.
        asker: Whoever asks.
        running_commit: What it runs now.
        under_way: The run that has to end first; empty: none is under way.
        why_orphaned: Why its repository is not in the settings; empty: it is.
    """
    if version.status not in statuses.GOOD_ENDS or version.commit in ("", running_commit):
        return None
    wish = _Wish(
        "rollback",
        "application",
        clusters=version.clusters,
        body={"to": version.run},
        is_destructive=True,
        options=f" --to {version.run}",
        title=f"Roll back to {version.commit[:7]}",
    )
    behind = f"; it begins when run {under_way} has ended" if under_way else ""
    said = (
        f"applies commit {version.commit[:7]} again on all clusters that {application} is for, at"
        f" once and without the stages of its pipeline{behind}; Git stays as it is"
    )
    refusal = application_requests.why_nothing_starts(why_orphaned)
    return _action(wish, application, f"applications/{application}", asker, refusal, said)


# Clusters.


def of_cluster(
    member: fleets.Cluster,
    known: cluster_health.ClusterHealth,
    asker: Asker,
    now: datetime,
    *,
    there: int,
) -> tuple[action_representations.Action, ...]:
    """Return what may be done about a cluster, what can be done first.

    Args:
        member: As the fleet file says.
        known: As the controller knows it.
        asker: Whoever asks.
        now: When.
        there: How many applications that they may see are on it.
    """
    name = member.name
    here = phrases.count(there, "application")
    stay = f"the {here} there {'stays' if there == 1 else 'stay'}"
    said = {
        "cordon": f"nothing new begins on {name}; {stay}, and releases leave it out",
        "drain": (
            f"nothing new begins on {name}, and the {here} there"
            f" {'moves' if there == 1 else 'move'} to other clusters where their spread allows it"
        ),
        "uncordon": f"{name} takes part again; releases that it missed are brought to it",
    }
    wishes = [
        _Wish("cordon", "cluster", reason_field="reason"),
        _Wish("drain", "cluster", reason_field="reason", is_destructive=True),
        _Wish("uncordon", "cluster", reason_field="reason"),
    ]
    for taint in known.taints:
        title = f"{taint.key}:{taint.effect}"
        body: json.JsonObject = {"key": taint.key, "effect": taint.effect.value}
        if taint.key not in (mark.key for mark in (known.cordon, known.drain) if mark):
            said[title] = f"applications that do not tolerate {title} may come to {name} again"
            wishes.append(
                _Wish(
                    "untaint",
                    "cluster",
                    body=body,
                    reason_field="reason",
                    options=f" {title}",
                    title=f"Remove taint {title}",
                )
            )
    made = []
    for wish in wishes:
        refusal = taint_commands.why_not({"action": wish.verb, **wish.body}, member, known, now)
        consequence = said[wish.options.strip() or wish.verb]
        made.append(_action(wish, name, f"clusters/{name}", asker, refusal, consequence))
    return tuple(sorted(made, key=lambda action: not action.enabled))
