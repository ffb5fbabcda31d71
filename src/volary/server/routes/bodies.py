"""Bodies of commands about runs, applications and clusters: strict, small, without control
characters.
"""

from typing import Annotated, Literal

import pydantic
from pydantic import alias_generators

from volary.config.decoding import values

#: Prose of a person; line ends and tabs are fine.
Sentence = Annotated[
    str, pydantic.StringConstraints(max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")
]
#: A commit, a cluster, a strategy.
Word = Annotated[str, pydantic.StringConstraints(max_length=253, pattern=r"^[A-Za-z0-9._/-]*$")]


class Body(pydantic.BaseModel):
    """A command's body; unknown fields are refused."""

    model_config = pydantic.ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=alias_generators.to_camel
    )


class Sync(Body):
    """Roll a commit out."""

    commit: Word = pydantic.Field(
        "",
        description="Empty: the head of the branch. Where there are projects, a sync takes commits "
        "of that branch only.",
    )
    strategy: Word = pydantic.Field("", description="quick or pipeline; empty: as planned.")


class PlanRequest(Sync):
    """Say what a sync would do."""

    grouped: bool = pydantic.Field(
        False,
        description="Leave the objects out of each cluster: `groups` has them once for all clusters"
        " that would change alike.",
    )


class RollbackRequest(Body):
    """Go back."""

    to: Word = pydantic.Field(
        "",
        description="A commit, or the id of a run; empty: the run under way or the last change is "
        "rolled back, on each cluster to what that one ran before.",
    )


class Seen(Body):
    """Where the run was when you looked: `seen` of the run; refused when it has moved since."""

    stage: Word = pydantic.Field(description="Id of the stage.")
    group: Sentence = pydantic.Field(description="The group that waits for approval; may be empty.")
    version: int = pydantic.Field(ge=0, description="Grows with what people decide about.")


class RunCommand(Body):
    """What acts on a run as it was seen, and on nothing that came after."""

    seen: Seen


class Resume(RunCommand):
    """Go on after a pause."""


class Decision(RunCommand):
    """Approve or reject."""

    comment: Sentence = ""


class Promote(RunCommand):
    """End what the current wave waits for at its end."""

    reason: Sentence = pydantic.Field(min_length=1)
    wave: Word = pydantic.Field(min_length=1, description="Refused at any other")


class Unfreeze(RunCommand):
    """Go through closed windows."""

    reason: Sentence = pydantic.Field(min_length=1)


class Pause(Body):
    """Start nothing new."""

    reason: Sentence = ""


class Forget(Body):
    """Drop what is kept of an application."""

    reason: Sentence = pydantic.Field(min_length=1)


class Adopt(Body):
    """Go on with an application in another repository."""

    repository: Word = pydantic.Field(min_length=1, description="As the settings name it.")
    reason: Sentence = pydantic.Field(min_length=1)


class Cancel(Body):
    """End a run, wherever it is; only a rollback is not broken off unless it was seen."""

    seen: Seen | None = pydantic.Field(None, description="Needed to break a rollback off.")
    rollback: bool = pydantic.Field(True, description="false: leave everything as it is.")
    now: bool = pydantic.Field(False, description="Also break off writes under way.")
    reason: Sentence = ""


class Abandon(Body):
    """End a run as it is, wherever it is."""

    reason: Sentence = pydantic.Field(min_length=1)


class Retry(RunCommand):
    """Try again."""

    targets: tuple[Word, ...] = pydantic.Field(
        (), max_length=1000, strict=False, description="Clusters; empty: wherever it failed."
    )


class Skip(RunCommand):
    """Go on without a cluster, or without the rest of a stage: one of them."""

    target: Word = ""
    #: Id of the stage that is carried out now: an ANALYSIS or a WAIT.
    stage: Word = ""
    reason: Sentence = pydantic.Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _one(self) -> "Skip":
        if bool(self.target) == bool(self.stage):
            raise ValueError("needs target or stage, one of them")
        return self


#: Key and value of a taint (Kubernetes: labels).
Key = Annotated[
    str,
    pydantic.StringConstraints(min_length=1, max_length=317),
    pydantic.AfterValidator(values.label_key),
]
Value = Annotated[
    str, pydantic.StringConstraints(max_length=63), pydantic.AfterValidator(values.label_value)
]


class ClusterReason(Body):
    """Why."""

    reason: Sentence = ""


class AgentKey(Body):
    """The key of an agent, made where it will run."""

    sealing_key: str = pydantic.Field(
        min_length=44, max_length=44, description="Public key of X25519, in base64."
    )


class WorkerKey(AgentKey):
    """The key of a worker, made where it will run, and its clusters."""

    clusters: list[str] = pydantic.Field(min_length=1, max_length=2000)


class DeleteWorkspace(Body):
    """What may go."""

    confirm: Word = pydantic.Field(description="The name of the workspace once more")
    with_contents: bool = pydantic.Field(
        False, description="Also namespaces that hold what is not the workspace's."
    )


class Taint(ClusterReason):
    """A mark."""

    key: Key
    value: Value = ""
    effect: Literal["NoSchedule", "NoExecute"]


class Untaint(ClusterReason):
    """A mark that is taken away."""

    key: Key
    effect: Literal["", "NoSchedule", "NoExecute"] = pydantic.Field(
        "", description="Empty: every taint of the key."
    )
