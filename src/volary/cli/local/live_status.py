"""``volary get app PATH --fleet FILE``: an application over its clusters, without a server."""

import msgspec

from volary.cli.local import inputs as local_inputs
from volary.clusters.client import client_pool
from volary.controller import system_clock
from volary.controller.api import status_service
from volary.controller.fleet import surveys
from volary.controller.planning import preparation
from volary.manifests import redaction
from volary.model import json


async def read(request: preparation.RunOptions) -> json.JsonObject:
    """Return what the API would say, as far as it is known without a server.

    Raises:
        errors.UserError: The application or the fleet cannot be read.
    """
    opened, members = await local_inputs.open_inputs(request)
    clock = system_clock.SystemClock()
    async with client_pool.open_pool(members, clock=clock) as clusters:
        surveyor = surveys.Surveyor(clusters, clock)
        seen = await surveyor.look(status_service.subject(opened.application, members))
    shown = status_service.of_survey(opened.application.name, seen, redaction.Masker(()))
    document: json.JsonObject = msgspec.to_builtins(shown)
    return document
