"""A judgement over many clusters is no work for the loop, is made once, and is the same."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import process_time
import stage_contexts
from volary.analysis.verdicts import fleet_verdicts
from volary.concurrency import single_flight, work_threads
from volary.model import analysis
from volary.stages.judgement import cluster_judges, findings
from volary.stages.runtime import contexts, rendezvouses

START, MINUTE = stage_contexts.START, timedelta(minutes=1)
RULE = analysis.Rule(
    "errors",
    "prom",
    "q",
    kind=analysis.Kind.PROPORTION,
    total_query="t",
    strategy=analysis.Strategy.CANARY_BASELINE,
    deviation=analysis.Deviation.HIGH,
    judgement=analysis.Judgement.SEQUENTIAL,
    decider=analysis.Decider.POOLED,
    interval=MINUTE,
)
LOOKS = 10
END = START + LOOKS * MINUTE
PERIOD = cluster_judges.AnalysisPeriod(START, END, END)


def judges(names: Sequence[str], rule: analysis.Rule = RULE) -> list[cluster_judges.Judge]:
    """Clusters of one stage, each of which has measured all of its looks."""
    shared: dict[str, Any] = {
        "rendezvous": rendezvouses.Rendezvous(),
        "once": single_flight.SingleFlight(),
        "clusters": len(names),
    }
    made = [
        cluster_judges.Judge(
            contexts.MeasuringContext(
                application=stage_contexts.context().application,
                target=name,
                report=stage_contexts.Report(),
                clock=stage_contexts.LoopClock(),
                **shared,
            ),
            PERIOD,
            (rule,),
        )
        for name in names
    ]
    for judge in made:
        shared["rendezvous"].join(judge.context.target)
        judge.restore(measured(judge.context.target))
    return made


def measured(target: str) -> list[dict[str, Any]]:
    return [
        findings.of_measurement(
            analysis.Measurement(
                RULE.name,
                "q",
                START + number * MINUTE,
                target=target,
                variant=role.value,
                role=role,
                values=(number % 3 + len(target),),
                totals=(600,),
                reading=analysis.Reading.VALUES,
            ),
            None,
        )
        for number in range(1, LOOKS + 1)
        for role in (analysis.Role.JUDGED, analysis.Role.REFERENCE)
    ]


MANY = [f"cluster-{number}" for number in range(12)]
FEW = MANY[:2]


@pytest.fixture
async def gate() -> AsyncIterator[threading.Event]:
    """What the only thread there is does until it is opened."""
    opened = threading.Event()
    work_threads.install(work_threads.WorkThreads(at_once=1, of_one_owner=1))
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        assert opened.wait(process_time.HANG)

    async with asyncio.TaskGroup() as group:
        group.create_task(work_threads.run("it", hold))
        await process_time.until(begun.is_set)
        yield opened
        opened.set()


async def turns() -> None:
    """Let the loop get round to everything that it can do."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_the_loop_goes_on_while_many_clusters_are_judged(gate: threading.Event) -> None:
    asked = judges(MANY)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(judge.verdict(RULE, END, LOOKS)) for judge in asked]
        await turns()
        assert not any(task.done() for task in tasks)
        gate.set()
    verdicts = [task.result() for task in tasks]

    series = {judge.context.target: judge.series(RULE) for judge in asked}
    wanted = fleet_verdicts.judge(RULE, series, END, clusters=len(MANY))
    assert verdicts == [wanted.decided[judge.context.target] for judge in asked]
    # It was judged once for all of them.
    assert len({id(verdict) for verdict in verdicts}) == 1


async def test_few_clusters_are_judged_here_and_now(gate: threading.Event) -> None:
    """Though no thread is free."""
    asked = judges(FEW)

    async with asyncio.timeout(process_time.HANG):
        verdicts = await asyncio.gather(*(judge.verdict(RULE, END, LOOKS) for judge in asked))

    assert [verdict.result for verdict in verdicts] == [analysis.Result.PASS] * len(FEW)
    assert not gate.is_set()


async def test_one_cluster_with_many_looks_holds_nobody_either(gate: threading.Event) -> None:
    rule = replace(RULE, decider=analysis.Decider.PER_CLUSTER)
    [judge] = judges(["one"], rule)
    for number in range(LOOKS + 1, 100):
        at = START + number * MINUTE
        judge.restore({**each, "time": at.isoformat()} for each in measured("one")[:2])

    async with asyncio.TaskGroup() as group:
        task = group.create_task(judge.verdict(rule, END, LOOKS))
        await turns()
        assert not task.done()
        gate.set()
    assert task.result().result is analysis.Result.PASS


@pytest.mark.parametrize("leaving", [0, 1])
async def test_who_leaves_takes_the_judgement_from_nobody(
    leaving: int, gate: threading.Event
) -> None:
    """Neither the one that has it worked out, nor one that waits for it."""
    asked = judges(MANY)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(judge.verdict(RULE, END, LOOKS)) for judge in asked]
        await turns()
        tasks[leaving].cancel()
        await turns()
        assert [task.done() for task in tasks].count(True) == 1
        gate.set()

    stayed = [task.result() for task in tasks if not task.cancelled()]
    assert tasks[leaving].cancelled()
    assert [verdict.result for verdict in stayed] == [analysis.Result.PASS] * (len(MANY) - 1)
