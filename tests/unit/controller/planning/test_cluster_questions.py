"""Who is silent costs its patience once, in virtual time, and it is said whom is waited for."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest

import memory_client
from volary.clusters.api import api_errors
from volary.clusters.client import client_pool, clients
from volary.controller.planning import cluster_questions
from volary.model import errors

pytestmark = pytest.mark.looptime


class Pool:
    """Clusters in memory; one that is not there cannot be asked."""

    def __init__(self, *names: str) -> None:
        self.clusters = {name: memory_client.MemoryCluster(name=name) for name in names}

    async def client(self, name: str) -> clients.Client | client_pool.Unavailable:
        if name not in self.clusters:
            return client_pool.Unavailable(name, "no such context")
        return self.clusters[name].client


def asking(pool: Pool, told: list[tuple[float, str]]) -> cluster_questions.ClusterQuestions:
    def tell(sentence: str) -> None:
        told.append((now(), sentence))

    clusters = cast("client_pool.ClientPool", pool)
    return cluster_questions.ClusterQuestions(clusters, timedelta(seconds=10), told=tell)


def now() -> float:
    return asyncio.get_running_loop().time()


def reason(answer: object) -> str:
    assert isinstance(answer, client_pool.Unavailable)
    return answer.reason


async def silence(_: clients.Client) -> str:
    await asyncio.sleep(1000)
    return "at last"


async def answers(client: clients.Client) -> str:
    return f"hello from {client.name}"


async def test_who_says_nothing_is_not_asked_again() -> None:
    told: list[tuple[float, str]] = []
    questions = asking(Pool("us"), told)

    assert reason(await questions.ask("us", silence)) == "no answer within 10 s"
    assert (now(), told) == (10, [(3, "waiting for us to answer")])
    assert reason(await questions.ask("us", answers)) == "no answer within 10 s"
    assert (now(), questions.silent) == (10, {"us": "no answer within 10 s"})


async def test_those_who_are_asked_together_are_told_of_together() -> None:
    told: list[tuple[float, str]] = []
    questions = asking(Pool("us", "eu", "ap"), told)

    async def later(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await questions.ask(name, silence)

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("us", 0), ("eu", 1.5), ("ap", 2)):
            group.create_task(later(name, seconds))

    assert told[0] == (3, "waiting for us and eu to answer")
    assert told[1] == (4.5, "waiting for us, eu and ap to answer")


async def test_who_answers_something_is_not_silent() -> None:
    pool, told = Pool("us"), list[tuple[float, str]]()

    async def slowly(_: clients.Client) -> str:
        for _ in range(10):
            await asyncio.sleep(2.5)
            pool.clusters["us"].answered = now()
        return "all of it"

    assert await asking(pool, told).ask("us", slowly) == "all of it"
    assert (now(), told) == (25, [])


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (api_errors.Unreachable("connection refused"), False),
        (errors.PermanentError("cannot list pods"), True),
    ],
)
async def test_only_who_cannot_be_reached_is_not_asked_again(
    error: errors.VolaryError, again: bool
) -> None:
    questions = asking(Pool("us"), [])

    async def fails(_: clients.Client) -> str:
        raise error

    assert reason(await questions.ask("us", fails)) == str(error)
    assert (await questions.ask("us", answers) == "hello from us") is again


async def test_a_cluster_that_cannot_be_asked_is_no_failure_of_the_others() -> None:
    found = await asking(Pool("us"), []).ask_all(["us", "eu"], answers)

    assert found["us"] == "hello from us"
    assert reason(found["eu"]) == "no such context"
