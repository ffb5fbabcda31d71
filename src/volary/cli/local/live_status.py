"""``volary get app PATH --fleet FILE``: an application over its clusters, without a server."""

import msgspec

from volary.cli import console
from volary.clusters.client import client_pool
from volary.controller import inputs
from volary.controller.api import status_service
from volary.controller.fleet import surveys
from volary.controller.planning import projects
from volary.manifests import redaction
from volary.model import json


async def read(path: str, *, app: str, fleet: str, contexts: str) -> json.JsonObject:
    """Return what the API would say, as far as it is known without a server.

    Raises:
        errors.UserError: The application or the fleet cannot be read.
    """
    project = await projects.open_project(path, app=app)
    members = projects.load_fleet(fleet, contexts)
    problems = (*project.warnings, *projects.check_fleet(project, members))
    console.show_problems(console.messages(), problems)
    clock = inputs.SystemClock()
    async with client_pool.open_pool(members, clock=clock) as clusters:
        surveyor = surveys.Surveyor(clusters, clock)
        seen = await surveyor.look(status_service.subject(project.application, members))
    shown = status_service.of_survey(project.application.name, seen, redaction.Masker(()))
    document: json.JsonObject = msgspec.to_builtins(shown)
    return document
