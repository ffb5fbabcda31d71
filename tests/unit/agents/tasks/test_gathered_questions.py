"""Questions of tasks are asked together, and each once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

import pytest

import process_time
from volary.agents.tasks import gathered_questions, services
from volary.analysis.metering import meters, query_names
from volary.model import analysis, applications, errors
from volary.model.pipeline import variant

START = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = meters.Question(
    analysis.Rule("errors", provider="prom", query="errors"),
    applications.Application("shop"),
    "us",
    query_names.Names(),
    variant.Variant.CANARY,
    analysis.Role.JUDGED,
    START,
    START,
)


@dataclass
class Server:
    """Answers with the number of letters of the cluster; one provider never does."""

    asked: list[tuple[str, list[meters.Question]]] = field(default_factory=list)
    error: errors.VolaryError | None = None

    async def measure(
        self, run: str, questions: Sequence[meters.Question]
    ) -> Sequence[analysis.Measurement]:
        self.asked.append((run, list(questions)))
        if self.error is not None:
            raise self.error
        if questions[0].rule.provider == "silent":
            await asyncio.sleep(process_time.HANG)
        return [one.answer("errors", (float(len(one.target)),)) for one in questions]


async def ask(
    server: Server, *questions: meters.Question, run: str = "run-1"
) -> list[analysis.Measurement]:
    gathered = gathered_questions.GatheredQuestions(cast("services.Services", server))
    meter = gathered_questions.RunMeter(gathered, run)
    return await asyncio.gather(*map(meter.measure, questions))


async def test_what_is_asked_at_a_moment_is_asked_at_once_and_each_once() -> None:
    server = Server()
    asia = replace(QUESTION, target="asia")

    answers = await ask(server, QUESTION, asia, QUESTION)

    assert [answer.values for answer in answers] == [(2.0,), (4.0,), (2.0,)]
    assert server.asked == [("run-1", [QUESTION, asia])]


async def test_no_provider_is_waited_for_by_those_of_another() -> None:
    server = Server()
    silent = replace(QUESTION, rule=replace(QUESTION.rule, provider="silent"))
    gathered = gathered_questions.GatheredQuestions(cast("services.Services", server))

    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        waiting = group.create_task(gathered.ask("run-1", silent))
        answer = await gathered.ask("run-1", QUESTION)
        waiting.cancel()

    assert answer.values == (2.0,)


async def test_other_applications_are_asked_about_by_themselves() -> None:
    server = Server()
    other = replace(QUESTION, application=applications.Application("bank"))

    await ask(server, QUESTION, other)

    assert [questions for _, questions in server.asked] == [[QUESTION], [other]]


@pytest.mark.parametrize("kind", [errors.TemporaryError, errors.PermanentError])
async def test_what_goes_wrong_is_an_answer(kind: type[errors.VolaryError]) -> None:
    answers = await ask(Server(error=kind("it is away")), QUESTION, replace(QUESTION, target="eu"))

    assert [(one.reading, one.message) for one in answers] == [
        (analysis.Reading.ERROR, "it is away")
    ] * 2
