"""Questions to the webhooks of a stage, and reports of what happens."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

import scripted_server
import stage_contexts
from memory_world import LoopClock
from volary.engine import executor
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import webhook
from volary.stages.runtime import execution, stage_webhooks

Kind = webhook.WebhookType
#: Is not called at all, which is a refusal.
REFUSED = "http://169.254.169.254/"
WHY = "is not called: it leads to a metadata service or another link-local address"


def hook(name: str, url: str, kind: Kind = Kind.ROLLOUT, **given: Any) -> webhook.Webhook:
    return webhook.Webhook(name=name, url=url, type=kind, **given)


def asking(*hooks: webhook.Webhook, **given: Any) -> stage_webhooks.StageWebhooks:
    context = stage_contexts.context(report=stage_contexts.Report(), **given)
    work = execution.Work(context, asyncio.get_running_loop().time() + 100)
    about = stage_webhooks.subject(context, [])
    return stage_webhooks.StageWebhooks(work, hooks, about)


def report(made: stage_webhooks.StageWebhooks) -> Any:
    return made.work.context.report


def item(kind: str, name: str, namespace: str = "") -> manifest.Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    api = "apps/v1" if kind == "Deployment" else "v1"
    return manifest.Manifest({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": {}})


def test_what_is_asked_about_is_where_the_workloads_are() -> None:
    context = stage_contexts.context()
    source = [item("ConfigMap", "a", "other"), item("Deployment", "shop", "home")]

    about = stage_webhooks.subject(context, source, phase="Waiting", details={"a": 1})

    assert (about.name, about.namespace, about.cluster) == ("shop", "home", "us")
    assert (about.phase, about.details) == ("Waiting", {"a": 1})
    assert about.checksum == stage_webhooks.checksum(source)
    assert about.attempt == context.attempt_id()
    assert about.attempt.endswith("/us/1")
    plain = stage_webhooks.subject(context, [item("Deployment", "shop")])
    assert (plain.namespace, plain.phase, plain.details) == ("default", "Progressing", {})
    assert stage_webhooks.subject(context, []).namespace == "default"


def test_only_the_applications_own_workloads_count() -> None:
    named = applications.Application(
        name="shop", workloads=(routing_options.ObjectReference("Deployment", "b"),)
    )
    context = stage_contexts.context(application=named)
    source = [item("Deployment", "a", "x"), item("Deployment", "b", "y")]
    assert stage_webhooks.subject(context, source).namespace == "y"


def test_a_checksum_is_that_of_the_manifests_in_any_order() -> None:
    one, other = item("ConfigMap", "a"), item("ConfigMap", "b")
    turned = manifest.Manifest(dict(reversed(one.body.items())))

    assert stage_webhooks.checksum([one, other]) == stage_webhooks.checksum([other, turned])
    assert stage_webhooks.checksum([one]) != stage_webhooks.checksum([one, other])
    assert len(stage_webhooks.checksum([])) == 10


async def test_the_first_refusal_counts_and_only_those_of_the_type_are_asked() -> None:
    async with scripted_server.serve() as gate:
        made = asking(
            hook("other", f"{gate.url}/other", Kind.ROLLBACK),
            hook("a", f"{gate.url}/a"),
            hook("b", REFUSED),
            hook("c", f"{gate.url}/c"),
        )
        assert await made.refusal(Kind.ROLLOUT) == f"b {WHY}"
        assert await made.refusal(Kind.CONFIRM_ROLLOUT) == ""
        assert [asked.path for asked in gate.seen] == ["/a"]
    assert report(made).lines == [f"rollout: b {WHY}"]


@pytest.mark.parametrize(("mute", "said"), [(False, 2), (True, 1)])
async def test_a_refusal_may_be_said_once(mute: bool, said: int) -> None:
    made = asking(hook("a", REFUSED, mute_alert=mute))
    for _ in range(2):
        assert await made.refusal(Kind.ROLLOUT)
    assert len(report(made).lines) == said


async def test_a_refusal_after_an_agreement_is_said_again() -> None:
    async with scripted_server.serve() as gate:
        made = asking(hook("a", gate.url, mute_alert=True))
        gate.say(*(web.Response(status=status) for status in (403, 200, 403)))
        found = [await made.refusal(Kind.ROLLOUT) for _ in range(3)]
    assert found == ["a answered 403", "", "a answered 403"]
    assert report(made).lines == ["rollout: a answered 403"] * 2


async def test_the_first_that_agrees_is_named() -> None:
    async with scripted_server.serve() as gate:
        made = asking(hook("a", REFUSED, Kind.ROLLBACK), hook("b", gate.url, Kind.ROLLBACK))
        assert await made.agreement(Kind.ROLLBACK) == "b"
        assert await made.agreement(Kind.ROLLOUT) == ""
    assert await asking(hook("a", REFUSED, Kind.ROLLBACK)).agreement(Kind.ROLLBACK) == ""


async def test_whoever_is_informed_cannot_refuse() -> None:
    async with scripted_server.serve() as gate:
        made = asking(hook("a", REFUSED), hook("b", gate.url))
        await made.inform(Kind.ROLLOUT)
        assert len(gate.seen) == 1
    assert report(made).warnings == [f"rollout: a {WHY}"]


async def test_where_the_rollout_is_goes_along() -> None:
    async with scripted_server.serve() as gate:
        made = asking(hook("a", gate.url))
        made.describe(phase="Waiting", canaryWeight=10)
        await made.refusal(Kind.ROLLOUT)
        sent = gate.seen[0].json
    assert isinstance(sent, dict)
    assert (sent["phase"], sent["canaryWeight"]) == ("Waiting", 10)


async def test_a_question_ends_when_the_stage_is_stopped() -> None:
    stop = executor.StopFlag()
    stop.raise_flag("by ana")

    async def silence(_asked: scripted_server.Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with scripted_server.serve() as gate:
        gate.say(silence)
        with pytest.raises(execution.StoppedError):
            await asking(hook("a", gate.url), stop=stop).refusal(Kind.ROLLOUT)


@pytest.mark.parametrize("is_warning", [False, True])
async def test_events_are_reported_while_the_body_lasts(is_warning: bool) -> None:
    async with scripted_server.serve() as gate:
        made = asking(hook("a", gate.url, Kind.EVENT), clock=LoopClock())
        async with made.reporting():
            before = LoopClock().now()
            made.report("moved", is_warning=is_warning)
            made.report("moved again")
        after = LoopClock().now()
        first, second = (asked.json for asked in gate.seen)

    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["metadata"]["eventMessage"] == "moved"
    assert first["metadata"]["eventType"] == ("Warning" if is_warning else "Normal")
    assert second["metadata"]["eventType"] == "Normal"
    sent = int(first["metadata"]["timestamp"]) / 1000
    assert before.timestamp() - 1 <= sent <= after.timestamp()


async def test_of_many_events_the_oldest_are_dropped() -> None:
    async with scripted_server.serve() as gate:
        made = asking(hook("a", gate.url, Kind.EVENT))
        for number in range(60):
            made.report(str(number))
        async with made.reporting():
            pass
        messages = [asked.json["metadata"]["eventMessage"] for asked in gate.seen]  # type: ignore[index]
    assert messages == [str(number) for number in range(10, 60)]


async def test_one_that_takes_no_events_is_named_once() -> None:
    made = asking(hook("a", REFUSED, Kind.EVENT))
    async with made.reporting():
        made.report("one")
        made.report("two")
    assert report(made).warnings == [f"event: a {WHY}"]


@pytest.mark.looptime
async def test_reports_are_sent_for_a_short_time_after_the_stage() -> None:
    class Slow(stage_webhooks.StageWebhooks):
        async def _send(self) -> None:
            await asyncio.sleep(100)

    plain = asking(hook("a", REFUSED, Kind.EVENT))
    made = Slow(plain.work, plain.hooks, plain.about)

    async def fail() -> None:
        async with made.reporting():
            made.report("one")
            raise execution.StageFailedError("it failed")

    with pytest.raises(execution.StageFailedError, match="it failed"):
        await fail()
    assert asyncio.get_running_loop().time() == 5
    assert report(made).warnings == ["some reports to event webhooks could not be sent in time"]


@pytest.mark.looptime
async def test_without_event_webhooks_nothing_goes_on_beside() -> None:
    made = asking(hook("a", REFUSED))
    async with made.reporting():
        made.report("one")
        assert len(asyncio.all_tasks()) == 1


@pytest.mark.looptime
async def test_events_that_were_dropped_are_not_waited_for() -> None:
    made = asking(hook("watcher", REFUSED, Kind.EVENT))
    before = asyncio.get_running_loop().time()

    async with made.reporting():
        for number in range(60):
            made.report(f"event {number}")

    assert report(made).warnings == [f"event: watcher {WHY}"]
    assert asyncio.get_running_loop().time() == before
