"""The demo, and the commands of the sandbox's distribution as a group of ours.

Both need the extra ``sandbox``, which a production install does not carry: everything of it is
imported when one of them is used.
"""

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer
from typer import core

from volary.cli.commands import options
from volary.model import errors

app = typer.Typer(rich_markup_mode=None)


#: What the demo shows.
Scenario = Literal[
    "canary",
    "istio",
    "broken",
    "gitops",
    "bad-canary",
    "progressive",
    "ab",
    "blue-green",
    "one-bad-region",
    "waves",
    "karmada",
    "failover",
    "teams",
    "distributed",
]


@contextlib.contextmanager
def _sandbox_errors() -> Iterator[None]:
    """Say it as an error of ours when the sandbox is not installed, or refuses something."""
    try:
        from kube_sandbox import errors as sandbox_errors
    except ModuleNotFoundError as missing:
        if missing.name != "kube_sandbox":
            raise
        raise errors.user_error(
            "the sandbox is not installed", hint="pip install 'volary[sandbox]'"
        ) from None
    try:
        yield
    except sandbox_errors.UserError as problem:
        raise errors.user_error(problem.message, hint=problem.hint) from problem


class _SandboxGroup(core.TyperGroup):
    """The commands of ``kube-sandbox``, looked up when the group is used."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the commands before anything asks for them."""
        with _sandbox_errors():
            from kube_sandbox.cli import commands

            group = typer.main.get_command(commands.app)
            assert isinstance(group, core.TyperGroup)
            self.commands.update(group.commands)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _sandbox_errors():
            return super().invoke(ctx)


@app.command()
def demo(
    scenario: Annotated[Scenario, typer.Option(help="What to show.")] = "canary",
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the clusters up until Ctrl-C.")
    ] = False,
) -> None:
    """Roll an example out over three sandbox clusters.

    Deploys the first version, then the second by its pipeline, and looks at pods and traffic
    on the way. Ends by itself and leaves nothing running.
    """
    with _sandbox_errors():
        _demo(scenario, keep=keep)


def _demo(scenario: Scenario, *, keep: bool) -> None:
    from volary.demo import definitions
    from volary.demo.scenarios import (
        distributed,
        failover,
        gitops,
        karmada,
        release,
        teams,
        traffic,
        waves,
    )

    modules = {
        "gitops": gitops,
        "waves": waves,
        "failover": failover,
        "karmada": karmada,
        "teams": teams,
        "distributed": distributed,
    }
    if scenario in modules:
        options.finish(modules[scenario].run(keep=keep))
    family = traffic if scenario in definitions.TRAFFIC_SCENARIOS else release
    options.finish(family.run(scenario, keep=keep))


sandbox = options.group("Emulated clusters to try things on.")
app.add_typer(sandbox, name="sandbox", cls=_SandboxGroup)


@sandbox.callback()
def _sandbox() -> None:
    """Emulated clusters to try things on."""
