"""A set is validated as a whole, written in order, and says what was written when it failed."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memory_client import (
    AUTOSCALERS,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    SERVICES,
    MemoryCluster,
    kind,
)
from volary.clusters.api import api_errors
from volary.clusters.apply import applier, apply_errors
from volary.manifests.ownership import field_managers
from volary.model import errors, json
from volary.model.objects import apply_results, manifest

Action = apply_results.Action
LOST = api_errors.Unreachable("no answer")
REFUSED = api_errors.Invalid("spec is wrong", status=422)
WIDGETS = kind("example.com", "Widget", "widgets")


def made(api: str, what: str, name: str, **more: Any) -> manifest.Manifest:
    metadata = {"name": name, **more.pop("metadata", {})}
    return manifest.Manifest({"apiVersion": api, "kind": what, "metadata": metadata, **more})


def config(name: str = "a", *, namespace: str = "", value: str = "1") -> manifest.Manifest:
    metadata = {"namespace": namespace} if namespace else {}
    return made("v1", "ConfigMap", name, metadata=metadata, data={"k": value})


def namespace(name: str = "web") -> manifest.Manifest:
    return made("v1", "Namespace", name)


def definition(listed: str = "Widgets") -> manifest.Manifest:
    spec = {"group": "example.com", "names": {"kind": "Widget", "listKind": listed}}
    return made("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets", spec=spec)


def widget(name: str = "gear", size: int = 1) -> manifest.Manifest:
    return made("example.com/v1", "Widget", name, spec={"size": size})


async def apply(
    cluster: MemoryCluster, *manifests: manifest.Manifest, **options: Any
) -> dict[str, Action]:
    changes = await applier.SetApply(cluster.client, applier.Options(**options)).apply(manifests)
    return actions(changes)


def actions(changes: apply_results.ChangeSet) -> dict[str, Action]:
    return {change.key.name: change.action for change in changes.changes}


def writes(cluster: MemoryCluster) -> list[str]:
    return [asked for asked in cluster.asked if asked.startswith(("patch", "create", "update"))]


def trials(cluster: MemoryCluster) -> list[str]:
    return [asked for asked in cluster.asked if asked.startswith("dry")]


async def test_every_object_is_tried_before_the_first_is_written() -> None:
    cluster = MemoryCluster()

    assert await apply(cluster, config("a"), config("b")) == {
        "a": Action.CREATED,
        "b": Action.CREATED,
    }
    firsts = [asked.split()[0] for asked in cluster.asked if "patch" in asked]
    assert firsts == ["dry", "dry", "patch", "patch"]


@pytest.mark.parametrize("names", ["a", "ab"])
async def test_whoever_keeps_objects_as_they_are_sees_them_before_the_first_write(
    names: str,
) -> None:
    """And what could not be kept is not written, nor anything else of the set."""
    cluster = MemoryCluster()
    await cluster.apply(CONFIG_MAPS, config("a", value="old").body, field_manager="volary-traffic")
    cluster.asked.clear()
    seen: list[json.JsonObject] = []

    async def refuse(live: Any) -> None:
        seen.extend(live)
        raise errors.user_error("it is too large", hint="leave it out")

    with pytest.raises(apply_errors.ApplyError) as no:
        await apply(cluster, *map(config, names), before_writing=refuse)

    assert [body["data"] for body in seen] == [{"k": "old"}]
    assert no.value.problems == (errors.Problem("it is too large", hint="leave it out"),)
    assert not no.value.touched
    assert writes(cluster) == []


async def test_a_single_change_is_not_tried_first() -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("a"), config("b"))
    cluster.asked.clear()

    done = await apply(cluster, config("a", value="2"), config("b"))

    assert done == {"a": Action.CONFIGURED, "b": Action.UNCHANGED}
    assert trials(cluster) == []
    assert writes(cluster) == ["patch configmaps/a"]


async def test_what_is_proven_unchanged_costs_no_write() -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("a"), config("b"))
    cluster.asked.clear()

    assert set((await apply(cluster, config("a"), config("b"))).values()) == {Action.UNCHANGED}
    assert writes(cluster) == trials(cluster) == []


async def test_one_that_is_refused_keeps_all_from_being_written() -> None:
    cluster = MemoryCluster(refusals={"dry patch configmaps/b": REFUSED})

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, config("a"), config("b"))

    assert not caught.value.touched
    assert caught.value.changes.changes == ()
    assert caught.value.causes == (REFUSED,)
    assert [str(problem) for problem in caught.value.problems] == [
        "ConfigMap default/b on cluster us: spec is wrong"
    ]
    assert cluster.objects == {}


async def test_all_problems_are_reported_and_those_in_common_once() -> None:
    missing = api_errors.NotFound('namespaces "default" not found', status=404, reason="NotFound")
    cluster = MemoryCluster(refusals={"dry patch configmaps": missing})

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, config("a"), config("b"))

    (problem,) = caught.value.problems
    assert problem.message == "namespace default does not exist on cluster us"
    assert len(caught.value.causes) == 2


@pytest.mark.parametrize(("error", "touched"), [(REFUSED, False), (LOST, True)])
async def test_a_failed_write_says_what_was_written_until_then(
    error: errors.VolaryError, touched: bool
) -> None:
    cluster = MemoryCluster(refusals={"patch services/b": error, "patch configmaps/a": error})
    service = made("v1", "Service", "b", spec={"ports": []})

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, config("a"), service)

    assert caught.value.touched is touched
    assert apply_errors.unreachable(caught.value) is (LOST if touched else None)


async def test_a_write_that_was_made_counts_as_touched() -> None:
    cluster = MemoryCluster(refusals={"patch deployments": REFUSED})
    workload = made("apps/v1", "Deployment", "web", spec={"replicas": 1})

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, config("a"), workload)

    assert caught.value.touched
    assert actions(caught.value.changes) == {"a": Action.CREATED}
    assert cluster.find(CONFIG_MAPS, "a") is not None


async def test_a_dry_run_without_an_answer_touched_nothing() -> None:
    cluster = MemoryCluster(refusals={"dry patch configmaps/a": LOST})

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, config("a"), config("b"))

    assert not caught.value.touched
    assert apply_errors.unreachable(caught.value) is LOST
    assert apply_errors.unreachable(LOST) is LOST
    assert apply_errors.unreachable(REFUSED) is None


async def test_a_namespace_of_the_set_is_written_before_what_lives_in_it_is_tried() -> None:
    cluster = MemoryCluster()
    done = await apply(cluster, config("x", namespace="web"), config("y"), namespace())

    assert done == {"web": Action.CREATED, "x": Action.CREATED, "y": Action.CREATED}
    asked = [one for one in cluster.asked if "patch" in one]
    assert asked.index("patch namespaces/web") < asked.index("dry patch configmaps/x")
    assert asked.index("dry patch configmaps/y") < asked.index("patch namespaces/web")
    assert asked.index("dry patch namespaces/web") < asked.index("patch namespaces/web")


async def test_a_namespace_that_is_there_is_no_reason_to_wait() -> None:
    cluster = MemoryCluster()
    cluster.put(NAMESPACES, {"metadata": {"name": "web"}})
    await apply(cluster, config("x", namespace="web"), config("y"), namespace())

    asked = [one for one in cluster.asked if "patch" in one]
    first_write = next(i for i, one in enumerate(asked) if one.startswith("patch"))
    assert all(one.startswith("dry") for one in asked[:first_write])
    assert "dry patch configmaps/x" in asked[:first_write]


async def test_a_namespace_that_nothing_lives_in_is_like_any_object() -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("y"), namespace())

    asked = [one.split()[0] for one in cluster.asked if "patch" in one]
    assert asked == ["dry", "dry", "patch", "patch"]


async def test_what_fails_after_its_namespace_was_written_says_so() -> None:
    cluster = MemoryCluster(refusals={"dry patch configmaps/x": REFUSED})

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(
            cluster, config("x", namespace="web"), config("z", namespace="web"), namespace()
        )

    assert actions(caught.value.changes) == {"web": Action.CREATED}
    assert caught.value.touched
    assert cluster.find(CONFIG_MAPS, "z", "web") is None


@pytest.mark.parametrize("create", [True, False])
async def test_missing_namespaces_are_made_on_request(create: bool) -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("x", namespace="web"), create_namespaces=create)

    assert (cluster.find(NAMESPACES, "web") is not None) is create


async def test_a_namespace_that_may_not_be_read_is_believed_to_be_there() -> None:
    forbidden = api_errors.Forbidden("no", status=403)
    cluster = MemoryCluster(refusals={"get namespaces/web": forbidden})
    done = await apply(cluster, config("x", namespace="web"), create_namespaces=True)

    assert done == {"x": Action.CREATED}


async def test_one_that_is_there_or_in_the_set_is_not_made() -> None:
    cluster = MemoryCluster()
    cluster.put(NAMESPACES, {"metadata": {"name": "web"}})
    done = await apply(
        cluster,
        config("x", namespace="web"),
        config("y", namespace="own"),
        namespace("own"),
        create_namespaces=True,
    )

    assert set(done) == {"x", "y", "own"}
    assert cluster.asked.count("patch namespaces/own") == 1


@pytest.mark.looptime
async def test_a_kind_of_the_set_itself_is_waited_for() -> None:
    cluster = MemoryCluster()
    refreshes = 0

    def serve(asked: str) -> None:
        nonlocal refreshes
        refreshes += asked == "refresh kinds"
        if refreshes == 4 and WIDGETS not in cluster.resources:
            cluster.resources.append(WIDGETS)

    cluster.before = serve
    done = await apply(cluster, widget(), definition(), config())

    assert done == {"widgets": Action.CREATED, "gear": Action.CREATED, "a": Action.CREATED}
    definition_written = "patch customresourcedefinitions/widgets"
    asked = [one for one in cluster.asked if "patch" in one]
    assert asked.index("dry patch configmaps/a") < asked.index(definition_written)
    assert asked.index(definition_written) < asked.index("dry patch widgets/gear")


@pytest.mark.looptime
async def test_a_kind_that_is_never_served_ends_the_wait() -> None:
    cluster = MemoryCluster()

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, widget(), definition(), timeout=timedelta(seconds=7))

    assert str(caught.value) == "Widget is not served 7 s after its definition"
    assert actions(caught.value.changes) == {"widgets": Action.CREATED}
    # 0.1, 0.2, 0.4, then 0.8 seconds apart.
    assert 9 <= cluster.asked.count("refresh kinds") <= 12


async def _with_widgets() -> MemoryCluster:
    cluster = MemoryCluster(resources=[*MemoryCluster().resources, WIDGETS])
    await apply(cluster, definition(), widget(), config())
    cluster.asked.clear()
    return cluster


@pytest.mark.looptime
async def test_servers_may_go_on_by_the_old_schema_for_a_while() -> None:
    cluster = await _with_widgets()
    loop = asyncio.get_running_loop()
    began = loop.time()

    def follow(asked: str) -> None:
        if asked.startswith("dry patch widgets") and loop.time() - began < 3:
            raise REFUSED

    cluster.before = follow
    done = await apply(cluster, definition("Gears"), widget(size=2), config())

    assert done["widgets"] is done["gear"] is Action.CONFIGURED
    assert writes(cluster) == ["patch customresourcedefinitions/widgets", "patch widgets/gear"]
    assert 3 <= loop.time() - began < 5


@pytest.mark.looptime
async def test_what_never_fits_the_changed_schema_is_told_after_a_while() -> None:
    cluster = await _with_widgets()
    cluster.refusals["dry patch widgets"] = REFUSED
    began = asyncio.get_running_loop().time()

    with pytest.raises(apply_errors.ApplyError, match="spec is wrong") as caught:
        await apply(cluster, definition("Gears"), widget(size=2))

    assert caught.value.touched
    assert 10 <= asyncio.get_running_loop().time() - began < 12


@pytest.mark.looptime
async def test_a_missing_permission_is_not_waited_for() -> None:
    cluster = await _with_widgets()
    cluster.refusals["dry patch widgets"] = api_errors.Forbidden("no", status=403)
    began = asyncio.get_running_loop().time()

    with pytest.raises(apply_errors.ApplyError, match="no"):
        await apply(cluster, definition("Gears"), widget(size=2))

    assert asyncio.get_running_loop().time() == began


async def test_an_unchanged_definition_judges_its_objects_before_anything_is_written() -> None:
    cluster = await _with_widgets()
    cluster.refusals["dry patch widgets"] = REFUSED

    with pytest.raises(apply_errors.ApplyError, match="spec is wrong") as caught:
        await apply(cluster, definition(), widget(size=2), config(value="2"))

    assert not caught.value.touched


async def test_a_version_that_the_live_definition_lacks_is_waited_for() -> None:
    newer = kind("example.com", "Widget", "widgets", version="v2")
    cluster = await _with_widgets()

    def serve(asked: str) -> None:
        if asked == "patch customresourcedefinitions/widgets":
            cluster.resources.append(newer)

    cluster.before = serve
    second = made("example.com/v2", "Widget", "second", spec={"size": 1})
    done = await apply(cluster, definition("Gears"), second)

    assert done == {"widgets": Action.CONFIGURED, "second": Action.CREATED}


async def test_a_definition_without_objects_of_its_kind_is_like_any_object() -> None:
    cluster = MemoryCluster()
    await apply(cluster, definition(), config())

    asked = [one.split()[0] for one in cluster.asked if "patch" in one]
    assert asked == ["dry", "dry", "patch", "patch"]
    assert cluster.find(DEFINITIONS, "widgets", "") is not None


async def test_an_unknown_kind_or_a_foreign_namespace_is_refused_before_anything() -> None:
    cluster = MemoryCluster()

    with pytest.raises(apply_errors.ApplyError) as unknown:
        await apply(cluster, widget(), config())
    with pytest.raises(apply_errors.ApplyError) as foreign:
        await apply(cluster, config(), config("x", namespace="web"), namespaces=("default",))

    assert "does not know the kind Widget" in str(unknown.value)
    assert "only default may be used" in str(foreign.value)
    assert writes(cluster) == trials(cluster) == []


async def test_a_preview_writes_nothing_and_says_the_same() -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("a"), config("b"))
    before = dict(cluster.objects)
    sets = [config("a", value="2"), config("b"), config("c"), config("x", namespace="web")]

    previewed = await applier.SetApply(cluster.client).preview(
        [*sets, namespace(), widget(), definition()]
    )

    assert actions(previewed) == {
        "a": Action.CONFIGURED,
        "b": Action.UNCHANGED,
        "c": Action.CREATED,
        "web": Action.CREATED,
        "x": Action.CREATED,
        "gear": Action.CREATED,
        "widgets": Action.CREATED,
    }
    assert cluster.objects == before


async def test_a_closer_look_has_both_sides_of_every_object() -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("a"), config("b"))
    wanted = [config("a", value="2"), config("b"), config("c"), config("x", namespace="web")]

    looks = await applier.SetApply(cluster.client).inspect([*wanted, namespace()])

    sides: dict[str, tuple[Any, Any]] = {
        look.change.key.name: (_data(look.before), _data(look.after)) for look in looks
    }
    assert sides["a"] == ("1", "2")
    assert sides["b"] == ("1", "1")
    assert sides["c"] == (None, "1")
    assert sides["x"] == (None, "1")
    assert set(sides) == {"a", "b", "c", "x", "web"}


def _data(body: json.JsonObject | None) -> Any:
    return None if body is None else body.get("data", {}).get("k")


async def test_a_closer_look_that_is_refused_says_why() -> None:
    cluster = MemoryCluster(refusals={"get configmaps/a": LOST})

    with pytest.raises(errors.VolaryError):
        await applier.SetApply(cluster.client).inspect([config("a")])


async def test_replicas_that_an_autoscaler_decides_are_left_to_it() -> None:
    cluster = MemoryCluster()
    web = made("apps/v1", "Deployment", "web", spec={"replicas": 1, "paused": False})
    await apply(cluster, web)
    live = cluster.find(DEPLOYMENTS, "web")
    assert live is not None
    cluster.put(DEPLOYMENTS, {**live, "spec": {**live["spec"], "replicas": 7}})
    cluster.put(
        AUTOSCALERS,
        {
            "metadata": {"name": "web"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
        },
    )
    paused = made("apps/v1", "Deployment", "web", spec={"replicas": 1, "paused": True})

    await apply(cluster, paused)

    after = cluster.find(DEPLOYMENTS, "web")
    assert after is not None
    assert after["spec"] == {"replicas": 7, "paused": True}


async def test_many_of_a_kind_are_listed_and_few_are_asked_for() -> None:
    cluster = MemoryCluster()
    labelled = [
        made("v1", "ConfigMap", name, metadata={"labels": {"app": "shop"}}) for name in "abc"
    ]
    await apply(cluster, *labelled, made("v1", "Service", "s", metadata={"labels": {"app": "x"}}))

    assert "list configmaps/default" in cluster.asked
    assert "get services/s" in cluster.asked
    assert "get configmaps/a" not in cluster.asked
    assert cluster.find(SERVICES, "s") is not None


async def test_kinds_that_may_not_be_listed_are_asked_for_one_by_one() -> None:
    forbidden = api_errors.Forbidden("no", status=403)
    cluster = MemoryCluster(refusals={"list configmaps": forbidden, "get configmaps/b": forbidden})
    labelled = [
        made("v1", "ConfigMap", name, metadata={"labels": {"app": "shop"}}) for name in "abc"
    ]

    assert set((await apply(cluster, *labelled)).values()) == {Action.CREATED}
    assert "get configmaps/a" in cluster.asked


async def test_the_field_manager_and_force_are_those_of_the_options() -> None:
    cluster = MemoryCluster()
    await apply(cluster, config("a"), config("b"), field_manager="other")

    with pytest.raises(apply_errors.ApplyError) as caught:
        await apply(cluster, config("a", value="2"), config("b", value="2"))
    assert "other owns .data.k" in str(caught.value)
    done = await apply(cluster, config("a", value="2"), config("b", value="2"), force=True)

    assert set(done.values()) == {Action.CONFIGURED}
    assert field_managers.MANAGER not in ("other", "")
