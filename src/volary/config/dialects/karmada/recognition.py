"""What tells Karmada's policies from other files, without what reads them.

Every application's directory is looked through for policies, and few have any.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping

from volary.config.dialects import drafts
from volary.config.text import yaml
from volary.model import errors

_GROUP = "policy.karmada.io"
#: Below an application's directory, policies may be in one of this name.
DIRECTORY = "policies"

_NAMES = re.compile(r".*(policy|policies|propagation|karmada).*\.ya?ml", re.IGNORECASE)
_KIND = re.compile(r"^kind\s*:\s*[\"']?(Cluster)?PropagationPolicy\b", re.MULTILINE)
#: As ``kubectl get -o yaml`` writes several.
_LIST = re.compile(r"^kind\s*:\s*[\"']?List\b", re.MULTILINE)
_IN_LIST = re.compile(r"^[ -]+kind\s*:\s*[\"']?(Cluster)?PropagationPolicy\b", re.MULTILINE)
_OF_LISTS = ("v1", "List")


def is_policy_file_name(path: str) -> bool:
    """Say whether a file is looked into for policies when applications are searched for."""
    return _NAMES.fullmatch(posixpath.basename(path)) is not None


def has_propagation_policy(text: str) -> bool:
    """Say whether a file's text has a propagation policy in it, by a quick check of its text."""
    if _GROUP not in text:
        return False
    in_list = _LIST.search(text) is not None and _IN_LIST.search(text) is not None
    return in_list or _KIND.search(text) is not None


def may_hold_policies(text: str) -> bool:
    """Say whether any policy may be in a file's text."""
    return _GROUP in text


def unreadable(files: Mapping[str, str]) -> tuple[errors.Problem, ...]:
    """Return why files with policies cannot be read: without them it would go elsewhere."""
    problems: list[errors.Problem] = []
    for file, content in files.items():
        try:
            if may_hold_policies(content):
                yaml.load_all(content, file)
        except errors.UserError as error:
            problems += error.problems
    return tuple(problems)


def expand_lists(documents: Iterable[yaml.Document]) -> list[yaml.Document]:
    """Return the documents with the items of Lists in place of the Lists."""
    return [item for document in documents for item in _items(document)]


def _items(document: yaml.Document) -> Iterable[yaml.Document]:
    value = document.value
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or (value.get("apiVersion"), value.get("kind")) != _OF_LISTS:
        return [document]
    written = document.mark.entries.get("items")
    # Items that an alias stands for have no places of their own.
    marks = written.items if written else []
    marks = marks if len(marks) == len(items) else [document.mark] * len(items)
    return [
        yaml.Document(item, document.file, mark.line, mark)
        for item, mark in zip(items, marks, strict=True)
    ]


def is_policy(document: yaml.Document) -> bool:
    """Say whether a document is one of Karmada's policies."""
    return drafts.text(document.value, "apiVersion").startswith(f"{_GROUP}/")
