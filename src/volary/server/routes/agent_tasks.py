"""What tasks of agents ask for, each agent for its own clusters."""

from typing import Any, TypeVar

import msgspec
from starlette import requests, responses

from volary.agents.tasks import meeting_values, services
from volary.controller.agents import task_services
from volary.model import errors, json
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import response_schemas
from volary.stages.runtime import task_states

router = response_schemas.router("agent", f"{response_schemas.PREFIX}/agent")
Asked = TypeVar("Asked")
_JSON: dict[int | str, dict[str, Any]] = {200: {"description": "What was asked for"}}
_DONE: dict[int | str, dict[str, Any]] = {204: {"description": "It is kept"}}


class Artifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for an artifact."""

    digest: str
    target: str


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for what a task left."""

    place: task_states.TaskAttempt


class Saved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a task leaves."""

    place: task_states.TaskAttempt
    document: dict[str, Any]


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for what earlier runs of the application left."""

    run: str
    target: str
    name: str


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run leaves for later ones of the application."""

    run: str
    target: str
    name: str
    document: dict[str, Any]


class Reports(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tasks of runs said."""

    reports: list[services.Report]


class Measuring(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions to a system of metrics."""

    run: str
    asked: dict[str, Any]


class Meetings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tasks say at meetings, and for how many seconds something new is waited for."""

    meetings: list[services.Meeting]
    wait: float = 0.0


@router.post("/artifact", responses={200: {"description": "The artifact's bytes"}})
@access.needs(Permission.AGENT)
async def artifact(request: requests.Request) -> responses.Response:
    """Show an artifact, which is sealed for the agent."""
    asked = await _read(request, Artifact)
    body = await _tasks(request).artifact(_clusters(request), asked.digest, asked.target)
    return responses.Response(body, media_type="application/octet-stream")


@router.post("/admit", status_code=204, responses={204: {"description": "It is under way"}})
@access.needs(Permission.AGENT)
async def admit(request: requests.Request) -> responses.Response:
    """Agree that a task is carried out, if the run has it under way."""
    asked = await _read(request, Place)
    await _tasks(request).admit(_clusters(request), asked.place)
    return responses.Response(status_code=204)


@router.post("/state/load", responses=_JSON)
@access.needs(Permission.AGENT)
async def load_state(request: requests.Request) -> responses.Response:
    """Show what an attempt at a task saved last."""
    asked = await _read(request, Place)
    return _answer(await _tasks(request).load(_clusters(request), asked.place))


@router.post("/state/save", status_code=204, responses=_DONE)
@access.needs(Permission.AGENT)
async def save_state(request: requests.Request) -> responses.Response:
    """Keep what an attempt at a task saves."""
    asked = await _read(request, Saved)
    await _tasks(request).save(_clusters(request), asked.place, asked.document)
    return responses.Response(status_code=204)


@router.post("/state/found", responses=_JSON)
@access.needs(Permission.AGENT)
async def found_state(request: requests.Request) -> responses.Response:
    """Show the measurements that an attempt at a task reported before."""
    asked = await _read(request, Place)
    return _answer(await _tasks(request).found(_clusters(request), asked.place))


@router.post("/state/recall", responses=_JSON)
@access.needs(Permission.AGENT)
async def recall_state(request: requests.Request) -> responses.Response:
    """Show what an earlier run of the application kept."""
    asked = await _read(request, Memory)
    known = await _tasks(request).recall(_clusters(request), asked.run, asked.target, asked.name)
    return _answer(known)


@router.post("/state/keep", status_code=204, responses=_DONE)
@access.needs(Permission.AGENT)
async def keep_state(request: requests.Request) -> responses.Response:
    """Keep something for later runs of the application."""
    asked = await _read(request, Kept)
    await _tasks(request).keep(
        _clusters(request), asked.run, asked.target, asked.name, asked.document
    )
    return responses.Response(status_code=204)


@router.post("/report", responses=_JSON)
@access.needs(Permission.AGENT)
async def report(request: requests.Request) -> responses.Response:
    """Keep what tasks said: lines of their logs, what analyses found, what was taken over."""
    asked = await _read(request, Reports)
    if sum(len(one.said) for one in asked.reports) > services.MOST_SAID:
        raise errors.user_error(f"more than {services.MOST_SAID} items at once")
    by = server_state.person(request).name
    refusals = await _tasks(request).report_all(_clusters(request), asked.reports, by=by)
    return _answer(refusals)


@router.post("/measure", responses=_JSON)
@access.needs(Permission.AGENT)
async def measure(request: requests.Request) -> responses.Response:
    """Ask a system of metrics what stages of the run ask."""
    asked = await _read(request, Measuring)
    try:
        questions = services.read_questions(asked.asked)
    except (LookupError, TypeError, ValueError) as error:
        raise errors.user_error("the questions cannot be read") from error
    if len(questions) > services.MOST_QUESTIONS:
        raise errors.user_error(f"more than {services.MOST_QUESTIONS} questions at once")
    measured = await _tasks(request).measure_all(_clusters(request), asked.run, questions)
    return _answer(meeting_values.finite(msgspec.to_builtins(measured)))


@router.post("/meet", responses=_JSON)
@access.needs(Permission.AGENT)
async def meet(request: requests.Request) -> responses.Response:
    """Say something to the other tasks of stages, and hear what they say."""
    asked = await _read(request, Meetings)
    if len(asked.meetings) > services.MOST_MEETINGS:
        raise errors.user_error(f"more than {services.MOST_MEETINGS} stages at once")
    met = await _tasks(request).meet(_clusters(request), asked.meetings, wait=asked.wait)
    return _answer(msgspec.to_builtins(met))


async def _read(request: requests.Request, kind: type[Asked]) -> Asked:
    """Return what an agent asks for.

    Raises:
        errors.UserError: It is not of its shape.
    """
    try:
        # Not strict: NaN and infinities are texts.
        return json.convert(json.decode(await request.body()), kind, strict=kind is not Reports)
    except json.UNREADABLE as error:
        raise errors.user_error(
            f"the request is not of its shape: {type(error).__name__}"
        ) from error


def _tasks(request: requests.Request) -> task_services.TaskServices:
    return server_state.of(request).service.tasks


def _clusters(request: requests.Request) -> tuple[str, ...]:
    return server_state.agent(request).clusters


def _answer(value: object) -> responses.Response:
    return responses.Response(
        encoding.encode(value),
        media_type="application/json",
        headers={"cache-control": "no-store"},
    )
