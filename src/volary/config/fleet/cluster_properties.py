"""What texts may say of the cluster they are for: ``${cluster.region}`` and the like.

A property nobody knows is an error before anything starts, and so is one that the cluster does
not have: a text with a hole in it would lead somewhere else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model.fleet import fleets, selectors

#: For hints.
KNOWN = ", ".join(
    f"${{cluster.{property_name}}}" for property_name in ("name", *selectors.FIELDS, "labels.KEY")
)
#: What stands for a property of the cluster; its name is the group.
PATTERN = re.compile(r"\$\{cluster\.([^}]*)\}")
_LABEL = "labels."
_NAMES = ("name", *selectors.FIELDS)
_SHOWN = 60


def of(cluster: fleets.Cluster) -> Mapping[str, str]:
    """Return the properties that a cluster has; of several zones the first counts."""
    fields = {
        key: min(property_values)
        for key in selectors.FIELDS
        if (property_values := selectors.field_values(cluster, key))
    }
    labels = {f"{_LABEL}{key}": value for key, value in cluster.labels.items()}
    return {"name": cluster.name, **fields, **labels}


def absent(text: str, cluster: fleets.Cluster) -> tuple[str, ...]:
    """Return what the text asks for and the cluster does not have, in words, each once."""
    asked = dict.fromkeys(PATTERN.findall(text))
    known = of(cluster) if asked else {}
    return tuple(_worded(placeholder) for placeholder in asked if placeholder not in known)


def check(reading: readings.Reading, value: object, path: yaml.Path) -> None:
    """Note properties that no cluster can have, in all texts of a value."""
    for place, text in texts(value):
        for name in dict.fromkeys(PATTERN.findall(text)):
            check_name(reading, f"cluster.{name}", (*path, *place))


def check_name(reading: readings.Reading, word: str, path: yaml.Path) -> None:
    """Note a word between braces that stands for nothing."""
    known = [f"cluster.{property_name}" for property_name in _NAMES]
    if word not in known and not re.fullmatch(r"cluster\.labels\..+", word):
        hint = readings.did_you_mean(word, (*known, "cluster.labels.KEY"))
        reading.error(path, f"${{{word[:_SHOWN]}}} is not known", hint)


def texts(value: object) -> Iterator[tuple[yaml.Path, str]]:
    """Yield every text inside of a value, with its place; keys are none of them."""
    if isinstance(value, str):
        yield (), value
        return
    inside: Sequence[tuple[str | int, object]] = ()
    if isinstance(value, Mapping):
        inside = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple):
        inside = list(enumerate(value))
    for step, element in inside:
        for place, text in texts(element):
            yield (step, *place), text


def _worded(name: str) -> str:
    label = name.removeprefix(_LABEL)[:_SHOWN]
    return f"label {label}" if name.startswith(_LABEL) else name[:_SHOWN]
