"""What may be done next is what the state machine takes, whatever a run has gone through."""

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta

import click
import msgspec
import typer
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

import machine_invariants
from machine_simulation import BEGINNING, FREEZE, GROUPS, STAGES, THOROUGH
from volary import main
from volary.controller.api.commands import request_events
from volary.controller.api.screens import action_representations, actions
from volary.controller.status import application_statuses
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.fleet import cluster_health, fleets, taints
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages
from volary.server.routes import bodies
from volary.store import records

BODIES: dict[str, type[bodies.Body]] = {
    "approve": bodies.Decision,
    "reject": bodies.Decision,
    "withdraw": bodies.Decision,
    "promote": bodies.Promote,
    "unfreeze": bodies.Unfreeze,
    "pause": bodies.Pause,
    "resume": bodies.Resume,
    "cancel": bodies.Cancel,
    "abandon": bodies.Abandon,
    "retry": bodies.Retry,
    "skip": bodies.Skip,
}


def everything(by: str = "ana") -> actions.Asker:
    return actions.Asker(by, lambda noun, verb: "")


def carried_out(run: state.Run, action: action_representations.Action, now: object) -> machine.Step:
    """Send an action as its body goes over HTTP, and have it carried out as the handler does."""
    said = {action.reason_field: "because"} if action.reason_field else {}
    # Strict about tuples unless they come from JSON.
    body = BODIES[action.verb].model_validate_json(msgspec.json.encode({**action.body, **said}))
    request = records.RequestRecord(
        "q", action.verb, "ana", now, run.application, run.id, body.model_dump()
    )
    return machine.advance(run, request_events.of_request(request, now))


class ActionsOfAnyConversation(machine_invariants.AnyConversation):
    """At every moment: what is offered is taken, and what is not offered is refused."""

    @invariant()
    def what_is_offered_is_taken_and_nothing_else(self) -> None:
        if not hasattr(self, "run"):
            return
        offered = actions.of_run(self.run, everything(), self.now)
        here = [actions.of_run(self.run, everything(), self.now, cluster="eu")]
        for action in (*offered, *here[0]):
            assert bool(action.disabled_reason) is not action.enabled
            assert bool(action.consequence) is action.enabled, action
            assert "…" not in action.consequence, "no reason was given yet"
            if action.verb == "abandon":
                assert action.enabled is not self.run.is_final
                continue
            step = carried_out(self.run, action, self.now)
            assert step.refusal == action.disabled_reason
        assert list(offered) == sorted(offered, key=lambda action: not action.enabled)

    @rule(data=st.data())
    def somebody_presses_a_button(self, data: st.DataObject) -> None:
        offered = [
            action
            for action in actions.of_run(self.run, everything(), self.now)
            if action.enabled and action.verb in ("pause", "resume", "retry")
        ]
        if offered:
            action = data.draw(st.sampled_from(offered))
            said = {action.reason_field: "because"} if action.reason_field else {}
            request = records.RequestRecord(
                "q", action.verb, "ana", self.now, "shop", self.run.id, {**action.body, **said}
            )
            assert not self.send(request_events.of_request(request, self.now)).refusal


ActionsOfAnyConversation.TestCase.settings = THOROUGH
TestActionsOfAnyConversation = ActionsOfAnyConversation.TestCase


# What is said about it.


def at(minutes: int) -> datetime:
    return BEGINNING + timedelta(minutes=minutes)


def planned(**more: object) -> state.Run:
    made = run_builder.RunSpec("shop", "new7777", GROUPS[0], STAGES, "old1111", **more)
    return run_builder.new_run("run-1", made, BEGINNING)


def after(run: state.Run, *told: events.Event) -> state.Run:
    for event in told:
        step = machine.advance(run, event)
        assert not step.refusal, step.refusal
        run = step.run
    return run


def ended(cluster: str, how: statuses.TaskStatus, *, touched: bool = True) -> events.TaskFinished:
    outcome = statuses.Outcome(how, "no image", touched=touched)
    return events.TaskFinished(at(1), STAGE, cluster, 1, outcome)


STAGE = "1-K8S_CANARY_ROLLOUT"
FAILED, SUCCEEDED = statuses.TaskStatus.FAILED, statuses.TaskStatus.SUCCEEDED
HOLD = policies.Policy(on_failure=policies.OnFailure.HOLD)


