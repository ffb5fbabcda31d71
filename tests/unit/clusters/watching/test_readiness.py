"""What is missing until a set is ready, in the sentence an operator reads."""

import pytest

from volary.clusters.watching import readiness
from volary.model import json
from volary.model.objects import manifest, object_health


def deployment(**status: object) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop-canary", "namespace": "web", "generation": 2},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "shop", "variant": "canary"}},
            "template": {
                "metadata": {"labels": {"app": "shop", "variant": "canary"}},
                "spec": {"containers": [{"name": "shop", "image": "shop:2"}]},
            },
        },
        "status": {"observedGeneration": 2, **status},
    }


def pod(
    name: str, *, image: str = "shop:2", waiting: str = "", of: str = "shop-canary"
) -> json.JsonObject:
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    return {
        "metadata": {
            "name": name,
            "namespace": "web",
            "labels": {"app": "shop", "variant": "canary", "pod-template-hash": "5f"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": f"{of}-5f", "controller": True}],
        },
        "spec": {
            "containers": [{"name": "shop", "image": image}, {"name": "proxy", "image": "proxy:1"}]
        },
        "status": {
            "phase": "Pending" if waiting else "Running",
            "containerStatuses": [{"name": "shop", "state": state}],
        },
    }


def judge(live: json.JsonObject | None, *pods: json.JsonObject) -> readiness.Readiness:
    item = manifest.Manifest(deployment())
    seen = readiness.Observed()
    if live is not None:
        seen.objects[item.key] = live
    for each in pods:
        seen.pods[("web", each["metadata"]["name"])] = each
    return readiness.assess([item], seen)


READY = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
HALF = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1}


def test_all_pods_of_the_newest_generation_are_ready() -> None:
    found = judge(deployment(**READY))

    assert found.is_complete
    assert (found.ready, found.total, found.sentence) == (2, 2, "2 of 2 ready")


def test_a_status_of_an_older_generation_says_nothing() -> None:
    found = judge(deployment(**READY) | {"status": {**READY, "observedGeneration": 1}})

    assert not found.is_complete
    assert found.ready == 0


def test_the_sentence_names_workload_pod_and_reason() -> None:
    found = judge(deployment(**HALF), pod("shop-canary-x", waiting="ImagePullBackOff"))

    assert found.sentence == (
        "shop-canary: 1 of 2 pods available; pod shop-canary-x: ImagePullBackOff"
    )
    assert (found.ready, found.total) == (1, 2)
    assert "ImagePullBackOff" in found.stuck
    assert not found.permanent_failure


def test_a_crash_loop_may_still_heal() -> None:
    found = judge(deployment(**HALF), pod("shop-canary-x", waiting="CrashLoopBackOff"))

    assert "CrashLoopBackOff" in found.sentence
    assert not found.stuck


@pytest.mark.parametrize("change", ["old", "deleted", "foreign", "a stranger's"])
def test_pods_that_are_not_of_the_newest_revision_do_not_matter(change: str) -> None:
    other = pod("x", waiting="ImagePullBackOff", image="shop:1" if change == "old" else "shop:2")
    if change == "deleted":
        other["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if change == "foreign":
        other["metadata"]["labels"] = {"app": "other"}
    if change == "a stranger's":
        other["metadata"]["ownerReferences"][0]["name"] = "stranger-5f"

    found = judge(deployment(**HALF), other)

    assert found.sentence == "shop-canary: 1 of 2 pods available"
    assert not found.stuck


def test_what_its_controller_has_given_up_is_hopeless() -> None:
    condition = {
        "type": "Progressing",
        "status": "False",
        "reason": "ProgressDeadlineExceeded",
        "message": "has timed out progressing",
    }

    found = judge(deployment(**HALF, conditions=[condition]))

    assert "shop-canary" in found.permanent_failure
    assert not found.is_complete


def test_an_object_that_went_is_hopeless() -> None:
    found = judge(None)

    assert found.permanent_failure == "Deployment web/shop-canary is gone"


def test_a_paused_deployment_never_gets_there() -> None:
    live = deployment(**HALF)
    live["spec"]["paused"] = True

    assert "paused" in judge(live).permanent_failure


def test_many_sentences_are_cut() -> None:
    assert readiness.listed(["a", "b", "c", "d", "e"]) == "a; b; c; and 2 more"


def thing(status: json.JsonObject | None = None, **spec: object) -> json.JsonObject:
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "gear", "namespace": "web", "generation": 1},
        "spec": spec,
    }
    return body if status is None else {**body, "status": status}


def judge_thing(
    live: json.JsonObject,
    *rules: object_health.Rule,
    wanted: json.JsonObject | None = None,
    tells: bool = False,
) -> readiness.Readiness:
    item = manifest.Manifest(wanted or thing())
    seen = readiness.Observed(telling=frozenset({item.key} if tells else ()))
    seen.objects[item.key] = live
    return readiness.assess([item], seen, rules)


