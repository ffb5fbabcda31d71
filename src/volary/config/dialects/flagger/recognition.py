"""What tells Flagger's objects from other documents, without what reads them."""

from volary.config.text import yaml

_GROUP = "flagger.app/"


def is_flaggers(document: yaml.Document, kind: str = "") -> bool:
    """Say whether a document is an object of Flagger's, of `kind` if one is given."""
    value = document.value
    if not isinstance(value, dict) or not str(value.get("apiVersion")).startswith(_GROUP):
        return False
    return not kind or value.get("kind") == kind
