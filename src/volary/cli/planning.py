"""``volary plan``: what a commit would change in every cluster; writes nothing."""

import json as text
from enum import StrEnum

from volary.cli import console, exits
from volary.clusters import pool
from volary.controller import (
    preparation,
    preview,
    preview_json,
    preview_markdown,
    preview_text,
    projects,
    system_clock,
)


class Form(StrEnum):
    """How a plan is written down."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


async def run(wish: preparation.Wish, form: Form) -> int:
    """Write the plan to stdout and return the exit code."""
    project = await projects.open_project(wish.path, app=wish.app, commit=wish.commit)
    members = projects.load_fleet(wish.fleet, wish.contexts)
    async with pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        prepared = await preparation.prepare(wish, clusters, project)
        console.show_problems(console.talk(), prepared.warnings)
        shown = await preview.look(prepared, clusters)
    console.write(_render(shown, form))
    return exit_code(shown)


def exit_code(shown: preview.Preview) -> exits.Exit:
    """Return what the shell gets to know: a cluster's refusal matters more than changes."""
    if shown.failed:
        return exits.Exit.FAILED
    return exits.Exit.CHANGES if shown.has_changes else exits.Exit.DONE


def _render(shown: preview.Preview, form: Form) -> str:
    match form:
        case Form.TEXT:
            return preview_text.render(shown)
        case Form.MARKDOWN:
            return preview_markdown.render(shown)
        case Form.JSON:
            return text.dumps(preview_json.render(shown), indent=2, ensure_ascii=False, default=str)
