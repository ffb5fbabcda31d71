"""Switching faults of a running sandbox from another process."""

import base64
import binascii
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import aiohttp
import yaml

from kube_sandbox import errors, json
from kube_sandbox.faults import fault_middleware

_TIMEOUT = aiohttp.ClientTimeout(total=10)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a sandbox cluster is and the token that may switch its faults."""

    url: str
    token: str
    #: The authority of the sandbox in PEM; empty for plain HTTP.
    authority: str = ""


def locate(directory: Path, cluster: str) -> Address:
    """Find a cluster of the sandbox whose files are in `directory`.

    Raises:
        UserError: There is no sandbox, or no such cluster in it.
    """
    fleet = _load(directory / "fleet.yaml")
    names = [str(each.get("name")) for each in fleet.get("clusters") or ()]
    if cluster not in names:
        raise errors.UserError(
            f'no cluster "{cluster}" in {directory / "fleet.yaml"}',
            hint=f"clusters: {', '.join(names)}",
        )
    entry = fleet["clusters"][names.index(cluster)]
    settings = _load(directory / str(entry["kubeconfig"]))
    try:
        server = settings["clusters"][0]["cluster"]
        token = settings["users"][0]["user"]["token"]
        authority = base64.b64decode(server.get("certificate-authority-data", "")).decode()
        return Address(str(server["server"]), str(token), authority)
    except (KeyError, IndexError, TypeError, AttributeError, binascii.Error):
        raise errors.UserError(f"{entry['kubeconfig']} was not written by a sandbox") from None


async def read(address: Address) -> json.JsonObject:
    """Return the cluster's faults.

    Raises:
        UserError: The sandbox does not answer, or refuses.
    """
    return await _request(address, "GET")


async def change(address: Address, changes: json.JsonObject) -> json.JsonObject:
    """Change some of the cluster's faults and return all of them.

    Raises:
        UserError: The sandbox does not answer, or a name or value is wrong.
    """
    return await _request(address, "PATCH", changes)


async def clear(address: Address) -> json.JsonObject:
    """Switch all of the cluster's faults off.

    Raises:
        UserError: The sandbox does not answer, or refuses.
    """
    return await _request(address, "DELETE")


async def _request(
    address: Address, method: str, body: json.JsonObject | None = None
) -> json.JsonObject:
    headers = {"Authorization": f"Bearer {address.token}"}
    context = ssl.create_default_context(cadata=address.authority) if address.authority else True
    url = address.url + fault_middleware.PATH
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, headers=headers) as session,
            session.request(method, url, json=body, ssl=context) as response,
        ):
            answer = cast("json.JsonObject", await response.json())
    except (aiohttp.ClientError, TimeoutError) as problem:
        raise errors.UserError(
            f"the sandbox at {address.url} does not answer: {problem}", hint="is it still running?"
        ) from problem
    if response.status >= 400:
        raise errors.UserError(str(answer.get("message")))
    return answer


def _load(path: Path) -> json.JsonObject:
    try:
        text = path.read_text()
    except OSError as problem:
        raise errors.UserError(
            f"cannot read {path}: {problem.strerror}", hint="start one with kube-sandbox up"
        ) from None
    loaded = yaml.safe_load(text)
    if not isinstance(loaded, dict):
        raise errors.UserError(f"{path} was not written by a sandbox")
    return loaded
