"""``volary schema``: JSON Schema of the files users write, for editors."""

import json as text

from volary.cli import console, exits
from volary.config import schema

_MAKERS = {
    "application": schema.application_schema,
    "controller": schema.controller_schema,
    "fleet": schema.fleet_schema,
}


def run(kind: str) -> int:
    """Print the schema of a kind of file."""
    console.write(text.dumps(_MAKERS[kind](), indent=2))
    return exits.Exit.DONE
