"""Which kinds are named before a run, because nobody could tell when they are healthy."""

from volary.clusters import steps
from volary.controller import unknown_kinds
from volary.model import change, health, json, resource

ANY = change.Change(resource.ResourceKey("g", "K", "n", "a"), change.Action.CREATED)


def body(kind: str, group: str = "example.org", **status: object) -> json.JsonObject:
    made = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}}
    return {**made, "status": status} if status else made


def foreseen(
    after: json.JsonObject | None, before: json.JsonObject | None = None
) -> steps.Foreseen:
    return steps.Foreseen(ANY, before, after)


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def test_each_kind_that_nobody_knows_is_named_once_with_what_to_do() -> None:
    new = [foreseen(body("Widget")), foreseen(body("Widget")), foreseen(body("Gadget"))]

    assert unknown_kinds.warnings(new, ()) == tuple(
        f"no rule says when a {kind} (example.org) is healthy: unless its controller writes a"
        " condition such as Ready, stages go on once it is there; give a rule under `health` of"
        " the application or the fleet file"
        for kind in ("Gadget", "Widget")
    )


def test_what_somebody_knows_is_not() -> None:
    known = [
        foreseen(body("Deployment", "apps")),
        foreseen({"apiVersion": "v1", "kind": "ConfigMap"}),
        foreseen(body("Rollout", "argoproj.io")),
        foreseen(body("Widget"), body("Widget", **READY)),
        foreseen(body("Gadget")),
        foreseen(None),
    ]
    rule = health.Rule("example.org", "Gadget", healthy="true")

    assert unknown_kinds.warnings(known, (rule,)) == ()