def held() -> state.Run:
    """Failed on us, written on eu, and not begun anywhere else."""
    groups = (run_builder.Group(("us", "eu", "asia"), concurrency=2),)
    made = run_builder.RunSpec("shop", "new7777", groups, STAGES, "old1111", HOLD)
    return after(
        run_builder.new_run("run-1", made, BEGINNING),
        events.Start(BEGINNING),
        ended("us", FAILED),
        ended("eu", SUCCEEDED),
    )


def offered(
    run: state.Run, asker: actions.Asker | None = None, cluster: str = ""
) -> list[action_representations.Action]:
    return list(actions.of_run(run, asker or everything(), at(2), cluster=cluster))


def find(
    found: Sequence[action_representations.Action], verb: str, *clusters: str, **body: object
) -> action_representations.Action:
    [action] = [
        action
        for action in found
        if action.verb == verb
        and (not clusters or action.clusters == clusters)
        and body.items() <= action.body.items()
    ]
    return action


def test_going_back_says_which_clusters_go_to_which_commit_and_which_stay() -> None:
    found = offered(held())

    back = find(found, "cancel", rollback=True)
    keep = find(found, "cancel", rollback=False)

    assert back.consequence == (
        "ends the run; rolls back us and eu to old1111; asia was not touched"
    )
    assert keep.consequence == ("ends the run as cancelled; what was written on us and eu stays")
    assert back.is_destructive
    assert (back.title, keep.title) == ("Cancel and roll back", "Cancel and keep")
    assert (back.command, keep.command) == ("volary cancel run-1", "volary cancel run-1 --keep")
    assert (back.reason_field, back.needs_reason) == ("reason", False)


def test_trying_again_and_going_without_say_what_begins_and_what_stays() -> None:
    run = held()
    found = offered(run)

    retry, skip = find(found, "retry"), find(found, "skip", "us")

    assert retry.clusters == ("us",)
    assert (retry.title, skip.title) == ("Retry us", "Skip us")
    assert retry.consequence == (
        "tries K8S_CANARY_ROLLOUT again on us; K8S_CANARY_ROLLOUT begins on us and asia"
    )
    assert retry.command == f"volary retry run-1 --stage {STAGE} --seen {run.revision}"
    assert skip.consequence == (
        "the run goes on without us: what was written there stays until it is rolled back or gets"
        " a release; K8S_CANARY_ROLLOUT begins on asia"
    )
    assert (skip.needs_reason, skip.reason_field) == (True, "reason")


def test_a_wave_is_promoted_for_a_reason_that_is_asked_for_and_not_made_up() -> None:
    sync = pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
    )
    soak = pipelines.Stage(
        added_stages.WAVE_GATE.name, added_stages.WaveGateOptions(timedelta(hours=1)), index=1
    )
    group = run_builder.Group(("us",), "first")
    made = run_builder.RunSpec(
        "shop",
        "new7777",
        (group,),
        (sync,),
        waves=(policies.WaveRule("first", ("us",)),),
        steps=tuple(run_builder.WaveStep(stage, group, "first") for stage in (sync, soak)),
    )
    planned_run = run_builder.new_run("run-1", made, BEGINNING)
    started = after(planned_run, events.Start(BEGINNING))
    outcome = statuses.Outcome(SUCCEEDED, "applied", touched=True)
    run = after(started, events.TaskFinished(at(1), started.current.id, "us", 1, outcome))

    promote = find(offered(run), "promote")

    assert (promote.needs_reason, promote.reason_field) == (True, "reason")
    assert promote.consequence == (
        "ends early what wave first waits for; its clusters are checked for health once more,"
        " approvals are still needed; stage 2 of 2, WAVE_GATE in wave first: promoted by ana"
    )


def test_one_cluster_is_asked_about_alone() -> None:
    found = offered(held(), cluster="asia")

    assert [(action.verb, action.clusters) for action in found] == [
        ("retry", ("asia",)),
        ("skip", ("asia",)),
    ]
    assert found[1].consequence.startswith("the run goes on without asia: it stays on old1111")


