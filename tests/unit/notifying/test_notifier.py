"""Notifications end to end, against a receiver on a socket of this machine."""

import asyncio
import hashlib
import hmac
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec import structs

import memory_outbox
import process_time
from volary.controller.persistence import notification_outbox
from volary.engine.observers import feed
from volary.model import applications, backoffs, server_settings, statuses
from volary.notifying import delivery, notices, notifier, outbox
from volary.store import factory, fencing

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
QUICK = delivery.Limits(
    backoff=backoffs.Backoff(timedelta(milliseconds=5), timedelta(seconds=1)),
    pace=timedelta(),
    save=timedelta(milliseconds=5),
)
SUBJECT = notices.Subject("shop", "run1", commit="0123456789", title="v2 <x>", targets=("us", "eu"))
STARTED = feed.RunStarted(
    at=AT, run="run1", application="shop", commit="c", running_commit="", targets=("us", "eu"),
    stages=("1-K8S_SYNC",),
)  # fmt: skip
STAGE = feed.StageStarted(
    at=AT, run="run1", stage="1-K8S_SYNC", stage_name="K8S_SYNC", targets=("us",), deadline=None
)
WAITING = feed.StageWaiting(
    at=AT, run="run1", stage="1-K8S_SYNC", stage_name="K8S_SYNC", reason="1 of 2 approvals"
)
ENDED = feed.RunFinished(
    at=AT, run="run1", status=statuses.RunStatus.FAILED, reason="eu failed", touched=("us",)
)


def task(target: str, status: statuses.TaskStatus | None = None) -> feed.RunEvent:
    common: dict[str, Any] = {
        "at": AT, "run": "run1", "stage": "1-K8S_SYNC", "stage_name": "K8S_SYNC",
        "target": target, "attempt": 1,
    }  # fmt: skip
    if status is None:
        return feed.TaskStarted(**common, deadline=None)
    return feed.TaskFinished(**common, status=status, reason="because", details=())


class FixedClock:
    """Always the same time."""

    def now(self) -> datetime:
        return AT


