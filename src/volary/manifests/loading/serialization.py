"""Manifests as text, for people and for other programs.

YAML is written so that kubectl reads back what went in: strings that any reader
could take for a number, a boolean or a date are quoted.
"""

import json as json_text
import re
from collections.abc import Sequence
from enum import StrEnum

import yaml

from volary.model import json
from volary.model.objects import manifest

_FIRST = ("apiVersion", "kind", "metadata", "type", "spec", "data", "stringData", "binaryData")
_FIRST_IN_METADATA = ("name", "namespace", "labels", "annotations")
#: Words and shapes that some YAML reader takes for something else than text. Plain YAML
#: writers know only their own version's.
_AMBIGUOUS = re.compile(
    r"(y|n|yes|no|on|off|true|false|null|~|=|<<|[-+.]?(inf|nan)|[-+]?[.\d][-+.:\w ]*)",
    re.IGNORECASE,
)


class Format(StrEnum):
    """How manifests are written down."""

    YAML = "yaml"
    JSON = "json"


class _Dumper(yaml.SafeDumper):
    """Writes lists indented and every value in full: anchors are for machines."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if not text.replace("\n", "").isprintable():
        style = '"'
    elif "\n" in text and not re.search(r" \n| $|^\s", text):
        style = "|"
    elif _AMBIGUOUS.fullmatch(text) or not text:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(manifests: Sequence[manifest.Manifest], form: Format = Format.YAML) -> str:
    """Return the manifests as YAML documents, or as a JSON list of kind ``List``.

    One manifest in JSON is written as itself. The text ends in a newline.
    """
    bodies = [item.body for item in manifests]
    if form is Format.YAML:
        return "---\n".join(dump_body(body) for body in bodies)
    if len(bodies) == 1:
        return json_text.dumps(arrange(bodies[0]), indent=2, ensure_ascii=False) + "\n"
    items = [arrange(body) for body in bodies]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    return json_text.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def dump_body(body: json.JsonObject) -> str:
    """Return one object as a YAML document in the usual order of keys."""
    return dump_value(arrange(body))


def dump_value(value: object) -> str:
    """Return any value as YAML, ending in a newline."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=10_000,
    )
    return text.removesuffix("...\n")


def arrange(body: json.JsonObject) -> json.JsonObject:
    """Return the object with its keys in the order people write them."""
    arranged = _ordered(body, _FIRST)
    if isinstance(body.get("metadata"), dict):
        arranged["metadata"] = _ordered(body["metadata"], _FIRST_IN_METADATA)
    return arranged


def _ordered(body: json.JsonObject, first: Sequence[str]) -> json.JsonObject:
    keys = [key for key in first if key in body] + [key for key in body if key not in first]
    # The status is what the cluster says, it comes after what was wished for.
    keys.sort(key=lambda key: key == "status")
    return {key: body[key] for key in keys}
