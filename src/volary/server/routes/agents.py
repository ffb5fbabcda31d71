"""Agents beside clusters, for people: which there are, and who may be one."""

from starlette import requests, responses

from volary.controller.api import agent_service
from volary.server import server_state
from volary.server.authorization import access
from volary.server.http import encoding, paging
from volary.server.permissions import Permission
from volary.server.routes import bodies, commands, response_schemas

router = response_schemas.router("agents")
_PATH = "/clusters/{cluster:path}/agent"


@router.get("/agents", responses=response_schemas.many(agent_service.Agent))
@access.needs(Permission.ADMINISTER)
async def list_agents(
    request: requests.Request, cursor: paging.Cursor = "", limit: paging.Limit = 50
) -> responses.Response:
    """List the agents by name: connected or not, their versions, what their policies permit."""
    agents = await server_state.of(request).service.agents.list()
    page = paging.cut(agents, lambda agent: agent.name, cursor, limit)
    return encoding.many(request, page.items, page.cursor)


@router.post(f"{_PATH}/rotate", responses=response_schemas.one(agent_service.AgentRegistration))
@access.needs(Permission.ADMINISTER, action="cluster.rotate")
async def rotate_agent(
    request: requests.Request, cluster: str, body: bodies.AgentKey
) -> responses.Response:
    """Make another token for the agent of a cluster; that in use is good until it was seen."""
    made = await server_state.of(request).service.agents.rotate(
        cluster, commands.asker(request), sealing_key=body.sealing_key
    )
    return encoding.secret(request, made)


@router.post(_PATH, responses=response_schemas.one(agent_service.AgentRegistration))
@access.needs(Permission.ADMINISTER, action="cluster.join")
async def join_cluster(
    request: requests.Request, cluster: str, body: bodies.AgentKey
) -> responses.Response:
    """Register an agent for a cluster; its token is in the answer, and nowhere else."""
    made = await server_state.of(request).service.agents.join(
        cluster, commands.asker(request), sealing_key=body.sealing_key
    )
    return encoding.secret(request, made)


@router.post(f"{_PATH}/remove", responses=response_schemas.one(agent_service.Agent))
@access.needs(Permission.ADMINISTER, action="cluster.remove")
async def remove_agent(request: requests.Request, cluster: str) -> responses.Response:
    """Take the rights of the agent of a cluster, and end its connections; shows how it was."""
    service = server_state.of(request).service.agents
    return encoding.one(request, await service.remove(cluster, commands.asker(request)))
