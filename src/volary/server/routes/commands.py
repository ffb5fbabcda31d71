"""Commands: what can be asked of applications, runs, clusters and workspaces, and who may ask.

A command is a row of a table: its verb ends the path, and its body has the options of the
service's method.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import fastapi
from starlette import requests, responses

from volary.config.text import globs
from volary.controller.api import cluster_service, representations, workspace_service
from volary.controller.api import service as services
from volary.server import permissions, server_state
from volary.server.authentication import logins
from volary.server.authorization import access, guard
from volary.server.http import encoding
from volary.server.permissions import Permission
from volary.server.routes import bodies, response_schemas

router = response_schemas.router("commands")


@dataclass(frozen=True, slots=True)
class _Command:
    """What a command needs, what its body is (None: it has none), and what it does."""

    permission: Permission
    body: type[bodies.Body] | None
    description: str
    #: Looks at what is asked for, besides the permission: given the name and the options.
    check: Callable[[requests.Request, str, Mapping[str, Any]], Awaitable[None]] | None = None


async def _check_adoption(
    request: requests.Request, application: str, options: Mapping[str, Any]
) -> None:
    """Let whoever administers some applications adopt one from its project's repositories only.

    Raises:
        guard.ForbiddenError: It is another one, or there is no such repository.
    """
    person, service = server_state.person(request), server_state.of(request).service
    projects = service.current_projects()
    if person.may_everywhere(Permission.ADMINISTER) or not projects.are_in_use:
        return
    project = projects.by_name.get((await service.application(application)).project)
    sources = () if project is None else project.sources
    if not any(globs.matches([one.repository], options["repository"]) for one in sources):
        raise guard.ForbiddenError(
            f"{person.name} may only have it go on in a repository of its project"
        )


_DEPLOY, _APPROVE, _ADMINISTER = Permission.DEPLOY, Permission.APPROVE, Permission.ADMINISTER
_APPLICATION: Mapping[str, _Command] = {
    "sync": _Command(_DEPLOY, bodies.Sync, "Roll a commit out."),
    "rollback": _Command(
        _DEPLOY,
        bodies.RollbackRequest,
        "Roll back the last change, the last wave first; or go to a commit that ran before.",
    ),
    "pause": _Command(
        _DEPLOY, bodies.Pause, "Pause it, its run under way included, until it is resumed."
    ),
    "resume": _Command(
        _DEPLOY, None, "Resume after a pause, the run under way at the commit it is pinned to."
    ),
    "rebalance": _Command(
        _DEPLOY,
        None,
        "Place an application anew: what moved away may come back, replicas are divided anew.",
    ),
    "adopt": _Command(
        _ADMINISTER,
        bodies.Adopt,
        "Have an application whose repository is gone go on with its namesake in another one.",
        _check_adoption,
    ),
    "forget": _Command(
        _ADMINISTER,
        bodies.Forget,
        "Drop what is kept of an application that is gone; nothing changes in any cluster.",
    ),
}
_RUN: Mapping[str, _Command] = {
    "approve": _Command(_APPROVE, bodies.Decision, "Approve what the run waits for."),
    "reject": _Command(_APPROVE, bodies.Decision, "Reject what the run waits for; it ends."),
    "withdraw": _Command(
        _APPROVE, bodies.Decision, "Withdraw your approval before anything has begun."
    ),
    "promote": _Command(
        _APPROVE,
        bodies.Promote,
        "End what the current wave waits for at its end: soak, webhook, analysis; never approvals.",
    ),
    "unfreeze": _Command(
        Permission.BREAK_GLASS,
        bodies.Unfreeze,
        "Let the run change clusters whose windows are closed.",
    ),
    "pause": _Command(_DEPLOY, bodies.Pause, "Start nothing new until resumed."),
    "resume": _Command(_DEPLOY, bodies.Resume, "Go on after a pause."),
    "cancel": _Command(
        _DEPLOY, bodies.Cancel, "End the run, going back or leaving everything as it is."
    ),
    "abandon": _Command(
        _DEPLOY,
        bodies.Abandon,
        "End the run at once as it is, also one that nobody can carry out; its reason names what"
        " stays behind.",
    ),
    "retry": _Command(
        _DEPLOY, bodies.Retry, "Try again what failed, everywhere or on some clusters."
    ),
    "skip": _Command(
        _DEPLOY,
        bodies.Skip,
        "Go on without a cluster, or without the rest of a stage that only measures or waits.",
    ),
}
_CLUSTER: Mapping[str, _Command] = {
    "cordon": _Command(_ADMINISTER, bodies.ClusterReason, "Start nothing new in a cluster."),
    "drain": _Command(
        _ADMINISTER,
        bodies.ClusterReason,
        "Start nothing new in a cluster, and move what runs there to other clusters.",
    ),
    "uncordon": _Command(
        _ADMINISTER,
        bodies.ClusterReason,
        "Let a cluster take part again; releases it missed are backfilled.",
    ),
    "taint": _Command(
        _ADMINISTER,
        bodies.Taint,
        "Taint a cluster, so that applications that do not tolerate the taint stay away.",
    ),
    "untaint": _Command(_ADMINISTER, bodies.Untaint, "Remove a taint that was added by hand."),
}

_WORKSPACE: Mapping[str, _Command] = {
    "delete": _Command(
        _ADMINISTER,
        bodies.DeleteWorkspace,
        "Delete what is left of a workspace and not written any more, on clusters that answer.",
    ),
}


#: A command asked for again under its key is not carried out again, and gets the same answer.
_Key = Annotated[
    str,
    fastapi.Header(
        alias="Idempotency-Key",
        max_length=200,
        pattern=r"^[\x21-\x7e]*$",
        description="Made up for this request: sent again with it, after a connection broke, the"
        " request is not carried out again and gets the same answer.",
    ),
]

#: Carries a command out: given a name, who asks, and the options.
_Method = Callable[..., Awaitable[representations.Representation]]


def _method(service: services.Service, noun: str, verb: str) -> _Method:
    own: dict[str, _Method] = {
        "application.sync": service.sync,
        "application.rebalance": service.placements.rebalance,
        "application.forget": service.forget_application,
        "cluster.untaint": service.fleet.untaint,
        "workspace.delete": service.workspaces.delete,
    }
    ask: dict[str, _Method] = {
        "application": service.ask_application,
        "run": service.ask_run,
        "cluster": service.fleet.ask,
    }
    return own.get(f"{noun}.{verb}") or functools.partial(ask[noun], verb)


def asker(request: requests.Request) -> representations.Actor:
    """Return who asks, and from where."""
    return representations.Actor(server_state.person(request).name, logins.address_of(request))


def _endpoint(
    noun: str, verb: str, command: _Command
) -> Callable[..., Awaitable[responses.Response]]:
    body = command.body

    async def endpoint(request: requests.Request, **given: Any) -> responses.Response:
        method = _method(server_state.of(request).service, noun, verb)
        options = given["body"].model_dump() if body else {}
        if command.check is not None:
            await command.check(request, given[noun], options)
        asks = replace(asker(request), key=given["key"])
        done = await method(given[noun], asker=asks, **options)
        return encoding.one(request, done, status=202)

    # The framework reads from the signature what the path and the body hold.
    parameter = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [
        parameter("request", annotation=requests.Request),
        parameter(noun, annotation=str),
        parameter("key", annotation=_Key, default=""),
    ]
    if body:
        is_needed = any(field.is_required() for field in body.model_fields.values())
        default = inspect.Parameter.empty if is_needed else body()
        parameters.append(parameter("body", annotation=body, default=default))
    # PEP 362 lets any function carry its signature; the types know it of classes only.
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=responses.Response
    )
    return endpoint


def _add(
    commands: Mapping[str, _Command],
    path: str,
    noun: str,
    scope: access.Scope,
    answer: type[representations.Representation] = representations.Accepted,
) -> None:
    for verb, command in commands.items():
        needs = access.needs(command.permission, scope, action=f"{noun}.{verb}")
        router.add_api_route(
            f"{path}/{verb}",
            needs(_endpoint(noun, verb, command)),
            methods=["POST"],
            name=verb,
            description=command.description,
            status_code=202,
            responses=response_schemas.accepted(answer),
        )


_COMMANDS = {"application": _APPLICATION, "run": _RUN, "cluster": _CLUSTER}


def why_not(
    person: permissions.Person, noun: str, verb: str, labels: Mapping[str, str], project: str
) -> str:
    """Return why somebody may not send a command, one sentence; empty: they may.

    Args:
        person: Whoever it is.
        noun: ``application``, ``run`` or ``cluster``.
        verb: Of the command.
        labels: Of the application that it is about.
        project: Of that application.
    """
    needed = _COMMANDS[noun][verb].permission
    is_about_all = noun == "cluster"
    subject = permissions.Subject(labels, project)
    if person.may_everywhere(needed) or (not is_about_all and person.may(needed, subject)):
        return ""
    return guard.why_not(person, needed)


_add(_APPLICATION, "/applications/{application}", "application", access.Scope.APPLICATION)
_add(_RUN, "/runs/{run}", "run", access.Scope.RUN)
_add(
    _CLUSTER,
    "/clusters/{cluster:path}",
    "cluster",
    access.Scope.EVERYTHING,
    cluster_service.Cluster,
)
_add(
    _WORKSPACE,
    "/workspaces/{workspace}",
    "workspace",
    access.Scope.EVERYTHING,
    workspace_service.DeletedWorkspace,
)
