"""``volary run --dry-run``: what each cluster would do with the new version, written nowhere."""

import asyncio
import json as text

from volary.cli import console, exits
from volary.clusters import apply, pool
from volary.controller import preparation
from volary.model import change, errors, json, stage, variant
from volary.stages import rendering

_SHOWN = (change.Action.CREATED, change.Action.CONFIGURED)


async def run(prepared: preparation.Prepared, clusters: pool.Pool, *, as_json: bool) -> int:
    """Try the primary manifests on every target by server-side dry run and show the answers."""
    names = prepared.plan.targets
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_try(prepared, clusters, name)) for name in names]
    answers = {name: task.result() for name, task in zip(names, tasks, strict=True)}
    if as_json:
        for name, answer in answers.items():
            console.write(_line(name, answer))
    else:
        for name, answer in answers.items():
            _show(name, answer)
    wrong = any(isinstance(answer, str) for answer in answers.values())
    return exits.Exit.FAILED if wrong else exits.Exit.DONE


async def _try(
    prepared: preparation.Prepared, clusters: pool.Pool, name: str
) -> change.ChangeSet | str:
    client = await clusters.client(name)
    if isinstance(client, pool.Unavailable):
        return client.reason
    application = prepared.project.application
    options = next((each.options for each in prepared.plan.stages if _is_primary(each)), None)
    member = clusters.member(name)
    try:
        manifests = rendering.of_variant(
            variant.Variant.PRIMARY,
            prepared.manifests[name],
            application,
            options,
            commit=prepared.project.commit,
        )
        return await apply.preview_set(
            client,
            manifests,
            apply.Options(
                namespaces=member.namespaces if member else (),
                create_namespaces=application.input.auto_create_namespace,
            ),
        )
    except (errors.VolaryError, apply.ApplyError) as error:
        return str(error)


def _is_primary(each: stage.Stage) -> bool:
    return rendering.variant_of(each.name) is variant.Variant.PRIMARY


def _line(name: str, answer: change.ChangeSet | str) -> str:
    body: json.JsonObject = {"event": "previewed", "target": name}
    if isinstance(answer, str):
        body["error"] = answer
    else:
        body["changes"] = [
            {"object": str(each.key), "action": each.action.value} for each in answer.changes
        ]
    return text.dumps(body)


def _show(name: str, answer: change.ChangeSet | str) -> None:
    data = console.data()
    if isinstance(answer, str):
        data.print(f"{name}: ", answer, style=None, markup=False, sep="")
        return
    data.print(f"{name}: {answer.summary}", markup=False)
    for each in answer.changes:
        if each.action in _SHOWN:
            reason = f" ({each.reason})" if each.reason else ""
            data.print(f"  {each.action.value} {each.key.title}{reason}", markup=False)
