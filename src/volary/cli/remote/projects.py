"""Commands about the projects of a server."""

from collections.abc import Iterator
from dataclasses import dataclass

from volary.cli import console, exit_codes, forms
from volary.cli.remote import client, output
from volary.model import errors, json, phrases

_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Question:
    """What a project may permit; empty: nothing is asked."""

    application: str = ""
    #: ``Kind.group``.
    kind: str = ""
    cluster: str = ""
    namespace: str = ""


async def show_list(server: client.Client, form: forms.Form) -> int:
    """Show all projects, and what is wrong with their files."""
    items = await server.pages("projects", most=_MOST)
    files = await server.get("project-files")
    if form.is_document:
        output.show({"projects": items, "files": files}, form)
        return exit_codes.Exit.DONE
    if items:
        console.write_lines(console.aligned([_TITLES, *map(_row, items)]))
    if not files["inUse"]:
        console.tell("there are no projects: every repository may deploy anything anywhere")
    if files["unknown"]:
        console.tell(f"nothing is planned: {files['unknown']}")
    if files["problem"]:
        console.tell(f"not taken: {files['problem']}")
    return exit_codes.Exit.DONE


_TITLES = ("NAME", "APPLICATIONS", "CLUSTERS", "NAMESPACES", "SOURCES")


def _row(project: json.JsonObject) -> tuple[str, ...]:
    namespaces = dict.fromkeys(
        name for one in project["destinations"] for name in one["namespaces"]
    )
    return (
        project["name"],
        str(project["applications"]),
        phrases.join_names(project["clusters"]) or "-",
        phrases.join_names(tuple(namespaces)),
        phrases.join_names([_source(source) for source in project["sources"]]),
    )


def _source(source: json.JsonObject) -> str:
    return ":".join((source["repository"], *filter(None, [",".join(source["paths"])])))


async def explain(server: client.Client, name: str, asked: Question, form: forms.Form) -> int:
    """Show what a project permits, or whether it permits one thing.

    Raises:
        errors.UserError: What is asked does not go together.
    """
    if asked.application and asked.kind:
        raise errors.user_error("--application and --object are both given", hint="ask for one")
    if (asked.cluster or asked.namespace) and not asked.kind:
        raise errors.user_error("--cluster and --namespace belong to --object")
    if not (asked.application or asked.kind):
        project = await server.get("projects", name)
        return output.answer(project, form, lambda: console.write_lines(_lines(project)))
    kind, _, group = asked.kind.partition(".")
    found = await server.get(
        "projects",
        name,
        "permission",
        application=asked.application,
        kind=kind,
        group=group,
        cluster=asked.cluster,
        namespace=asked.namespace,
    )
    output.answer(found, form, lambda: console.write_lines(_permission(found)))
    return exit_codes.Exit.DONE if found["permitted"] else exit_codes.Exit.FAILED


def _permission(found: json.JsonObject) -> Iterator[str]:
    yield f"{'permitted' if found['permitted'] else 'not permitted'}: {found['reason']}"
    if found["clusters"]:
        yield f"on {', '.join(found['clusters'])}"


def _lines(project: json.JsonObject) -> Iterator[str]:
    for name, value in _pairs(project):
        if value:
            yield f"{name + ':':<16} {value}"


def _pairs(project: json.JsonObject) -> Iterator[tuple[str, str]]:
    yield "name", project["name"]
    yield "description", project["description"]
    yield "applications", str(project["applications"])
    for source in project["sources"]:
        branches = f", branches {', '.join(source['branches'])}" if source["branches"] else ""
        paths = ", ".join(source["paths"]) or "every directory"
        yield "source", f"{source['repository']}: {paths}{branches}"
    for one in project["destinations"]:
        clusters = ", ".join(one["clusters"]) or "no cluster of the fleet"
        yield "destination", f"{clusters}: namespaces {', '.join(one['namespaces'])}"
    yield "kinds", ", ".join(project["namespacedKinds"]) or "none in namespaces"
    yield "without namespace", ", ".join(project["clusterScopedKinds"]) or "none"
    yield "never", ", ".join(project["deniedKinds"])
    stages = project["stages"]
    yield "stages", "all" if stages is None else ", ".join(stages) or "none"
    yield "scripts", project["scripts"]
    limits = [f"{name} {most}" for name, most in project["limits"].items() if most]
    yield "limits", ", ".join(limits)
    for role in project["roles"]:
        yield "role", f"{role['role']}: {', '.join((*role['groups'], *role['subjects']))}"
    yield "acts as", project["identity"] or "the server"
