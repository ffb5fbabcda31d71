"""Servers: which there are, and which one leads."""

from starlette import requests, responses

from volary.controller.api import server_service
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

router = response_schemas.router("servers")


@router.get("/servers", responses=response_schemas.many(server_service.Server))
@access.needs(Permission.VIEW)
async def list_servers(
    request: requests.Request, cursor: paging.Cursor = "", limit: paging.Limit = 50
) -> responses.Response:
    """List the servers of this database that are there, by name; one of them leads."""
    found = await server_state.of(request).service.servers.list()
    page = paging.cut(found, lambda server: f"{server.name} {server.address}", cursor, limit)
    return encoding.many(request, page.items, page.cursor)
