"""What is not as Git says in an application's clusters: ``volary diff``.

Differences are written as ``volary plan`` writes them: ``-`` is how the cluster is, ``+`` what Git
says.
"""

from collections.abc import Iterator

from volary.cli import console, exit_codes, forms
from volary.cli.remote import client, output
from volary.config.decoding import readings
from volary.controller.preview import diff_lines
from volary.manifests.diff import value_diff
from volary.model import errors, json

_EXITS = {"inSync": exit_codes.Exit.DONE, "outOfSync": exit_codes.Exit.FAILED}
#: Worst first.
_ORDER = ("outOfSync", "unknown", "running", "inSync")
#: How a status is called.
WORDS = {
    "inSync": "in sync",
    "outOfSync": "out of sync",
    "unknown": "unknown",
    "running": "not compared",
    "off": "not compared",
}
_SIGNS = {"differs": "~", "missing": "+", "extra": "-"}
_MOST_LINES = 60


async def show_diff(server: client.Client, application: str, cluster: str, form: forms.Form) -> int:
    """Show what differs, of all clusters or of one; returns the exit code.

    Raises:
        errors.UserError: There is no such application, or it is not on this cluster.
    """
    try:
        document = await server.get("applications", application, "drift")
    except errors.UserError:
        raise
    except errors.VolaryError as error:
        console.messages().print(f"error: {error}", style="red", markup=False)
        return exit_codes.Exit.UNCLEAR
    if cluster:
        document = _of_cluster(document, cluster)
    output.answer(document, form, lambda: console.write_lines(lines(document)))
    return _EXITS.get(document["status"], exit_codes.Exit.UNCLEAR)


def _of_cluster(document: json.JsonObject, name: str) -> json.JsonObject:
    """Return the part of one cluster.

    Raises:
        errors.UserError: It is not among them.
    """
    for one in document["clusters"]:
        if one["name"] == name:
            since = (item["since"] for item in one["objects"] if item["since"])
            repair_after = document["repairAfter"] if one["objects"] else None
            return {
                **document,
                **{key: one[key] for key in ("status", "reason")},
                "since": min(since, default=None),
                "repairAfter": repair_after,
                "clusters": [one],
            }
    names = [one["name"] for one in document["clusters"]]
    hint = readings.did_you_mean(name, names)
    raise errors.user_error(f"{document['application']} is not on cluster {name}", hint=hint)


def lines(document: json.JsonObject) -> Iterator[str]:
    """Yield a comparison as the API gives it, cluster by cluster, the worst first."""
    plain = diff_lines.plain
    commit = f" {document['commit'][:7]}" if document["commit"] else ""
    since = f" since {document['since'][:19]}Z" if document["since"] else ""
    word = WORDS.get(document["status"], document["status"])
    yield f"{plain(document['application'])}{commit}: {word}{since}"
    if document["status"] != "inSync":
        yield f"  {plain(document['reason'])}"
    if document["repairAfter"]:
        yield f"  repaired at {document['repairAfter'][:19]}Z, unless it is gone before"
    for status in _ORDER:
        for one in document["clusters"]:
            if one["status"] == status:
                yield from _cluster(one)


def _cluster(cluster: json.JsonObject) -> Iterator[str]:
    plain = diff_lines.plain
    word = WORDS.get(cluster["status"], cluster["status"])
    if not cluster["objects"]:
        yield f"{plain(cluster['name'])}: {word}: {plain(cluster['reason'])}"
        return
    yield f"{plain(cluster['name'])}: {word}"
    for item in cluster["objects"]:
        place = f"{item['namespace']}/{item['name']}" if item["namespace"] else item["name"]
        reason = "" if item["drift"] == "differs" else f" ({item['reason']})"
        sign = _SIGNS.get(item["drift"], "?")
        yield f"  {sign} {item['drift']} {plain(item['kind'])} {plain(place)}{plain(reason)}"
        shown = [line for field in item["differences"] for line in _field(field)]
        if item["omitted"]:
            shown.append(f"… {item['omitted']} more fields differ")
        yield from (f"      {line}" for line in shown[:_MOST_LINES])
        if len(shown) > _MOST_LINES:
            yield f"      … {len(shown) - _MOST_LINES} more lines"


def _field(field: json.JsonObject) -> Iterator[str]:
    absent = value_diff.ABSENT
    live = absent if field["sides"] == "wanted" else field["live"]
    wanted = absent if field["sides"] == "live" else field["wanted"]
    written = list(diff_lines.of_item(value_diff.Item((field["path"],), live, wanted)))
    if field["owners"]:
        owner = field["owners"][0]
        since = f", {owner['since'][:19]}Z" if owner["since"] else ""
        written[0] += diff_lines.plain(f" {owner['manager']}{since}")
    yield from written
