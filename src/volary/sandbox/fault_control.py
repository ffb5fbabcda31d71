"""``/sandbox/faults``: lets other processes switch a cluster's faults.

GET tells them, PATCH changes some (the JSON of `faults.Switchboard.as_json`), DELETE
switches all off. It works whatever else is wrong with the cluster, for its
administrator's token only.
"""

import hmac

import msgspec
from aiohttp import web

from volary.model import errors
from volary.sandbox import faults, status

PATH = "/sandbox/faults"
#: Bytes of a request's body.
_LIMIT = 64 * 1024


def routes(switchboard: faults.Switchboard, *, token: str) -> tuple[web.RouteDef, ...]:
    """Return the routes of the control endpoint, open to who has `token`."""

    async def handle(request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return web.json_response(status.failure(401, "Unauthorized"), status=401)
        try:
            await _switch(request, switchboard)
        except errors.UserError as problem:
            return web.json_response(status.failure(400, str(problem)), status=400)
        return web.json_response(switchboard.as_json())

    return tuple(web.route(method, PATH, handle) for method in ("GET", "PATCH", "DELETE"))


async def _switch(request: web.Request, switchboard: faults.Switchboard) -> None:
    if request.method == "DELETE":
        switchboard.clear()
    elif request.method == "PATCH":
        switchboard.change(await _body(request))


async def _body(request: web.Request) -> dict[str, object]:
    if (request.content_length or 0) > _LIMIT:
        raise errors.user_error(f"the body is larger than {_LIMIT} bytes")
    text = await request.content.read(_LIMIT)
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError as problem:
        raise errors.user_error(f"the body is not a JSON object: {problem}") from None
