"""Who one is to a server, and its API tokens."""

from collections.abc import Sequence

from volary.cli import console, exit_codes, forms, token_lists
from volary.cli.remote import client, output
from volary.model import json


async def whoami(server: client.Client, form: forms.Form) -> int:
    """Say who the server takes one for."""
    shown = await server.get("whoami")
    return output.answer(shown, form, lambda: console.write_lines(_identity(shown)))


def _identity(shown: json.JsonObject) -> Sequence[str]:
    roles = [_role(grant) for grant in shown["roles"]]
    sources = {
        "token": "an API token of this server",
        "oidc": "a person of its issuer",
        "local": "on its machine, without credentials",
    }
    return (
        f"{shown['name']}: {sources.get(shown['source'], shown['source'])}",
        f"roles: {', '.join(dict.fromkeys(roles)) or 'none'}",
        f"expires: {token_lists.moment(shown['expires']) or 'never'}",
    )


def _role(grant: json.JsonObject) -> str:
    projects = f" of {' and '.join(grant['projects'])}" if grant["projects"] else ""
    labels = token_lists.labels(grant["matchLabels"])
    if not labels:
        return f"{grant['role']}{projects and f' of applications{projects}'}"
    return f"{grant['role']} of applications{projects} with {labels}"


async def create_token(server: client.Client, wanted: token_lists.WantedToken) -> int:
    """Have a token made, and show it, this once."""
    body: json.JsonObject = {
        "name": wanted.name,
        "role": wanted.role,
        "matchLabels": wanted.labels,
        "project": wanted.project,
    }
    if wanted.days:
        body["days"] = wanted.days
    made = await server.post("tokens", body=body)
    console.tell(token_lists.created(made["name"], made["role"]))
    console.write_text(made["token"])
    return exit_codes.Exit.DONE


async def list_tokens(server: client.Client, form: forms.Form) -> int:
    """Show what is known of every token; never the tokens."""
    show_tokens(await server.pages("tokens", most=100_000), form)
    return exit_codes.Exit.DONE


def show_tokens(items: Sequence[json.JsonObject], form: forms.Form) -> None:
    """Show what is known of tokens."""
    if form.is_document:
        output.show(list(items), form)
    else:
        console.write_lines(token_lists.lines(items))


async def revoke_token(server: client.Client, name: str) -> int:
    """Have a token revoked."""
    await server.post("tokens", name, "revoke", body={})
    console.tell(f"revoked {name}")
    return exit_codes.Exit.DONE
