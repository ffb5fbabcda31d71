"""A comparison as text for people, in PipeCD's layout (section 6.3, golden 10.7).

Values of Secrets are masked, ``stringData`` too.
"""

from collections.abc import Iterator, Sequence

from volary.manifests import redaction
from volary.manifests.diff import object_diff, value_diff
from volary.manifests.loading import serialization
from volary.model.objects import manifest

_INDENT = 2


def render(compared: object_diff.Comparison) -> str:
    """Return deletions, additions and changes, numbered through, each ending in a blank line."""
    lines: list[str] = []
    numbers = iter(
        range(1, len(compared.deleted) + len(compared.added) + len(compared.changed) + 1)
    )
    for item in compared.deleted:
        lines += [f"- {next(numbers)}. {title(item)}", ""]
    for item in compared.added:
        lines += [f"+ {next(numbers)}. {title(item)}", ""]
    for changed in compared.changed:
        lines += [f"# {next(numbers)}. {title(changed.new)}", ""]
        lines += [*_tree(_masked(changed)), ""]
    # Values of the Secrets may stand in other objects as well.
    masker = redaction.Masker()
    masker.learn([*compared.deleted, *compared.added])
    masker.learn(side for changed in compared.changed for side in (changed.old, changed.new))
    return masker.clean("".join(f"{line}\n" for line in lines))


def title(item: manifest.Manifest) -> str:
    """Return PipeCD's form, ``name="web", kind="Deployment", namespace="", apiGroup="apps"``."""
    return (
        f'name="{item.name}", kind="{item.kind}", namespace="{item.namespace}", '
        f'apiGroup="{item.group}"'
    )


def _masked(changed: object_diff.Changed) -> list[value_diff.Item]:
    body = changed.new.body
    return [
        value_diff.Item(item.path, _hide(item.old), _hide(item.new))
        if redaction.is_redacted(body, item.path)
        else item
        for item in changed.items
    ]


def _hide(value: object) -> object:
    return value if value is value_diff.ABSENT else redaction.MASK


def _tree(items: Sequence[value_diff.Item]) -> Iterator[str]:
    previous: value_diff.Path = ()
    for item in sorted(items, key=lambda item: item.dotted):
        yield from _parents(previous, item.path)
        indent = _INDENT * max(len(item.path), 1)
        yield f"{' ' * indent}#{item.dotted}"
        step = item.path[-1] if item.path else ""
        for sign, value in (("-", item.old), ("+", item.new)):
            yield from _side(sign, indent, step, value)
        yield ""
        previous = item.path


def _parents(previous: value_diff.Path, path: value_diff.Path) -> Iterator[str]:
    """Yield the steps above a value that the value before did not show already."""
    common = 0
    while common < len(path) - 1 and path[: common + 1] == previous[: common + 1]:
        common += 1
    dash = ""
    for level, step in enumerate(path[:-1], start=1):
        if level <= common:
            continue
        indent = " " * (_INDENT * level)
        if isinstance(step, int):
            if dash:
                yield dash
            dash = f"{indent}-"
        elif dash:
            yield f"{dash} {step}:"
            dash = ""
        else:
            yield f"{indent}{step}:"
    if dash:
        yield dash


def _side(sign: str, indent: int, step: str | int, value: object) -> Iterator[str]:
    if value is value_diff.ABSENT:
        return
    margin = sign + " " * (indent - 1)
    if not isinstance(value, dict | list) or not value:
        text = _scalar(value)
        yield f"{margin}- {text}" if isinstance(step, int) else f"{margin}{step}: {text}"
        return
    if isinstance(step, int):
        yield f"{margin}-"
    else:
        yield f"{margin}{step}:"
    for line in serialization.dump_value(value).splitlines():
        yield f"{margin}{' ' * _INDENT}{line}"


def _scalar(value: object) -> str:
    if isinstance(value, str) and "\n" not in value:
        return value
    return serialization.dump_value(value).strip().replace("\n", " ")
