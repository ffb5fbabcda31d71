"""Agents beside clusters, for themselves: what they say first, and their tunnels."""

import asyncio
import contextlib
import hmac
import logging

from starlette import requests, responses, websockets

from volary.agents import hellos
from volary.controller.agents import agent_registry, tunnel_hub
from volary.model import errors
from volary.server import server_state
from volary.server.authentication import logins
from volary.server.authorization import access, guard
from volary.server.http import encoding, problems
from volary.server.permissions import Permission
from volary.server.routes import response_schemas

_LOG = logging.getLogger(__name__)
router = response_schemas.router("agent")
#: Why a WebSocket ends that is not let in after all: as its protocol has it for policy.
_REFUSED = 1008
_DONE = 1000
#: Seconds that the other side has to take it.
_CLOSING = 2.0


@router.post(
    "/agent/hello",
    responses={
        200: {"description": "What the agent needs to know"},
        409: {"description": "Why not"},
    },
)
@access.needs(Permission.AGENT)
async def say_hello(request: requests.Request) -> responses.Response:
    """Take what an agent says of itself: its version, its protocols, and its cluster."""
    here = server_state.of(request)
    try:
        hello = hellos.read_hello(await request.body())
        answer = await here.service.agents.welcome(server_state.agent(request), hello)
    except hellos.MalformedError as error:
        return problems.problem(400, str(error))
    except agent_registry.RefusedError as error:
        _LOG.warning("an agent is not let in: %s", error)
        return problems.problem(409, str(error))
    return responses.Response(encoding.encode(answer), media_type="application/json")


async def carry_tunnel(websocket: websockets.WebSocket) -> None:
    """Carry the tunnel of an agent that has said hello."""
    agents, agent = server_state.of(websocket).service.agents, server_state.agent(websocket)
    cluster = websocket.query_params.get("cluster", "")
    uid = websocket.query_params.get("uid", "")
    is_pinned = bool(uid) and hmac.compare_digest(agent.cluster_uid.encode(), uid.encode())
    if cluster not in agent.clusters or not is_pinned:
        await guard.deny(websocket, 409, "say hello first")
        return
    await websocket.accept()
    digest = agent_registry.digest(logins.bearer(websocket))
    tunnels = server_state.of(websocket).metrics.tunnels
    try:
        with tunnels.track_inprogress():
            reason = await agents.carry(agent, cluster, _Channel(websocket), digest=digest)
    except tunnel_hub.TooManyTunnelsError as error:
        await _close(websocket, _REFUSED, str(error))
    except errors.TemporaryError as error:
        await _close(websocket, _REFUSED, str(error))
    else:
        await _close(websocket, _DONE, reason)


router.routes.append(guard.AgentSocketRoute(hellos.TUNNEL_PATH, carry_tunnel))


async def _close(websocket: websockets.WebSocket, code: int, reason: str) -> None:
    """Say why it ends, unless it has ended."""
    is_open = (
        websocket.client_state is websockets.WebSocketState.CONNECTED
        and websocket.application_state is websockets.WebSocketState.CONNECTED
    )
    if is_open:
        # No more fits into a frame that closes.
        short = reason.encode()[:100].decode("utf-8", "ignore")
        # It may take nothing any more; the connection ends then.
        with contextlib.suppress(websockets.WebSocketDisconnect, TimeoutError):
            async with asyncio.timeout(_CLOSING):
                await websocket.close(code, short)


class _Channel:
    """A WebSocket as tunnels have it."""

    def __init__(self, websocket: websockets.WebSocket) -> None:
        self._websocket = websocket

    async def send(self, message: bytes) -> None:
        try:
            await self._websocket.send_bytes(message)
        except (websockets.WebSocketDisconnect, RuntimeError) as error:
            raise ConnectionError("its connection ended") from error

    async def receive(self) -> bytes | None:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        data = message.get("bytes")
        # A text is no frame, and neither is nothing.
        return data if isinstance(data, bytes) else b""
