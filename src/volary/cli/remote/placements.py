"""Commands about where a server's applications are."""

from collections.abc import Iterator

from volary.cli import console, exit_codes, forms
from volary.cli.remote import client, output
from volary.model import json


async def show(server: client.Client, application: str, form: forms.Form) -> int:
    """Show where an application is, and what moves."""
    placement = await server.get("applications", application, "placement")
    return output.answer(placement, form, lambda: console.write_lines(lines(placement)))


def lines(placement: json.JsonObject) -> Iterator[str]:
    """Yield where an application is; evidence that was given once is not said again."""
    yield f"on {', '.join(placement['clusters']) or 'no cluster'}"
    explained: dict[str, str] = {}
    for move in placement["leaving"]:
        done = "replaced" if move["replaced"] else "not replaced yet"
        explained[move["cluster"]] = move["reason"]
        yield f"leaving {move['cluster']} ({done}): {move['reason']}"
    for move in placement["away"]:
        why = "" if explained.get(move["cluster"]) == move["reason"] else f": {move['reason']}"
        yield f"away from {move['cluster']} until a rebalance{why}"
    for move in placement["waiting"]:
        known = explained.get(move["cluster"])
        reason = move["reason"].removeprefix(f"{known}; ") if known else move["reason"]
        yield f"waiting, {move['cluster']}: {reason}"


async def plan(server: client.Client, application: str) -> int:
    """Say what a rebalance would move."""
    planned = await server.post("applications", application, "rebalance", "plan", body={})
    console.write_text(planned["reason"])
    console.write_text(f"it would be on {', '.join(planned['clusters'])}")
    for exclusion in planned["leftOut"]:
        console.write_text(f"not on {exclusion['cluster']}: {exclusion['reason']}")
    return exit_codes.Exit.DONE