@dataclass
class Receiver:
    """What arrived, and what is answered."""

    url: str = ""
    seen: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    #: Status of the next answers; then 200.
    answers: list[int] = field(default_factory=list)
    slack: list[dict[str, Any]] = field(default_factory=list)
    #: Nothing is answered before.
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        await self.gate.wait()
        self.seen.append((request.path, dict(request.headers), await request.read()))
        status = self.answers.pop(0) if self.answers else 200
        if status == 302:
            return web.Response(status=302, headers={"Location": f"{self.url}/elsewhere"})
        answer = self.slack.pop(0) if self.slack else {"ok": True, "ts": f"{len(self.seen)}.0"}
        return web.json_response(answer, status=status)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in self.seen]

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.seen]

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(process_time.HANG):
            while True:
                if wanted():
                    return
                await asyncio.sleep(0.005)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    receiver.gate.set()
    app = web.Application()
    app.router.add_post("/{rest:.*}", receiver.take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield receiver
    finally:
        await runner.cleanup()


@asynccontextmanager
async def notifying(
    settings: server_settings.Notifications,
    receiver: Receiver,
    box: outbox.Outbox | None = None,
    limits: delivery.Limits = QUICK,
) -> AsyncIterator[notifier.Notifier]:
    opened = notifier.open_notifier(
        settings,
        box or memory_outbox.MemoryOutbox(),
        FixedClock(),
        slack_api=receiver.url,
        limits=limits,
    )
    async with opened as made, asyncio.TaskGroup() as group:
        delivering = group.create_task(made.keep_delivering())
        yield made
        delivering.cancel()


#: Of steps of runs.
VERSIONS = itertools.count(2)


def tell(run: notifier.RunNotifier, event: feed.RunEvent) -> None:
    """Keep a step of the run that says this, nowhere, and send what it is notified with."""
    run.post(run.prepare([event], next(VERSIONS)))


async def keep(run: notifier.RunNotifier, event: feed.RunEvent, box: outbox.Outbox) -> None:
    """Do so with a step that is kept."""
    step = run.prepare([event], next(VERSIONS))
    await box.save(outbox.Change(added=step.messages))
    run.post(step)


def to(receiver: server_settings.Receiver, **route: Any) -> server_settings.Notifications:
    return server_settings.Notifications(
        (server_settings.Route("all", receiver.name, **route),), (receiver,)
    )


def hook(receiver: Receiver, tmp_path: Path) -> server_settings.Receiver:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    return server_settings.Receiver(
        "hook", webhook=server_settings.OutgoingWebhook(f"{receiver.url}/in", "X-Sign", str(secret))
    )


def bot(tmp_path: Path) -> server_settings.Receiver:
    token = tmp_path / "token"
    token.write_text("xoxb-1\n")
    slack = server_settings.Slack("", str(token), "C1", ("@ana",), ("G1",))
    return server_settings.Receiver("chat", slack=slack)


async def test_a_webhook_is_signed_and_says_how_the_run_is(tmp_path: Path) -> None:
    async with receiving() as receiver:
        settings = to(hook(receiver, tmp_path), groups=("DEPLOYMENT",))
        async with notifying(settings, receiver) as made:
            observer = made.of_run(SUBJECT)
            for event in (
                STARTED, STAGE, task("us"), task("us", statuses.TaskStatus.SUCCEEDED), task("eu"),
                task("eu", statuses.TaskStatus.FAILED), ENDED,
            ):  # fmt: skip
                tell(observer, event)
            await receiver.until(lambda: len(receiver.seen) == 2)

        assert [each["event"] for each in receiver.bodies] == [
            "DEPLOYMENT_STARTED",
            "DEPLOYMENT_FAILED",
        ]
        last = receiver.bodies[-1]
        assert last["clusters"] == {"us": "succeeded", "eu": "failed"}
        assert last["summary"] == "1 succeeded, 1 failed (eu)"
        assert last["reason"] == "eu failed"
        path, headers, body = receiver.seen[-1]
        signed = headers["Volary-Timestamp"].encode() + b"." + body
        digest = hmac.new(b"s3cret", signed, hashlib.sha256).hexdigest()
        assert path == "/in"
        assert headers["X-Sign"] == f"sha256={digest}"
        assert headers["Volary-Delivery"]


async def test_slack_gets_one_message_per_run_that_is_edited(tmp_path: Path) -> None:
    async with receiving() as receiver, notifying(to(bot(tmp_path)), receiver) as made:
        observer = made.of_run(SUBJECT)
        tell(observer, STARTED)
        await receiver.until(lambda: len(receiver.seen) == 1)
        tell(observer, WAITING)
        await receiver.until(lambda: len(receiver.seen) == 3)
        tell(observer, task("us"))
        await receiver.until(lambda: len(receiver.seen) == 4)

        assert receiver.paths == [
            "/chat.postMessage",
            "/chat.update",
            "/chat.postMessage",
            "/chat.update",
        ]
        first, edit, reply, _ = receiver.bodies
        assert first["channel"] == "C1"
        assert edit["ts"] == "1.0"
        assert "&lt;x&gt;" in json.dumps(edit)
        assert reply["thread_ts"] == "1.0"
        assert reply["text"].startswith("<@ana> <!subteam^G1> shop: the run waits for approval")
        assert receiver.seen[0][1]["Authorization"] == "Bearer xoxb-1"
        assert "1 running" in receiver.bodies[-1]["attachments"][0]["text"]


async def test_the_application_names_people_for_some_events(tmp_path: Path) -> None:
    named = (
        applications.Mention("DEPLOYMENT_STARTED", ("@U1",), ()),
        applications.Mention("DEPLOYMENT_FAILED", ("U2", "ana"), ("G2",)),
        applications.Mention("*", (), ("G3",)),
    )
    async with receiving() as receiver, notifying(to(bot(tmp_path)), receiver) as made:
        observer = made.of_run(replace(SUBJECT, mentions=named))
        tell(observer, STARTED)
        await receiver.until(lambda: len(receiver.seen) == 1)
        tell(observer, ENDED)
        await receiver.until(lambda: len(receiver.seen) == 3)

        first, edit, reply = (each["text"] for each in receiver.bodies)
        assert first.endswith("<@U1> <@ana> <!subteam^G3> <!subteam^G1>")
        wanted = "<@U2> <@ana> <!subteam^G2> <!subteam^G3> <!subteam^G1>"
        assert edit.endswith(wanted)
        assert reply.startswith(wanted)


async def test_edits_that_wait_become_one(tmp_path: Path) -> None:
    async with receiving() as receiver, notifying(to(bot(tmp_path)), receiver) as made:
        observer = made.of_run(SUBJECT)
        receiver.gate.clear()
        tell(observer, STARTED)
        await asyncio.sleep(0.02)
        for _ in range(50):
            tell(observer, task("us"))
            tell(observer, task("us", statuses.TaskStatus.SUCCEEDED))
        receiver.gate.set()
        await receiver.until(lambda: len(receiver.seen) == 2)
        await asyncio.sleep(0.05)

        assert receiver.paths == ["/chat.postMessage", "/chat.update"]
        assert "1 succeeded" in receiver.bodies[-1]["attachments"][0]["text"]


async def test_a_deleted_message_is_posted_anew(tmp_path: Path) -> None:
    async with receiving() as receiver, notifying(to(bot(tmp_path)), receiver) as made:
        receiver.slack = [{"ok": True, "ts": "1.0"}, {"ok": False, "error": "message_not_found"}]
        observer = made.of_run(SUBJECT)
        tell(observer, STARTED)
        await receiver.until(lambda: len(receiver.seen) == 1)
        tell(observer, STAGE)
        await receiver.until(lambda: len(receiver.seen) == 3)

        assert receiver.paths == ["/chat.postMessage", "/chat.update", "/chat.postMessage"]


async def test_what_fails_is_tried_again_and_what_is_hopeless_is_not(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.answers = [503, 429, 200, 400, 302]
        settings = to(hook(receiver, tmp_path))
        async with notifying(settings, receiver) as made:
            observer = made.of_run(SUBJECT)
            for event in (STARTED, STAGE, WAITING, ENDED):
                tell(observer, event)
            await receiver.until(lambda: len(receiver.seen) >= 6)

        told = [each["event"] for each in receiver.bodies]
        assert told == [
            *["DEPLOYMENT_STARTED"] * 3,
            "STAGE_STARTED",  # 400: given up
            "DEPLOYMENT_WAIT_APPROVAL",  # a redirect is not followed
            "DEPLOYMENT_FAILED",
        ]
        ids = [headers["Volary-Delivery"] for _, headers, _ in receiver.seen]
        assert len(set(ids)) == 4
        assert ids[0] == ids[2]


async def test_what_was_not_delivered_goes_out_after_a_restart(tmp_path: Path) -> None:
    """In the next leader; the one before can say nothing about it any more."""
    address, clock = f"sqlite:{tmp_path}/volary.db", FixedClock()
    async with receiving() as receiver, factory.open_store(address, clock=clock) as store:
        settings = to(hook(receiver, tmp_path))
        receiver.gate.clear()
        first, second = (
            notification_outbox.StoreOutbox(store),
            notification_outbox.StoreOutbox(store),
        )
        for box, owner in ((first, "one"), (second, "two")):
            lease = await store.leases.acquire("controller", owner, timedelta())
            assert lease is not None
            box.fence = lease.fence
            if owner == "one":
                async with notifying(settings, receiver, box) as made:
                    await keep(made.of_run(SUBJECT), STARTED, first)
                    await saved(second, lambda kept: len(kept.messages) == 1)
        assert receiver.seen == []
        receiver.gate.set()

        async with notifying(settings, receiver, second):
            await receiver.until(lambda: bool(receiver.seen))
            await saved(second, lambda kept: not kept.messages)
        with pytest.raises(fencing.LeaseLost):
            await first.save(outbox.Change(removed=frozenset({"x"})))

        assert [each["event"] for each in receiver.bodies] == ["DEPLOYMENT_STARTED"]


async def saved(box: outbox.Outbox, holds: Callable[[outbox.Contents], bool]) -> None:
    """Wait until what is kept is so."""
    async with asyncio.timeout(process_time.HANG):
        while not holds(await box.load()):  # noqa: ASYNC110 - nothing tells what was kept
            await asyncio.sleep(0.01)


async def test_who_drives_again_delivers_nothing_twice(tmp_path: Path) -> None:
    async with receiving() as receiver:
        settings, box = to(hook(receiver, tmp_path)), memory_outbox.MemoryOutbox()
        receiver.gate.clear()
        opened = notifier.open_notifier(settings, box, FixedClock(), limits=QUICK)
        async with opened as made:
            for _ in range(3):
                async with asyncio.TaskGroup() as group:
                    delivering = group.create_task(made.keep_delivering())
                    if not receiver.seen and not box.contents.messages:
                        await keep(made.of_run(SUBJECT), STARTED, box)
                    await asyncio.sleep(0.05)
                    delivering.cancel()
                receiver.gate.set()

        assert len(receiver.seen) == 1


async def test_a_slow_receiver_holds_up_neither_the_run_nor_another_receiver(
    tmp_path: Path,
) -> None:
    async with receiving() as slow, receiving() as other:
        slow.gate.clear()
        receivers = (
            replace(hook(slow, tmp_path), name="slow"),
            replace(hook(other, tmp_path), name="other"),
        )
        routes = tuple(server_settings.Route(each.name, each.name) for each in receivers)
        settings = server_settings.Notifications(routes, receivers)
        limits = replace(QUICK, waiting=10)
        async with notifying(settings, other, limits=limits) as made:
            observer = made.of_run(SUBJECT)
            tell(observer, STARTED)
            await other.until(lambda: len(other.seen) == 1)
            for number in range(30):
                tell(observer, structs.replace(STAGE, stage=f"{number}"))
                await asyncio.sleep(0)
            await other.until(lambda: bool(other.seen))
            slow.gate.set()
            await slow.until(lambda: len(slow.seen) == 10)
            await asyncio.sleep(0.03)

        assert len(slow.seen) == 10
        assert slow.bodies[0]["event"] == "DEPLOYMENT_STARTED"


def texts(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize(
    ("kind", "title", "reason", "colour"),
    [
        (
            server_settings.ChatKind.TEAMS,
            lambda body: body["attachments"][0]["content"]["body"][0]["text"],
            lambda body: body["attachments"][0]["content"]["body"][1]["text"],
            ("Attention", lambda body: body["attachments"][0]["content"]["body"][0]["color"]),
        ),
        (
            server_settings.ChatKind.DISCORD,
            lambda body: body["embeds"][0]["title"],
            lambda body: body["embeds"][0]["description"],
            (0xE01E5A, lambda body: body["embeds"][0]["color"]),
        ),
        (
            server_settings.ChatKind.ROCKET,
            lambda body: body["text"],
            lambda body: body["attachments"][0]["text"],
            ("#e01e5a", lambda body: body["attachments"][0]["color"]),
        ),
        (
            server_settings.ChatKind.GOOGLE,
            lambda body: body["text"].splitlines()[0],
            lambda body: body["text"].splitlines()[1],
            ("", lambda body: ""),
        ),
    ],
)
async def test_other_chats_are_told_in_their_own_form(
    tmp_path: Path,
    kind: server_settings.ChatKind,
    title: Callable[[Any], str],
    reason: Callable[[Any], str],
    colour: tuple[object, Callable[[Any], object]],
) -> None:
    """An application's alert names the receiver; nobody can be called by a commit's title."""
    file = tmp_path / "address"
    alerts = (applications.Alert("mine", "chat", ("DEPLOYMENT_FAILED",)),)
    subject = replace(SUBJECT, title="v2 @everyone <users/all>", alerts=alerts)
    async with receiving() as receiver:
        file.write_text(f"{receiver.url}/secret-hook\n")
        told = replace(
            server_settings.Receiver("chat"), **{kind.value: server_settings.Chat(str(file))}
        )
        async with notifying(server_settings.Notifications((), (told,)), receiver) as made:
            observer = made.of_run(subject)
            tell(observer, STARTED)
            tell(observer, ENDED)
            await receiver.until(lambda: len(receiver.seen) == 1)

    [body] = receiver.bodies
    assert receiver.paths == ["/secret-hook"]
    assert title(body) == "shop: the run failed"
    assert reason(body).startswith("eu failed")
    assert colour[1](body) == colour[0]
    assert "0123456" in texts(body)
    match kind:
        case server_settings.ChatKind.DISCORD:
            assert body["allowed_mentions"] == {"parse": []}
        case server_settings.ChatKind.ROCKET:
            assert "@everyone" not in texts(body)
        case _:
            assert "<users/all>" not in texts(body)


async def test_a_receiver_that_the_settings_lack_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alerts = (applications.Alert("mine", "on-call"),)
    async with (
        receiving() as receiver,
        notifying(to(hook(receiver, tmp_path)), receiver) as made,
    ):
        observer = made.of_run(replace(SUBJECT, alerts=alerts))
        tell(observer, STARTED)
        tell(observer, ENDED)
        await receiver.until(lambda: len(receiver.seen) == 2)

    said = [each.getMessage() for each in caplog.records if "on-call" in each.getMessage()]
    assert said == [
        "shop names the receiver on-call, which is not among the settings' notifications"
    ]


async def test_a_step_that_was_not_kept_is_not_remembered(tmp_path: Path) -> None:
    """What a refused request would have led to has not happened."""
    async with receiving() as receiver:
        settings = to(hook(receiver, tmp_path), groups=("DEPLOYMENT",))
        async with notifying(settings, receiver) as made:
            run = made.of_run(SUBJECT)
            tell(run, STARTED)
            before = run.prepare([task("us")], 9)
            refused = run.prepare([ENDED], 9)

            again = run.prepare([task("us")], 9)

            assert refused.messages
            assert again == before
