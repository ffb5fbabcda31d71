"""What stages that move traffic ask and tell over HTTP; nothing here waits for a time."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

import memory_cluster
import scripted_server
from memory_cluster import split
from memory_world import World
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.kinds import blue_green, progressive_traffic
from volary.stages.runtime import execution

Hook = webhook.WebhookType
SHORT = timedelta(milliseconds=10)


def world() -> World:
    made = World()
    made.cluster.put(memory_cluster.deployment("canary"))
    return made


def work(given: World) -> execution.Work:
    async def source() -> Any:
        return given.source

    return given.work(target_source=source)


def hook(gate: scripted_server.ScriptedServer, kind: Hook) -> webhook.Webhook:
    return webhook.Webhook(name="gate", type=kind, url=f"{gate.url}/{kind.value}")


def asked(gate: scripted_server.ScriptedServer, kind: Hook) -> Sequence[Any]:
    return [seen.json for seen in gate.seen if seen.path == f"/{kind.value}"]


async def test_who_agrees_to_roll_back_gets_the_traffic_switched_back() -> None:
    given = world()
    given.cluster.put(split(shop=0, shop_canary=100))
    async with scripted_server.serve() as gate:
        options = traffic_stages.BlueGreenOptions(
            preview=False,
            scale_down_delay=timedelta(days=1),
            webhooks=(hook(gate, Hook.ROLLBACK), hook(gate, Hook.EVENT)),
        )
        gate.handler = agree
        made = work(given)
        with pytest.raises(execution.StageFailedError) as failed:
            await blue_green.run(made, options)
        events = [event["metadata"] for event in asked(gate, Hook.EVENT)]
        (question,) = asked(gate, Hook.ROLLBACK)

    assert question["phase"] == "Progressing"
    assert str(failed.value) == "gate asked to roll back; traffic is back at primary"
    assert given.weights == {"shop": 100}
    assert (events[-1]["eventType"], events[-1]["eventMessage"]) == (
        "Warning",
        "Canary failed! gate asked to roll back",
    )


async def test_gates_and_events_of_a_progression_say_how_far_it_is() -> None:
    given = world()
    async with scripted_server.serve() as gate:
        gate.handler = agree
        options = traffic_stages.ProgressiveTrafficOptions(
            interval=SHORT,
            step_weight=50,
            max_weight=100,
            webhooks=tuple(
                hook(gate, kind)
                for kind in (Hook.CONFIRM_ROLLOUT, Hook.ROLLOUT, Hook.CONFIRM_PROMOTION, Hook.EVENT)
            ),
        )
        await progressive_traffic.run(work(given), options)
        events = [event["metadata"]["eventMessage"] for event in asked(gate, Hook.EVENT)]
        checked = [int(question["canaryWeight"]) for question in asked(gate, Hook.ROLLOUT)]
        phases = [
            [question["phase"] for question in asked(gate, kind)]
            for kind in (Hook.CONFIRM_ROLLOUT, Hook.ROLLOUT)
        ]

    assert checked == [50, 100]
    assert phases == [["Waiting"], ["Progressing", "Progressing"]]
    assert [event.partition(":")[0] for event in events[:-1]] == ["Advance shop"] * 2
    assert events[-1] == "shop: every check passed: ready to be promoted"


async def agree(seen: scripted_server.Asked) -> Any:
    return scripted_server.answer({}, 200)
