"""``volary analysis RUN``: what was measured, how it was judged, and why it failed."""

from collections.abc import Mapping

from volary.cli import console, exits, judgements
from volary.cli.remote import client, login, looking, output

_MOST = 20_000


async def show(
    target: login.Target, run: str, stage: str, cluster: str, metric: str, form: output.Form
) -> int:
    """Show what the analyses of a run found."""
    async with client.Client.open(target) as server:
        whole = await looking.run_of(server, run)
        summary = whole["summary"]
        found = await server.pages(
            "runs",
            summary["id"],
            "findings",
            most=_MOST,
            stage=stage,
            cluster=cluster,
            metric=metric,
        )
    if form in (output.Form.JSON, output.Form.YAML):
        output.show({"run": summary, "findings": found}, form)
        return exits.Exit.DONE
    console.say(f"{summary['application']} {summary['id']}: {summary['status']}")
    if summary["reason"]:
        console.say(str(summary["reason"]))
    judged = judgements.read(found)
    if not judged:
        console.say(_nothing({"stage": stage, "cluster": cluster, "metric": metric}))
    for name in dict.fromkeys(each.stage for each in judged):
        _show_stage(name, [each for each in judged if each.stage == name], form)
    return exits.Exit.DONE


def _nothing(asked: Mapping[str, str]) -> str:
    """Say that nothing was found; with limits that is no news of the run."""
    named = ", ".join(f"{name} {value}" for name, value in asked.items() if value)
    said = "nothing was measured in this run"
    return f"{said} for {named}" if named else said


def _show_stage(name: str, judged: list[judgements.Judged], form: output.Form) -> None:
    console.say("")
    console.say(name)
    for line in judgements.table(judged):
        console.say(f"  {line}")
    for line in judgements.sentences(judged):
        console.say(f"  {line}")
    if form is output.Form.WIDE:
        for line in judgements.queries(judged):
            console.say(f"  {line}")
