"""Fields that should not be there: unknown and repeated ones, as field validation names them."""

import json as standard_json
from dataclasses import dataclass
from typing import Any

import yaml

from kube_sandbox.apimachinery.scheme import decoding

#: The server names no more than this many, so that a bad file gives no endless answer.
MAXIMUM_NAMED = 100


@dataclass(frozen=True, slots=True)
class TextFaults:
    """What is wrong with the text of a body that its value no longer shows."""

    #: One sentence for each fault, as a ``Warning`` says it.
    sentences: tuple[str, ...] = ()
    #: They are about lines of YAML, which a refusal names as one error.
    in_yaml: bool = False

    @property
    def refusals(self) -> tuple[str, ...]:
        """The errors a refusal lists."""
        if not self.in_yaml or not self.sentences:
            return self.sentences
        return ("\n  ".join(("yaml: unmarshal errors:", *self.sentences)),)


NO_FAULTS = TextFaults()


def json_faults(text: bytes) -> TextFaults:
    """Return which fields an object in JSON has twice."""
    return TextFaults(tuple(f'duplicate field "{path}"' for path in duplicates(text)))


def yaml_faults(text: bytes) -> TextFaults:
    """Return which keys an object in YAML has twice, by line; JSON is YAML too.

    Text that cannot be read has none; reading it is somebody else's to refuse.
    """
    try:
        if not _repeated(text):
            return NO_FAULTS
    except ValueError:
        pass  # no JSON
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return NO_FAULTS
    found: list[tuple[int, str]] = []
    _collect_lines(node, found)
    sentences = (f'line {line}: key "{key}" already set in map' for line, key in sorted(found))
    return TextFaults(tuple(sentences), in_yaml=True)


def _collect_lines(node: yaml.Node | None, found: list[tuple[int, str]]) -> None:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _collect_lines(item, found)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                found.append((key.start_mark.line + 1, key.value))
            seen.add(key.value)
            _collect_lines(value, found)


_OPERATION = ("op", "path", "from", "value")


def json_patch_faults(text: bytes) -> TextFaults:
    """Return which fields the operations of a JSON patch have twice, or should not have."""
    try:
        operations = standard_json.loads(text, object_pairs_hook=_pairs)
    except ValueError:
        return NO_FAULTS
    sentences: list[str] = []
    for index, operation in enumerate(operations if isinstance(operations, list) else ()):
        if not isinstance(operation, dict):
            continue
        if isinstance(operation, _Repeated):
            sentences += [f'duplicate field "[{index}].{name}"' for name in operation.names]
        sentences += [
            f'unknown field "[{index}].{name}"' for name in operation if name not in _OPERATION
        ]
    return TextFaults(tuple(f"json patch {sentence}" for sentence in sentences))


class _Repeated(dict[str, Any]):
    """A JSON object in which keys occurred more than once."""

    __slots__ = ("names",)
    names: list[str]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _Repeated(found)
    seen: set[str] = set()
    repeated.names = []
    for name, _ in pairs:
        if name in seen and name not in repeated.names:
            repeated.names.append(name)
        seen.add(name)
    return repeated


def duplicates(text: bytes | str) -> list[str]:
    """Return the paths of fields that occur twice in one JSON object: ``spec.replicas``.

    Text that is no JSON has none; reading it is somebody else's to refuse.
    """
    try:
        return _repeated(text)
    except ValueError:
        return []


def _repeated(text: bytes | str) -> list[str]:
    found: list[str] = []
    _collect(standard_json.loads(text, object_pairs_hook=_pairs), "", found)
    return found[:MAXIMUM_NAMED]


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        if isinstance(value, _Repeated):
            found.extend(f"{path}.{name}" if path else name for name in value.names)
        for key, each in value.items():
            if isinstance(each, (dict, list)):
                _collect(each, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _collect(each, f"{path}[{index}]", found)


def complaints(decoded: decoding.Decoded, faults: tuple[str, ...] = ()) -> list[str]:
    """Return what field validation says, a sentence per field: ``unknown field "spec.x"``."""
    unknown = [f'unknown field "{each}"' for each in sorted(set(decoded.unknown))]
    return [*faults, *unknown][:MAXIMUM_NAMED]


def strict_message(kind: str, version: str, found: list[str]) -> str:
    """Return the sentence with which strict field validation refuses an object (400)."""
    return (
        f'{kind} in version "{version}" cannot be handled as a {kind}: '
        f"strict decoding error: {', '.join(found)}"
    )