RULE = object_health.Rule(
    "example.com",
    "Thing",
    healthy="object.status.phase == 'Up'",
    degraded="object.status.phase == 'Broken'",
    suspended="has(object.spec.paused) && object.spec.paused",
)
UNRULED = ("Thing web/gear: no rule says when a Thing (example.com) is healthy",)


def test_a_kind_without_a_rule_holds_nobody_up_and_is_named() -> None:
    found = judge_thing(thing())

    assert (found.is_complete, found.silent, found.unassessed) == (True, False, UNRULED)


def test_a_controller_that_has_said_nothing_yet_may_still_say_something() -> None:
    assert judge_thing(thing(), tells=True).silent
    assert not judge_thing(thing({"phase": "Up"}), tells=True).silent


def test_a_users_rule_decides() -> None:
    building = judge_thing(thing({"phase": "Building"}), RULE)
    up = judge_thing(thing({"phase": "Up"}), RULE)

    assert (building.is_complete, building.unassessed) == (False, ())
    assert building.sentence == "gear: not yet: object.status.phase == 'Up'"
    assert up.is_complete


def test_a_rule_that_cannot_be_evaluated_is_never_ready() -> None:
    found = judge_thing(thing(), RULE)

    assert not found.is_complete
    assert found.sentence == "gear: degraded cannot be determined: there is no status"


def test_a_degraded_custom_object_seldom_mends() -> None:
    found = judge_thing(thing({"phase": "Broken"}), RULE)

    assert (found.is_complete, found.permanent_failure) == (False, "")
    assert found.stuck == "gear: object.status.phase == 'Broken'"
    assert judge_thing(thing({"phase": "Building"}), RULE).stuck == ""


def test_a_degraded_object_of_kubernetes_itself_often_mends() -> None:
    rule = object_health.Rule("apps", "Deployment", healthy="false", degraded="true")
    item = manifest.Manifest(deployment())
    seen = readiness.Observed(objects={item.key: deployment()})

    found = readiness.assess([item], seen, [rule])

    assert (found.is_complete, found.stuck) == (False, "")


def test_what_is_suspended_as_written_is_not_waited_for_and_what_somebody_stopped_is() -> None:
    stopped = thing({"phase": "Up"}, paused=True)

    assert judge_thing(stopped, RULE, wanted=thing({"phase": "Up"}, paused=True)).is_complete
    assert not judge_thing(stopped, RULE).is_complete


def rollout(phase: str, **spec: object) -> json.JsonObject:
    body = deployment(
        replicas=2, updatedReplicas=1, availableReplicas=2, phase=phase, message="CanaryPauseStep"
    )
    body["status"]["observedGeneration"] = "2"
    body["spec"].update(spec)
    return {**body, "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}


def test_a_rollout_that_waits_for_a_person_is_waited_for_and_one_paused_in_git_is_not() -> None:
    waiting = judge_thing(rollout("Paused"), wanted=rollout(""))
    paused = judge_thing(rollout("Paused", paused=True), wanted=rollout("", paused=True))

    assert (waiting.is_complete, waiting.permanent_failure) == (False, "")
    assert waiting.sentence == "shop-canary: paused: CanaryPauseStep"
    assert (waiting.ready, waiting.total) == (1, 2)
    assert paused.permanent_failure


def test_a_degraded_rollout_is_stuck_by_the_pod_that_cannot_heal() -> None:
    live = rollout("Degraded")
    item = manifest.Manifest(rollout(""))
    broken = pod("shop-canary-x", waiting="ImagePullBackOff")
    seen = readiness.Observed(objects={item.key: live}, pods={("web", "shop-canary-x"): broken})

    alone = readiness.assess([item], readiness.Observed(objects={item.key: live}))
    found = readiness.assess([item], seen)

    assert alone.stuck == "shop-canary: CanaryPauseStep"
    assert found.stuck.startswith(f"{alone.stuck}; pod shop-canary-x: ImagePullBackOff")


def test_what_is_not_known_is_not_counted_as_ready() -> None:
    ready, item = deployment(**READY), manifest.Manifest(deployment())
    other = manifest.Manifest(thing())
    seen = readiness.Observed(objects={item.key: ready, other.key: thing()})

    assert readiness.assess([item, other], seen).sentence == "2 of 2 ready, 1 of unknown health"
    assert judge_thing(thing()).sentence == "there, 1 of unknown health"


def test_a_pod_that_cannot_heal_is_stuck_and_named() -> None:
    evicted = pod("shop-canary-x")
    evicted["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}

    found = judge(deployment(**HALF), evicted)

    assert found.sentence.endswith("pod shop-canary-x: Evicted")
    assert found.stuck.endswith("pod shop-canary-x: Evicted: low on memory")
