"""``volary schema``: JSON Schema of the files users write, for editors."""

import json as text

from volary.cli import console, exits
from volary.config import schema


def run(kind: str) -> int:
    """Print the schema of application or fleet files."""
    found = schema.fleet_schema() if kind == "fleet" else schema.application_schema()
    console.write(text.dumps(found, indent=2))
    return exits.Exit.DONE
