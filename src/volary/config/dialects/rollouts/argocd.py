"""Argo CD's ApplicationSet with RollingSync: steps as waves."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.dialects.karmada import affinities
from volary.config.dialects.rollouts import plans
from volary.config.text import yaml
from volary.model import options
from volary.model.placement import rollouts

_AT: yaml.Path = ("spec", "strategy")
_STEPS: yaml.Path = (*_AT, "rollingSync", "steps")
#: A label of an Application that is made from a cluster's.
_LABEL = re.compile(
    r"""\{\{-?\s*(?:\.?metadata\.labels\.([\w.-]+)|index\s+\.metadata\.labels\s+["']([^"']+)["'])\s*-?\}\}"""
)
_NAME = re.compile(r"\{\{-?\s*\.?name(?:Normalized)?\s*-?\}\}")


class Step(base_sections.Section):
    """Applications that are synced together."""

    match_expressions: list[rollouts.Requirement] = options.option("Which.", [])
    max_update: int | str | None = options.option("How many at once.", None)


class RollingSync(base_sections.Section):
    """The steps."""

    steps: list[Step] = Field(min_length=1, description="In order.")


class Strategy(base_sections.Section):
    """How Applications are synced."""

    type: Literal["RollingSync", "AllAtOnce"] = options.option("How.", "AllAtOnce")
    rolling_sync: RollingSync | None = options.option("Steps.", None)
    deletion_order: str = options.option("How they are deleted.", "")


def convert(documents: Sequence[yaml.Document], approvers: Sequence[str]) -> plans.Plan:
    """Return the waves of the one ApplicationSet; its problems are in the plan's reading."""
    plan = plans.begin(documents, ("ApplicationSet",), approvers)
    reading = plan.reading
    read = reading.read(Strategy, reading.written(_AT) or {}, _AT)
    if read is None:
        return plan
    if read.type != "RollingSync" or read.rolling_sync is None:
        message = "AllAtOnce has no steps; without waves Volary releases everywhere at once, too"
        reading.error(_AT, message, "there is nothing to convert")
        return plan
    if read.deletion_order:
        reading.warn((*_AT, "deletionOrder"), "has no effect: no cluster is left by a release")
    message = "generators and template are not converted: where and what is deployed"
    reading.warn(("spec",), message, "write spec.targets, and put the manifests beside the file")
    written = reading.written(("spec", "template", "metadata", "labels"))
    labels = written if isinstance(written, dict) else {}
    for i, step in enumerate(read.rolling_sync.steps):
        _add(plan, step, labels, i)
    message = (
        "an Application in no step is never synced there; here a cluster in no wave is refused"
    )
    reading.warn(_STEPS, message, "limit spec.targets, or write unmatchedClusters: last")
    return plan


def _add(plan: plans.Plan, read: Step, labels: Mapping[str, Any], i: int) -> None:
    at: yaml.Path = (*_STEPS, i)
    name = f"step-{i + 1}"
    by_hand = str(read.max_update) in ("0", "0%")
    if by_hand:
        plan.approve_before(name, (*at, "maxUpdate"))
        message = "is synced by hand there; here it goes on when people have agreed"
        plan.reading.warn((*at, "maxUpdate"), message)
    conditions = [
        _condition(plan, expression, labels, (*at, "matchExpressions", j))
        for j, expression in enumerate(read.match_expressions)
    ]
    plan.add(
        name,
        targets={"matchExpressions": conditions} if conditions else None,
        maxConcurrency=None if by_hand else read.max_update,
        onFailure="stop",
    )


def _condition(
    plan: plans.Plan, read: rollouts.Requirement, labels: Mapping[str, Any], at: yaml.Path
) -> dict[str, Any]:
    """Return a condition on a cluster's label for one on an Application's."""
    if read.operator not in (rollouts.Operator.IN, rollouts.Operator.NOT_IN):
        message = f"{read.operator.value} is not an operator of a step"
        plan.reading.error((*at, "operator"), message, "write In or NotIn")
    made = str(labels.get(read.key, ""))
    if _NAME.fullmatch(made):
        message = "chooses clusters by name, which a condition on labels cannot"
        plan.reading.error(
            (*at, "key"), message, f"write a wave with targets.names: {', '.join(read.values)}"
        )
    match = _LABEL.fullmatch(made)
    key = (match.group(1) or match.group(2)) if match else read.key
    if not match:
        message = f"clusters need a label {key} like the one that their Applications have"
        plan.reading.warn((*at, "key"), message, "write it to the fleet file")
    return {**affinities.requirement(read), "key": key}
