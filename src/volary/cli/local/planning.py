"""``volary plan``: what a commit would change in every cluster; writes nothing."""

import json as text

import msgspec

from volary.cli import console, exit_codes, forms, renderings
from volary.clusters.client import client_pool
from volary.controller import local_runs, system_clock
from volary.controller.api import conversions
from volary.controller.planning import opened_applications, preparation
from volary.controller.preview import markdown_format, previews, text_format
from volary.manifests import redaction as manifest_redaction


async def run(request: preparation.RunOptions, form: forms.PlanForm) -> int:
    """Write the plan to stdout and return the exit code."""
    opened = await opened_applications.open_application(
        request.path, app=request.app, commit=request.commit
    )
    members = opened_applications.load_fleet(request.fleet, request.contexts)
    console.show_problems(console.messages(), members.warnings)
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        remembered = await local_runs.with_memory(request, opened, members)
        told = console.tell
        secrets = manifest_redaction.Masker()
        renderer = renderings.open_renderer(opened, secrets)
        prepared = await preparation.prepare(
            remembered, clusters, opened, renderer=renderer, told=told
        )
        console.show_problems(console.messages(), prepared.warnings)
        shown = await previews.preview_run(prepared, clusters, masker=secrets, told=told)
    console.write(render(shown, form))
    return exit_code(shown)


def exit_code(shown: previews.Preview) -> exit_codes.Exit:
    """Return what the shell gets to know: a cluster's refusal matters more than changes."""
    if shown.failed:
        return exit_codes.Exit.FAILED
    return exit_codes.Exit.CHANGES if shown.has_changes else exit_codes.Exit.DONE


def render(shown: previews.Preview, form: forms.PlanForm) -> str:
    """Return the plan as it is written down."""
    match form:
        case "text":
            return text_format.render(shown)
        case "markdown":
            return markdown_format.render(shown)
        case "json":
            body = msgspec.to_builtins(conversions.of_plan(shown), enc_hook=str)
            return text.dumps(body, indent=2, ensure_ascii=False)
