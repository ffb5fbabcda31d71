"""``volary schema``: JSON Schema of the files users write, for editors."""

import json as text

from volary.cli import console, exit_codes
from volary.config.generated import schemas

_MAKERS = {
    "application": schemas.application_schema,
    "controller": schemas.controller_schema,
    "fleet": schemas.fleet_schema,
}


def run(kind: str) -> int:
    """Print the schema of a kind of file."""
    console.write(text.dumps(_MAKERS[kind](), indent=2))
    return exit_codes.Exit.DONE
