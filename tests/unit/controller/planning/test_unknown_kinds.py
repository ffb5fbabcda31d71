"""Which kinds are named before a run, because nobody could tell when they are healthy."""

from volary.clusters.apply import dry_runs
from volary.controller.planning import preflight
from volary.model import json
from volary.model.objects import apply_results, manifest, object_health

ANY = apply_results.Change(manifest.ResourceKey("g", "K", "n", "a"), apply_results.Action.CREATED)


def body(kind: str, group: str = "example.org", **status: object) -> json.JsonObject:
    made = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}}
    return {**made, "status": status} if status else made


def previewed(
    after: json.JsonObject | None, before: json.JsonObject | None = None
) -> dry_runs.ObjectPreview:
    return dry_runs.ObjectPreview(ANY, before, after)


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def test_each_kind_that_nobody_knows_is_named_once_with_what_to_do() -> None:
    new = [previewed(body("Widget")), previewed(body("Widget")), previewed(body("Gadget"))]

    assert preflight.warn_of_unknown_kinds(new, ()) == tuple(
        f"no rule says when a {kind} (example.org) is healthy: unless its controller writes a"
        " condition such as Ready, stages go on once it is there; give a rule under `health` of"
        " the application or the fleet file"
        for kind in ("Gadget", "Widget")
    )


def test_what_somebody_knows_is_not() -> None:
    known = [
        previewed(body("Deployment", "apps")),
        previewed({"apiVersion": "v1", "kind": "ConfigMap"}),
        previewed(body("Rollout", "argoproj.io")),
        previewed(body("Widget"), body("Widget", **READY)),
        previewed(body("Gadget")),
        previewed(None),
    ]
    rule = object_health.Rule("example.org", "Gadget", healthy="true")

    assert preflight.warn_of_unknown_kinds(known, (rule,)) == ()
