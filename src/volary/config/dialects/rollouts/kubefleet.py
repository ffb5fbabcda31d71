"""KubeFleet's ClusterStagedUpdateStrategy: stages as waves."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.dialects import drafts
from volary.config.dialects.karmada import schema as selectors
from volary.config.dialects.rollouts import plans
from volary.config.text import yaml
from volary.model import options

_KINDS = ("ClusterStagedUpdateStrategy", "StagedUpdateStrategy")
_STAGES: yaml.Path = ("spec", "stages")


class Task(base_sections.Section):
    """What happens before or after a stage."""

    type: Literal["TimedWait", "Approval"] = Field(description="Which.")
    wait_time: str = options.option("How long.", "")


class Stage(base_sections.Section):
    """Clusters that are updated together."""

    name: base_sections.Text = Field(description="Its name.")
    label_selector: selectors.LabelSelector | None = options.option(
        "Which clusters; none given: no cluster.", None
    )
    sorting_label_key: str = options.option("Label that orders them.", "")
    max_concurrency: (
        Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern="^(100|[1-9][0-9]?)%$")]
    ) = options.option("How many at once.", 1)
    before_stage_tasks: list[Task] = options.option("Before it.", [])
    after_stage_tasks: list[Task] = options.option("After it.", [])


class Spec(base_sections.Section):
    """The stages."""

    stages: list[Stage] = Field(min_length=1, description="In order.")


class Strategy(drafts.CustomResource):
    """A staged update strategy."""

    spec: Spec = Field(description="Its stages.")


def convert(documents: Sequence[yaml.Document], approvers: Sequence[str]) -> plans.Plan:
    """Return the waves of the one strategy; its problems are noted in the plan's reading."""
    plan = plans.begin(documents, _KINDS, approvers)
    reading = plan.reading
    read = reading.read(Strategy, reading.document.value, ())
    if read is None:
        return plan
    for i, stage in enumerate(read.spec.stages):
        _add(plan, stage, (*_STAGES, i))
    message = "clusters outside of the placement, which is elsewhere, are not known here"
    reading.warn(_STAGES, message, "write spec.targets")
    message = (
        "a cluster that fails is tried again for ever there; here it fails, and the run stops as "
        "it is (onFailure: stop)"
    )
    reading.warn(_STAGES, message)
    return plan


def _add(plan: plans.Plan, read: Stage, path: yaml.Path) -> None:
    before = {task.type for task in read.before_stage_tasks}
    if "Approval" in before:
        plan.approve_before(read.name, (*path, "beforeStageTasks"))
    if "TimedWait" in before:
        at = (*path, "beforeStageTasks")
        plan.reading.error(at, "only an Approval can be before a stage", "remove the TimedWait")
    for place, task in enumerate(read.after_stage_tasks):
        at = (*path, "afterStageTasks", place)
        if task.type == "TimedWait" and not task.wait_time:
            plan.reading.error(at, "a TimedWait needs a waitTime", "write waitTime: 1h")
        if task.type == "Approval" and task.wait_time:
            plan.reading.error(at, "an Approval has no waitTime", "add a TimedWait")
    types = [task.type for task in read.after_stage_tasks]
    if len(set(types)) < len(types):
        message = "tasks after a stage have to be of different types, there too"
        plan.reading.error((*path, "afterStageTasks"), message, "keep one of each type")
    waits = [task.wait_time for task in read.after_stage_tasks if task.type == "TimedWait"]
    plan.add(
        read.name,
        targets=plans.labels(read.label_selector),
        maxConcurrency=read.max_concurrency,
        orderBy=read.sorting_label_key or None,
        soak=next((wait for wait in waits if wait), None),
        onFailure="stop",
    )
    if read.sorting_label_key:
        message = "a cluster without this label, or with a text in it, comes last here"
        plan.reading.warn((*path, "sortingLabelKey"), message)
    if any(task.type == "Approval" for task in read.after_stage_tasks):
        plan.approve_after((*path, "afterStageTasks"))
        if waits:
            message = "it is waited first, and asked then; there both at the same time"
            plan.reading.warn((*path, "afterStageTasks"), message)
