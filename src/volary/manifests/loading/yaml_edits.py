"""Replacing values inside the text of a YAML document; all else stays to the character.

Comments, order and quoting around the replaced value survive, because the text is
cut at the places where the parser saw the value.
"""

import yaml

from volary.manifests.loading import yaml_paths

#: Documents inside ConfigMaps are below 1 MiB anyway; this bounds the slow parser.
MAXIMUM_CHARACTERS = 1024 * 1024


class EditError(ValueError):
    """The document or the path does not allow it; the message says why."""


def compose(text: str) -> yaml.Node:
    """Return the syntax tree of a single document.

    Raises:
        EditError: When the text is broken, empty, too long or holds several documents.
    """
    if len(text) > MAXIMUM_CHARACTERS:
        raise EditError(f"the document is too long, at most {MAXIMUM_CHARACTERS} characters")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise EditError(error.problem or "broken YAML") from error
    except yaml.YAMLError as error:
        raise EditError("a character that YAML does not allow") from error
    except RecursionError as error:
        raise EditError("the document is nested too deeply") from error
    if node is None:
        raise EditError("the document is empty")
    return node


def find(text: str, path: str) -> list[yaml.Node]:
    """Return the nodes at `path`, at least one.

    Raises:
        EditError: When the path is bad or leads nowhere.
    """
    try:
        steps = yaml_paths.parse(path)
    except yaml_paths.PathError as error:
        raise EditError(str(error)) from error
    nodes = yaml_paths.find(compose(text), steps)
    if not nodes:
        raise EditError("there is no such value in the document")
    return nodes


def replace(text: str, path: str, value: str) -> str:
    """Return the text with every value at `path` replaced by the text `value`.

    The old token's style is kept: in place of a plain token `value` is written as it is,
    so that ``90`` becomes a number; in place of a quoted or block text it stays a text
    (PipeCD: yaml-replace).

    Raises:
        EditError: When the path is bad, leads nowhere, or the result is broken.
    """
    for node in sorted(find(text, path), key=lambda node: -int(node.start_mark.index)):
        text = _splice(text, node, _token(node, value))
    compose(text)
    return text


def replace_text(text: str, node: yaml.Node, value: str) -> str:
    """Return the text with the node replaced by the string `value`, whatever it looks like."""
    return _splice(text, node, _quoted(value))


def is_text(node: yaml.Node) -> bool:
    """Say whether the node is a string, as opposed to a number, a list and so on."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str"


def _splice(text: str, node: yaml.Node, token: str) -> str:
    start, end = node.start_mark.index, _end(text, node)
    before = text[:start]
    if _is_block_collection(node) and before.rstrip().endswith(":"):
        # A list or object stands below its key, a token in its place stands behind it.
        before = before.rstrip()
    if before.endswith((":", "-")):
        # So does a value that was left empty.
        token = f" {token}"
    return before + token + text[end:]


def _end(text: str, node: yaml.Node) -> int:
    """Return where the node's last character is over.

    The parser lets block values reach to the next token, over blank lines and comments
    that do not belong to them.
    """
    if isinstance(node, yaml.ScalarNode):
        if node.style not in ("|", ">"):
            return int(node.end_mark.index)
        inside = text[node.start_mark.index : node.end_mark.index]
        return int(node.start_mark.index) + len(inside.rstrip())
    if isinstance(node, yaml.CollectionNode) and _is_block_collection(node):
        return max((_end(text, leaf) for leaf in _leaves(node)), default=int(node.end_mark.index))
    return int(node.end_mark.index)


def _token(node: yaml.Node, value: str) -> str:
    style = node.style if isinstance(node, yaml.ScalarNode) else None
    if style == "'":
        return "'" + value.replace("'", "''") + "'" if value.isprintable() else _quoted(value)
    if style == '"' or style in ("|", ">"):
        return _quoted(value)
    return value


def _quoted(value: str) -> str:
    text: str = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=10**9)
    return text.removesuffix("\n")


def _is_block_collection(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _leaves(node: yaml.CollectionNode) -> list[yaml.Node]:
    """Return the nodes directly inside a collection."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value)
