"""Commands about where a server's applications are."""

from collections.abc import Iterator

from volary.cli import console, exit_codes
from volary.cli.remote import client, login, output
from volary.model import json


async def show(target: login.Target, application: str, form: output.Form) -> int:
    """Show where an application is, and what moves."""
    async with client.Client.open(target) as server:
        found = await server.get("applications", application, "placement")
    if form in (output.Form.JSON, output.Form.YAML):
        output.show(found, form)
        return exit_codes.Exit.DONE
    for line in lines(found):
        console.write_text(line)
    return exit_codes.Exit.DONE


def lines(found: json.JsonObject) -> Iterator[str]:
    """Yield where an application is; evidence that was given once is not said again."""
    yield f"on {', '.join(found['clusters']) or 'no cluster'}"
    told: dict[str, str] = {}
    for each in found["leaving"]:
        done = "replaced" if each["replaced"] else "not replaced yet"
        told[each["cluster"]] = each["reason"]
        yield f"leaving {each['cluster']} ({done}): {each['reason']}"
    for each in found["away"]:
        why = "" if told.get(each["cluster"]) == each["reason"] else f": {each['reason']}"
        yield f"away from {each['cluster']} until a rebalance{why}"
    for each in found["waiting"]:
        known = told.get(each["cluster"])
        reason = each["reason"].removeprefix(f"{known}; ") if known else each["reason"]
        yield f"waiting, {each['cluster']}: {reason}"


async def plan(target: login.Target, application: str) -> int:
    """Say what a rebalance would move."""
    async with client.Client.open(target) as server:
        found = await server.post("applications", application, "rebalance", "plan", body={})
    console.write_text(found["reason"])
    console.write_text(f"it would be on {', '.join(found['clusters'])}")
    for each in found["leftOut"]:
        console.write_text(f"not on {each['cluster']}: {each['reason']}")
    return exit_codes.Exit.DONE
