"""The commands about where an application goes; each imports its work when it runs."""

from typing import Annotated

import typer

from volary.cli.commands import remote

app = typer.Typer()

_Path = Annotated[str, typer.Argument(metavar="PATH", help="Directory or Git repository.")]
_Application = Annotated[
    str,
    typer.Option(
        "--app", metavar="DIR", help="Application directory or file, relative to the path."
    ),
]
_Commit = Annotated[str, typer.Option(metavar="REV", help="Commit, branch or tag. Default: HEAD.")]
_Fleet = Annotated[
    str, typer.Option("--fleet", metavar="FILE", help="Fleet file, or PipeCD's piped file.")
]
_Contexts = Annotated[str, typer.Option(metavar="A,B", help="Instead of a fleet file.")]


@app.command()
def targets(
    path: _Path,
    app_path: _Application = "",
    commit: _Commit = "",
    fleet: _Fleet = "",
    contexts: _Contexts = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say which clusters an application goes to, in which wave, and why not to the others."""
    from volary.cli.local import targets as local_targets

    request = local_targets.TargetsRequest(path, app_path, commit, fleet, contexts)
    remote.finish(local_targets.show_targets(request, as_json=as_json))


@app.command("diff-targets")
def diff_targets(
    path: _Path,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="Clusters to compare. Default: all."),
    ] = None,
    app_path: _Application = "",
    commit: _Commit = "",
    fleet: _Fleet = "",
    contexts: _Contexts = "",
) -> None:
    """Show what clusters get differently: each one compared with the first."""
    from volary.cli.local import targets as local_targets

    request = local_targets.TargetsRequest(path, app_path, commit, fleet, contexts)
    remote.finish(local_targets.show_differences(request, tuple(names or ())))
