"""PipeCD's order of rules and its sentences (5.2, 5.3, 10.6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.manifests.ownership import tracking
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest, ownership
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_plans
from volary.planner import strategy

QUICK, PIPELINE = run_plans.Strategy.QUICK_SYNC, run_plans.Strategy.PIPELINE
STAGES = (
    pipelines.Stage(rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
)


def deployment(name: str = "web", *images: str, **spec: Any) -> manifest.Manifest:
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    return manifest.Manifest(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"template": template, **spec},
        }
    )


def config_map(name: str, kind: str = "ConfigMap", **data: str) -> manifest.Manifest:
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "data": data}
    return manifest.Manifest(body)


def service(name: str = "web") -> manifest.Manifest:
    return manifest.Manifest({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}})


WEB = deployment("web", "img.example/web:v1")
A = config_map("a", x="1")


@pytest.mark.parametrize(
    ("running", "target", "expected", "summary"),
    [
        (
            [service()], [WEB], QUICK,
            "Quick sync by applying all manifests because it was unable to find the currently "
            "running workloads",
        ),
        (
            [WEB], [service()], QUICK,
            "Quick sync by applying all manifests because it was unable to find workloads in the "
            "new manifests",
        ),
        (
            [WEB], [deployment("web", "img.example/web:v2")], PIPELINE,
            "Sync progressively because of updating image web from v1 to v2",
        ),
        (
            [WEB], [deployment("web", "img.example/shop:v2")], PIPELINE,
            "Sync progressively because of updating image web:v1 to shop:v2",
        ),
        (
            [deployment("web", "nginx:1.19.3", "redis:6.0.9")],
            [deployment("web", "redis:6.0.9", "nginx:1.19.3")], PIPELINE,
            "Sync progressively because of updating image nginx:1.19.3 to redis:6.0.9, "
            "image redis:6.0.9 to nginx:1.19.3",
        ),
        (
            [WEB], [deployment("web", "mirror.example/web:v1")], PIPELINE,
            "Sync progressively because of updating image img.example/web:v1 to "
            "mirror.example/web:v1",
        ),
        (
            [WEB], [deployment("web", "img.example/web:v1", "side:1")], PIPELINE,
            "Sync progressively because pod template of workload web was changed",
        ),
        ([WEB, A], [WEB], PIPELINE, "Sync progressively because 1 configmap/secret deleted"),
        (
            [WEB], [WEB, A, config_map("s", "Secret")], PIPELINE,
            "Sync progressively because new 2 configmap/secret added",
        ),
        (
            [WEB, A], [WEB, config_map("b", x="1")], PIPELINE,
            "Sync progressively because ConfigMap a was deleted",
        ),
        (
            [WEB, A], [WEB, config_map("a", x="2")], PIPELINE,
            "Sync progressively because ConfigMap a was updated",
        ),
        (
            [WEB, config_map("s", "Secret", x="MQ==")], [WEB, config_map("s", "Secret", x="Mg==")],
            PIPELINE, "Sync progressively because Secret s was updated",
        ),
        (
            [deployment("b", replicas=1), deployment("a", replicas=2)],
            [deployment("b"), deployment("a", replicas=3)], QUICK,
            "Quick sync to scale Deployment/a from 2 to 3, Deployment/b from 1 to <nil>",
        ),
        ([WEB], [WEB, deployment("new", "x:1")], QUICK, "Quick sync by applying all manifests"),
        ([WEB, service()], [WEB], QUICK, "Quick sync by applying all manifests"),
    ],
)  # fmt: skip
def test_what_changed_decides(
    running: list[manifest.Manifest],
    target: list[manifest.Manifest],
    expected: run_plans.Strategy,
    summary: str,
) -> None:
    found = strategy.compare(running, target, ())

    assert found == strategy.Decision(expected, summary)


def test_tracking_metadata_is_not_a_change() -> None:
    def tracked(commit: str) -> list[manifest.Manifest]:
        return [
            tracking.track(
                item,
                owner=ownership.Owner("shop", "shop-1"),
                commit=commit,
                variant=variant.Variant.PRIMARY,
                label=variant.VariantLabel(),
            )
            for item in [WEB, A]
        ]

    found = strategy.compare(tracked("c1"), tracked("c2"), ())

    assert found == strategy.Decision(QUICK, "Quick sync by applying all manifests")


def test_only_the_workloads_of_the_application_count() -> None:
    job = deployment("job", "job:1")
    references = [routing_options.ObjectReference("Deployment", "web")]

    found = strategy.compare([WEB, job], [WEB, deployment("job", "job:2")], references)

    assert found.strategy is QUICK


def app(**changes: Any) -> applications.Application:
    return applications.Application("shop", **{"pipeline": STAGES, **changes})


def decide(app: applications.Application, **arguments: Any) -> tuple[run_plans.Strategy, str]:
    defaults = {"running": {"us": [WEB]}, "target": {"us": [deployment("web", "web:2")]}}
    found = strategy.decide(app, **{**defaults, **arguments})
    return found.strategy, found.summary


MATCHER = applications.CommitMatcher(quick_sync="^docs", pipeline=r"^feat\d?:")
ALWAYS = applications.Planner(always_use_pipeline=True)


def test_what_the_user_asked_for_comes_first() -> None:
    quick = decide(app(planner=ALWAYS), forced=QUICK)
    pipeline = decide(app(), forced=PIPELINE, running={})

    assert quick == (QUICK, "Quick sync because it was asked for")
    assert pipeline == (PIPELINE, "Sync with the specified pipeline because it was asked for")


def test_a_pipeline_cannot_be_asked_for_where_there_is_none() -> None:
    with pytest.raises(errors.UserError, match="shop has none"):
        decide(app(pipeline=()), forced=PIPELINE)


def test_without_a_pipeline_everything_is_a_quick_sync() -> None:
    found = decide(app(pipeline=(), planner=ALWAYS))

    assert found == (QUICK, "Quick sync due to the pipeline was not configured")


def test_always_use_pipeline_holds_for_the_first_deployment_too() -> None:
    found = decide(app(planner=ALWAYS), running={})

    assert found == (PIPELINE, "Sync with the specified pipeline (alwaysUsePipeline was set)")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (
            "feat1: x\n\ndocs",
            (
                PIPELINE,
                'Sync progressively because the commit message was matching "^feat\\\\d?:"',
            ),
        ),
        ("docs: x", (QUICK, 'Quick sync because the commit message was matching "^docs"')),
    ],
)
def test_the_commit_subject_may_decide(
    subject: str, expected: tuple[run_plans.Strategy, str]
) -> None:
    assert decide(app(commit_matcher=MATCHER), subject=subject, running={}) == expected


def test_only_the_first_line_of_the_message_counts() -> None:
    strategy_, _ = decide(app(commit_matcher=MATCHER), subject="fix\ndocs")

    assert strategy_ is PIPELINE  # decided by the changed image


def test_an_invalid_expression_never_matches() -> None:
    matcher = applications.CommitMatcher(pipeline="[")

    assert decide(app(commit_matcher=matcher), subject="[", running={})[0] is QUICK


def test_the_first_deployment_is_a_quick_sync() -> None:
    found = decide(app(), running={"us": None})

    sentence = "Quick sync, it seems this is the first deployment of the application"
    assert found == (QUICK, sentence)


def test_one_cluster_that_needs_the_pipeline_decides_for_all() -> None:
    changed = [deployment("web", "img.example/web:v2")]
    found = decide(
        app(),
        running={"us": [WEB], "eu": [WEB], "new": None},
        target={"new": changed, "us": [WEB], "eu": changed},
    )

    sentence = "Sync progressively because of updating image web from v1 to v2"
    assert found == (PIPELINE, sentence)


def test_a_particular_reason_is_kept_among_several_clusters() -> None:
    """PipeCD loses it (D40)."""
    one, two = [deployment("web", replicas=1)], [deployment("web", replicas=2)]
    found = decide(app(), running={"us": one, "eu": one}, target={"us": list(one), "eu": two})

    assert found == (QUICK, "Quick sync to scale Deployment/web from 1 to 2")


@given(st.lists(st.sampled_from([WEB, A, service(), deployment("b", "b:1")]), max_size=4))
def test_the_same_manifests_never_need_the_pipeline(manifests: list[manifest.Manifest]) -> None:
    assert strategy.compare(manifests, list(manifests), ()).strategy is QUICK


def targeted(version: str, port: int = 80) -> manifest.Manifest:
    body = service().body
    spec = {"selector": {"version": version}, "ports": [{"port": 80, "targetPort": port}]}
    return manifest.Manifest({**body, "spec": spec})


@pytest.mark.parametrize(
    ("target", "expected", "summary"),
    [
        (targeted("v2"), PIPELINE, "Sync progressively because Service web leads to other pods"),
        (
            targeted("v1", 81), PIPELINE,
            "Sync progressively because spec.ports.0.targetPort of Service web was changed",
        ),
        (targeted("v1"), QUICK, "Quick sync by applying all manifests"),
    ],
)  # fmt: skip
def test_where_a_service_leads_is_a_change_of_it(
    target: manifest.Manifest, expected: run_plans.Strategy, summary: str
) -> None:
    """Its pods are another matter: who serves the running version is not tried."""
    references = (routing_options.ObjectReference("Service", "web"),)
    found = strategy.compare(
        [targeted("v1"), deployment("web", "a:v1")],
        [target, deployment("web", "a:v2")],
        references,
    )

    assert (found.strategy, found.summary) == (expected, summary)


@pytest.mark.parametrize(
    ("message", "summary"),
    [
        (
            "Größe: gemessen",
            'Sync progressively because the commit message was matching "Größe"',
        ),
        ("docs: Größe", 'Sync progressively because the commit message was matching "Größe"'),
        ("docs: a word", 'Quick sync because the commit message was matching "^docs"'),
        # Of a subject without end the first 500 characters count.
        (
            f"{'x' * 495}Größe",
            'Sync progressively because the commit message was matching "Größe"',
        ),
        (f"{'x' * 496}Größe", None),
        # The subject alone counts, and no expression matches nothing.
        ("fix\n\ndocs, Größe", None),
        ("", None),
    ],
)
def test_the_expression_is_quoted_as_it_was_written(message: str, summary: str | None) -> None:
    matcher = applications.CommitMatcher(quick_sync="^docs", pipeline="Größe")
    app = applications.Application("web", pipeline=STAGES, commit_matcher=matcher)

    decision = strategy.decide(app, running={"us": [WEB]}, target={"us": [WEB]}, subject=message)

    if summary is None:
        assert "the commit message" not in decision.summary
    else:
        assert decision.summary == summary


def test_expressions_that_are_empty_or_wrong_match_nothing() -> None:
    for matcher in (applications.CommitMatcher(), applications.CommitMatcher("(", "[")):
        app = applications.Application("web", pipeline=STAGES, commit_matcher=matcher)
        decision = strategy.decide(
            app, running={"us": [WEB]}, target={"us": [WEB]}, subject="( anything ["
        )
        assert "the commit message" not in decision.summary
