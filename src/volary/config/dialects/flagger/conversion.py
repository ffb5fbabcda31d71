"""What ``volary convert flagger`` prints: the file of our own that says what a Canary says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from volary.config.dialects.flagger import translation
from volary.model import json, problem

_ORDER = (
    "targets",
    "input",
    "workloads",
    "service",
    "variantLabel",
    "trafficRouting",
    "trigger",
    "timeout",
    "pipeline",
)


@dataclass(frozen=True, slots=True)
class Converted:
    """The parts of the printed text."""

    body: json.JsonObject
    #: Lines without ``#``: what differs, and settings of the controller that go with it.
    remarks: tuple[str, ...]
    settings: Mapping[str, object]


def convert(made: translation.Translation, problems: Iterable[problem.Problem]) -> Converted:
    """Return what is printed for a translation without errors.

    `problems` are all that reading the Canary as an application found.
    """
    assert made.draft is not None
    value = made.draft.value
    spec = {name: value["spec"][name] for name in _ORDER if name in value["spec"]}
    rest = {name: each for name, each in value["spec"].items() if name not in spec}
    remarks = [f"{each.where}: {each.message}" for each in problems]
    return Converted({**value, "spec": {**spec, **rest}}, tuple(remarks), made.settings)


def comment(lines: Sequence[str]) -> str:
    """Return lines as YAML comments."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)
