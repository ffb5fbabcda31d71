"""Waves in the making, and what is said about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.karmada import affinities
from volary.config.dialects.karmada import schema as selectors
from volary.config.text import yaml
from volary.model import applications, errors, json

#: Takes no cluster at all: a wave that only waits.
NO_CLUSTERS = {
    "matchExpressions": [
        {"key": "volary.dev/nobody", "operator": "Exists"},
        {"key": "volary.dev/nobody", "operator": "DoesNotExist"},
    ]
}


@dataclass(slots=True)
class Plan:
    """The waves so far."""

    #: Of the object that is converted; its warnings are what is not carried over.
    reading: readings.Reading
    #: Who may approve.
    approvers: Sequence[str] = ()
    waves: list[dict[str, Any]] = field(default_factory=list)
    targets: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, **fields: object) -> None:
        """Add a wave; fields that are None are not written."""
        wave = {"name": name, **{key: value for key, value in fields.items() if value is not None}}
        self.waves.append(wave)

    def approve_after(self, path: yaml.Path) -> None:
        """Let people agree after the last wave."""
        if not self.approvers:
            message = "people have to agree here, but it is not said who"
            self.reading.error(path, message, "name them: --approver NAME")
        self.waves[-1]["gate"] = {"approval": {"approvers": list(self.approvers)}}

    def approve_before(self, name: str, path: yaml.Path) -> None:
        """Let people agree before the next wave: after the last one, or one without clusters."""
        if not self.waves or "gate" in self.waves[-1]:
            self.add(f"before-{name}", targets=NO_CLUSTERS)
        self.approve_after(path)

    def body(self, name: str) -> json.JsonObject:
        """Return an application file with the waves.

        Raises:
            UserError: Something cannot be converted.
        """
        wrong = errors.mistakes(self.reading.problems)
        if wrong:
            raise errors.UserError(*wrong)
        spec: dict[str, Any] = {"targets": self.targets} if self.targets else {}
        return {
            "apiVersion": applications.Dialect.VOLARY.value,
            "kind": "Application",
            "metadata": {"name": name},
            "spec": {**spec, "waves": self.waves},
        }


def labels(read: selectors.LabelSelector | None) -> dict[str, Any]:
    """Return a wave's ``targets`` for a label selector; none given: nobody."""
    if read is None:
        return NO_CLUSTERS
    return affinities.clusters(selectors.ClusterAffinity(labelSelector=read))


def begin(
    documents: Iterable[yaml.Document],
    kinds: Sequence[str],
    approvers: Sequence[str],
    *,
    beside: Sequence[str] = (),
) -> Plan:
    """Return a plan without waves for the one document of a kind.

    Other objects are noted, but those of the kinds `beside`, which are read as well: those of
    the same group say something that the waves would not.

    Raises:
        UserError: There is none, or several.
    """
    objects = [document for document in documents if isinstance(document.value, dict)]
    matches = [document for document in objects if document.value.get("kind") in kinds]
    others = [document for document in objects if document.value.get("kind") not in kinds]
    if len(matches) != 1:
        names = " or ".join(kinds)
        count = f"{len(matches)} objects" if matches else "no object"
        raise errors.user_error(f"{count} of the kind {names} in the file", hint="one is expected")
    plan = Plan(readings.Reading(matches[0], applications.Dialect.VOLARY), approvers)
    for document in others:
        if document.value.get("kind") not in beside:
            plan.reading.problems.append(_left_out(document, _group(matches[0])))
    return plan


def _left_out(document: yaml.Document, group: str) -> errors.Problem:
    body = document.value
    title = f"{body.get('kind')} {drafts.text(body.get('metadata'), 'name')}"
    if _group(document) == group:
        message = f"{title} is not converted, and may say where or how something is deployed"
        hint = "say it in the converted file (targets, placement), and leave it out of this one"
        return errors.Problem(message, document.where(()), hint)
    message = f"{title} is not converted"
    hint = "put it beside the converted file, if it is deployed"
    return errors.Problem(message, document.where(()), hint, errors.Severity.WARNING)


def _group(document: yaml.Document) -> str:
    return drafts.text(document.value, "apiVersion").partition("/")[0]
