"""Commands about the clusters of a server."""

from collections.abc import Iterator, Sequence

from volary.cli import console, exit_codes, forms
from volary.cli.remote import client, output
from volary.model import errors, json, phrases
from volary.model.fleet import taints

_HINT = "write KEY=VALUE:NoSchedule, KEY:NoExecute, or KEY- to remove it"


async def get(server: client.Client, name: str, form: forms.Form) -> int:
    """Show one cluster."""
    cluster = await server.get("clusters", name)
    return output.answer(cluster, form, lambda: output.describe_cluster(cluster))


async def send(server: client.Client, name: str, verb: str, body: json.JsonObject) -> int:
    """Ask something of a cluster and say how it is marked then."""
    _print_status(await server.post("clusters", name, verb, body=body))
    return exit_codes.Exit.DONE


async def preview(server: client.Client, name: str, action: str) -> int:
    """Say what cordoning or draining a cluster would do to what runs there."""
    console.write_lines(preview_lines(await server.get("clusters", name, "preview", action=action)))
    return exit_codes.Exit.DONE


def preview_lines(preview: json.JsonObject) -> Iterator[str]:
    """Yield what would happen, and what would become of each application."""
    yield preview["sentence"]
    if preview["applications"]:
        rows = [("APPLICATION", "MOVES", "REASON")]
        rows += [
            (each["application"], "yes" if each["moves"] else "no", each["reason"])
            for each in preview["applications"]
        ]
        yield from console.aligned(rows)
    if preview["omitted"]:
        yield f"{phrases.count(preview['omitted'], 'further application')} not looked at"


async def taint(server: client.Client, name: str, marks: Sequence[str], reason: str) -> int:
    """Make and remove marks, one after another."""
    wanted = [_read(mark, reason) for mark in marks]
    cluster: json.JsonObject = {}
    for verb, body in wanted:
        cluster = await server.post("clusters", name, verb, body=body)
    _print_status(cluster)
    return exit_codes.Exit.DONE


def _read(text: str, reason: str) -> tuple[str, json.JsonObject]:
    """Read a mark as kubectl writes it, and what is to be done with it."""
    removes = text.endswith("-")
    whole, _, effect = text.removesuffix("-").partition(":")
    key, equals, value = whole.partition("=")
    known = [known_effect.value for known_effect in taints.Effect]
    allowed = ["", *known] if removes else known
    if not key or effect not in allowed or (removes and equals):
        raise errors.user_error(f"{text} is no taint", hint=_HINT)
    if removes:
        return "untaint", {"key": key, "effect": effect, "reason": reason}
    return "taint", {"key": key, "value": value, "effect": effect, "reason": reason}


def _print_status(cluster: json.JsonObject) -> None:
    marks = ", ".join(output.taint(mark) for mark in cluster["taints"]) or "no taints"
    console.write_text(f"{cluster['name']}: {cluster['status']}, {marks}")