def test_an_approval_says_whether_it_is_the_last_that_is_needed() -> None:
    rule = policies.ApprovalRule(count=2, approvers=("ana", "bo"), timeout=timedelta(hours=1))
    groups = (run_builder.Group(("us", "eu"), "wave", 0, rule),)
    made = run_builder.RunSpec("shop", "new7777", groups, STAGES, "old1111")
    run = after(run_builder.new_run("run-1", made, BEGINNING), events.Start(BEGINNING))
    one = after(run, events.Approve(at(1), "ana"))

    first = find(offered(run), "approve")
    again = find(offered(one), "approve")
    last = find(offered(one, everything("bo")), "approve")
    stranger = find(offered(one, everything("eve")), "approve")
    viewer = find(
        offered(one, actions.Asker("bo", lambda noun, verb: f"bo may not {verb} here")), "approve"
    )
    withdrawn = find(offered(one), "withdraw")

    assert first.consequence == (
        "approval 1 of 2; nothing begins until 1 more has approved (approvers: ana and bo);"
        " then K8S_CANARY_ROLLOUT begins on us and eu; WAIT comes next"
    )
    assert (again.enabled, again.disabled_reason) == (False, "ana has approved already")
    assert last.consequence == (
        "approval 2 of 2, the last that is needed; K8S_CANARY_ROLLOUT begins on us and eu;"
        " WAIT comes next"
    )
    assert stranger.disabled_reason == "eve is not one of the approvers: ana and bo"
    assert viewer.disabled_reason == "bo may not approve here"
    assert withdrawn.consequence == "your approval does not count any more: 0 of 2 are left"
    assert last.body["seen"] == {"stage": STAGE, "group": "wave", "version": one.revision}


def test_a_rollback_can_only_be_broken_off() -> None:
    run = after(held(), events.Cancel(at(1), "ana", rollback=True))
    found = offered(run)

    [cancel] = [action for action in found if action.verb == "cancel"]
    assert cancel.enabled
    assert cancel.command == "volary cancel run-1 --now"
    assert cancel.consequence.startswith("breaks the rollback off")
    assert find(found, "skip", "us").consequence.startswith("us is not taken back")
    assert not find(found, "pause").enabled


def test_of_a_commit_that_was_refused_nothing_is_tried_again() -> None:
    refused = run_builder.refused_run("run-1", "shop", "new7777", "", "no such stage", BEGINNING)

    [retry] = offered(refused)

    assert retry.disabled_reason == "a run that is failed cannot be tried again"


def test_what_may_be_copied_is_a_command_that_there_is() -> None:
    rule = policies.ApprovalRule(count=1, timeout=timedelta(hours=1))
    waiting = run_builder.RunSpec(
        "shop",
        "new7777",
        (run_builder.Group(("us", "eu"), "wave one", 0, rule),),
        STAGES,
        "old1111",
        windows=(policies.WindowRule(FREEZE, ("us",), deny=True),),
    )
    runs = [
        planned(),
        held(),
        after(held(), events.Cancel(at(1), "ana", rollback=True)),
        after(run_builder.new_run("run-2", waiting, BEGINNING), events.Start(BEGINNING)),
    ]
    status = application_statuses.ApplicationStatus()
    gone = records.ApplicationRecord("shop", removed=BEGINNING)
    facts = actions.ApplicationFacts(gone, status, run=held())
    mark = taints.Taint("example.org/slow", "", taints.Effect.NO_SCHEDULE, BEGINNING, "ana")
    health = cluster_health.ClusterHealth("us", taints=(mark,))
    found = [
        *(action for run in runs for action in offered(run)),
        *actions.of_application(facts, everything(), at(1)),
        *actions.of_cluster(fleets.Cluster("us"), health, everything(), at(1), there=2),
    ]

    assert len({action.command for action in found}) > 20
    for action in found:
        check_command(action.command)


def check_command(text: str) -> None:
    """Read a command as the command line does, without carrying it out."""
    name, *words = shlex.split(text)
    assert name == "volary"
    command = typer.main.get_command(main.app)
    while isinstance(command, click.Group):
        known = command.commands[words.pop(0)]
        command = known
    command.make_context("volary", words).close()


def test_a_cluster_is_cordoned_once_and_a_rules_taint_stays() -> None:
    by_rule = taints.Taint(
        taints.UNREACHABLE, "", taints.Effect.NO_SCHEDULE, BEGINNING, taints.BY_RULE, "silent"
    )
    cordon = taints.Taint(taints.CORDONED, "", taints.Effect.NO_SCHEDULE, BEGINNING, "bo", "slow")
    health = cluster_health.ClusterHealth("us", taints=(by_rule, cordon))

    found = {
        action.verb: action
        for action in actions.of_cluster(fleets.Cluster("us"), health, everything(), at(1), there=2)
    }

    assert found["cordon"].disabled_reason == "us is already cordoned by bo: slow"
    assert found["drain"].consequence == (
        "nothing new begins on us, and the 2 applications there move to other clusters where their"
        " spread allows it"
    )
    assert found["uncordon"].enabled
    assert not found["untaint"].enabled
    assert "follows from how us is: silent" in found["untaint"].disabled_reason
