"""Commands about where a server's applications are."""

from volary.cli import console, exits
from volary.cli.remote import client, login, output


async def show(target: login.Target, application: str, form: output.Form) -> int:
    """Show where an application is, and what moves."""
    async with client.Client.open(target) as server:
        found = await server.get("applications", application, "placement")
    if form in (output.Form.JSON, output.Form.YAML):
        output.show(found, form)
        return exits.Exit.DONE
    console.say(f"on {', '.join(found['clusters']) or 'no cluster'}")
    for each in found["leaving"]:
        done = "replaced" if each["replaced"] else "not replaced yet"
        console.say(f"leaving {each['cluster']} ({done}): {each['reason']}")
    for each in found["away"]:
        console.say(f"away from {each['cluster']} until a rebalance: {each['reason']}")
    for each in found["waiting"]:
        console.say(f"waiting, {each['cluster']}: {each['reason']}")
    return exits.Exit.DONE


async def plan(target: login.Target, application: str) -> int:
    """Say what a rebalance would move."""
    async with client.Client.open(target) as server:
        found = await server.post("applications", application, "rebalance", "plan", body={})
    console.say(found["reason"])
    console.say(f"it would be on {', '.join(found['clusters'])}")
    for each in found["leftOut"]:
        console.say(f"not on {each['cluster']}: {each['reason']}")
    return exits.Exit.DONE
