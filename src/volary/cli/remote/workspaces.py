"""Workspaces of a server: how they are on clusters, and deleting what is not written any more."""

from collections.abc import Iterator

from volary.cli import console, durations, exit_codes, forms
from volary.cli.remote import client, output
from volary.controller import system_clock
from volary.model import errors, json

_PATH = "workspaces"


async def show_all(server: client.Client, form: forms.Form, *, project: str = "") -> int:
    """List workspaces: of one project, where that is given."""
    items = await server.pages(_PATH, most=100_000, project=project)
    if form.is_document:
        output.show(items, form)
        return exit_codes.Exit.DONE
    rows = [["NAME", "PROJECT", "STATUS", "CLUSTERS", "NAMESPACES", "REASON"]]
    rows += [
        [
            item["name"],
            item["project"],
            item["status"],
            f"{sum(one['status'] == 'ready' for one in item['clusters'])}/{len(item['clusters'])}",
            ", ".join(item["namespaces"]),
            item["reason"],
        ]
        for item in items
    ]
    console.write_lines(console.aligned(rows))
    return exit_codes.Exit.DONE


async def show(server: client.Client, name: str, form: forms.Form) -> int:
    """Show one workspace."""
    workspace = await server.get(_PATH, name)
    return output.answer(workspace, form, lambda: console.write_lines(_lines(workspace)))


async def delete(
    server: client.Client, name: str, form: forms.Form, *, confirm: str, with_contents: bool
) -> int:
    """Delete what is left of a workspace, and say what stayed.

    Raises:
        errors.UserError: It is not confirmed, or there is nothing to delete.
    """
    if confirm != name:
        raise errors.user_error(
            f"nothing was deleted: it is not confirmed that workspace {name} may go",
            hint=f"volary workspace get {name} says what waits; then add --confirm {name}",
        )
    body = {"confirm": confirm, "withContents": with_contents}
    deleted = await server.post(_PATH, name, "delete", body=body)
    output.answer(deleted, form, lambda: console.write_lines(_deleted_lines(deleted)))
    return exit_code(deleted)


def exit_code(deleted: json.JsonObject) -> exit_codes.Exit:
    """Return the exit code for what was deleted: whether something is left."""
    is_left = any(cluster["left"] for cluster in deleted["clusters"])
    return exit_codes.Exit.FAILED if is_left else exit_codes.Exit.DONE


def _lines(workspace: json.JsonObject) -> Iterator[str]:
    """Yield what a person wants to know of a workspace."""
    reason = f": {workspace['reason']}" if workspace["reason"] else ""
    yield f"{workspace['name']} of project {workspace['project']}: {workspace['status']}{reason}"
    yield f"namespaces: {', '.join(workspace['namespaces'])}"
    now = system_clock.SystemClock().now()
    for cluster in workspace["clusters"]:
        since = f" for {durations.age(cluster['since'], now)}" if cluster["since"] else ""
        reason = f": {cluster['reason']}" if cluster["reason"] else ""
        yield f"{cluster['cluster']}  {cluster['status']}{since}{reason}"
        if cluster["repaired"]:
            ago = durations.age(cluster["repaired"], now)
            yield f"  put back {ago} ago: {cluster['repair']}"
        for namespace in cluster["removed"]:
            why = namespace["reason"] or "removed, waiting for confirmation"
            yield f"  namespace {namespace['name']}: {why}"
    if any(cluster["removed"] for cluster in workspace["clusters"]):
        name = workspace["name"]
        yield f"type volary workspace delete {name} --confirm {name} to delete what was removed"


def _deleted_lines(deleted: json.JsonObject) -> Iterator[str]:
    for cluster in deleted["clusters"]:
        for namespace in cluster["deleted"]:
            yield f"{cluster['cluster']}  namespace {namespace} deleted"
        for namespace in cluster["left"]:
            where = f"{cluster['cluster']}  namespace {namespace['name']}"
            yield f"{where} stays: {namespace['reason']}"
    if deleted["isGone"]:
        yield f"nothing is left of workspace {deleted['name']}"
