"""No write goes around the rule of its client: not by any method, not when it is only tried."""

import ast
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fixed_clock import FixedClock
from scripted_server import ScriptedServer, answer, serve, status
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, write_rules
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import retries, transports
from volary.model import json

MAPS = discovery.Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
NODES = discovery.Resource("", "v1", "Node", "nodes", namespaced=False)
BODY: json.JsonObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "shop"},
}
OF_NODE: json.JsonObject = {"metadata": {"name": "a", "namespace": "ignored"}}
#: How each method is called that writes.
WRITES: dict[str, Callable[..., Awaitable[object]]] = {
    "apply": lambda client, **more: client.apply(MAPS, BODY, **more),
    "create": lambda client, **more: client.create(MAPS, BODY, **more),
    "replace": lambda client, **more: client.replace(MAPS, BODY, **more),
    "merge_patch": lambda client, **more: client.merge_patch(MAPS, BODY, **more),
    "delete": lambda client, **more: client.delete(MAPS, "a", namespace="shop", **more),
}
#: Those that read, or ask the server about oneself.
READS = {
    *(
        "acting_as",
        "writing_by",
        "follow_log",
        "may_have_kept",
        "may_have_written",
        "version",
        "check",
        "identity",
        "discover",
        "get",
        "list",
        "watch",
        "review",
    ),
}


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    async with serve() as server:
        yield server


@asynccontextmanager
async def client_of(
    server: ScriptedServer, rule: write_rules.WriteRule
) -> AsyncIterator[clients.Client]:
    connection = connections.Connection("us", server.url)
    limits = transports.Limits(retry=retries.Policy(tries=3))
    async with clients.open_client(
        connection, clock=FixedClock(), limits=limits, rule=rule
    ) as client:
        yield client


def test_every_method_is_known_here() -> None:
    """A new one has to be put among those that write or those that do not."""
    methods = {
        name
        for name, _ in inspect.getmembers(clients.Client, inspect.isfunction)
        if not name.startswith("_")
    }

    assert methods == READS | set(WRITES)


def test_what_is_no_read_is_sent_in_one_place() -> None:
    """Whatever else is sent by a client has a request that reads."""
    source = Path(inspect.getfile(clients)).read_text()
    senders = [
        function.name
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.AsyncFunctionDef)
        and any(
            isinstance(node, ast.Attribute)
            and node.attr == "send"
            and ast.unparse(node.value) == "self._sender"
            for node in ast.walk(function)
        )
    ]
    writers = [
        function.name
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.AsyncFunctionDef)
        and any(
            f"requests.{maker}(" in ast.unparse(function)
            for maker in ("write", "merge_patch", "delete")
        )
    ]

    assert sorted(senders) == ["_change", "_list_pages", "get", "identity", "review", "version"]
    assert sorted(writers) == sorted(WRITES)


@pytest.mark.parametrize(
    ("name", "dry_run"),
    [*((name, False) for name in WRITES), *((name, True) for name in WRITES if name != "delete")],
)
async def test_what_is_refused_is_not_sent(
    name: str, dry_run: bool, scripted: ScriptedServer
) -> None:
    asked: list[write_rules.Write] = []

    def refuse(write: write_rules.Write) -> str:
        asked.append(write)
        return "the team may not"

    more: dict[str, Any] = {"dry_run": True} if dry_run else {}
    async with client_of(scripted, refuse) as client:
        with pytest.raises(api_errors.Refused, match=r"configmaps shop/a: the team may not"):
            await WRITES[name](client, **more)

    assert scripted.seen == []
    assert asked == [write_rules.Write(MAPS, "shop", "a")]


@pytest.mark.parametrize("name", ["apply", "delete"])
async def test_bookkeeping_is_said_by_who_writes(name: str, scripted: ScriptedServer) -> None:
    asked: list[write_rules.Write] = []

    def note(write: write_rules.Write) -> str:
        asked.append(write)
        return ""

    async with client_of(scripted, note) as client:
        await WRITES[name](client, purpose=write_rules.Purpose.BOOKKEEPING)

    assert [write.purpose for write in asked] == [write_rules.Purpose.BOOKKEEPING]
    assert len(scripted.seen) == 1


async def test_an_object_of_the_whole_cluster_has_no_namespace(scripted: ScriptedServer) -> None:
    """Whatever its body says: that is where it is written to."""
    asked: list[write_rules.Write] = []

    def refuse(write: write_rules.Write) -> str:
        asked.append(write)
        return "no"

    async with client_of(scripted, refuse) as client:
        for writing in (client.apply(NODES, OF_NODE), client.delete(NODES, "a", namespace="shop")):
            with pytest.raises(api_errors.Refused):
                await writing

    assert {write.namespace for write in asked} == {""}


async def test_the_rule_is_asked_again_before_each_try(scripted: ScriptedServer) -> None:
    """What is permitted may end between two tries."""
    answers = iter(["", "it may not any more"])
    scripted.say(status(503, "ServiceUnavailable", "later"), answer(BODY))

    async with client_of(scripted, lambda _: next(answers)) as client:
        with pytest.raises(api_errors.Refused, match="it may not any more"):
            await client.apply(MAPS, BODY)

    assert len(scripted.seen) == 1


@pytest.mark.parametrize("name", ["..", "a/../../other/configmaps/a", "a%2Fb", "web/scale"])
async def test_what_is_no_name_leads_nowhere(name: str, scripted: ScriptedServer) -> None:
    """API servers read paths after unquoting them."""
    async with client_of(scripted, write_rules.permit_all) as client:
        for place in ({"name": name, "namespace": "shop"}, {"name": "a", "namespace": name}):
            with pytest.raises(api_errors.Refused, match="is not a name"):
                await client.apply(MAPS, {**BODY, "metadata": place})
            with pytest.raises(api_errors.Refused, match="is not a name"):
                await client.delete(MAPS, place["name"], namespace=place["namespace"])

    assert scripted.seen == []
