"""What a controller wants written; nothing here writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kube_sandbox import json


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the object by `body`, which names the resourceVersion it was made from."""

    body: json.JsonObject


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """Replace the object's status by that of `body`."""

    body: json.JsonObject


@dataclass(frozen=True, slots=True)
class Finalize:
    """Write a namespace's ``spec.finalizers``, as the ``finalize`` subresource does."""

    body: json.JsonObject


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a pod its node, as the scheduler does through ``pods/binding``."""

    pod: json.JsonObject
    node: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete `target`, if it is still the object with that uid."""

    target: json.JsonObject
    #: Empty for the kind's default.
    propagation: str = ""
    #: Seconds; None for the object's own grace period.
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Emit:
    """Record an Event about `regarding`."""

    regarding: json.JsonObject
    #: ``Normal`` or ``Warning``.
    type: str
    reason: str
    message: str
    #: The component that speaks, ``deployment-controller``.
    component: str
    #: ``spec.containers{main}`` for events about one container.
    field_path: str = ""
    #: The node the component runs on; empty for controllers.
    host: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Create `body`; kind and namespace are in it."""

    body: json.JsonObject
    #: Recorded afterwards, with ``{name}`` in its message replaced by the name the object got.
    announce: Emit | None = None
    #: What to write when it is refused, from the server's message; then everything is tried
    #: again a little later.
    refused: Callable[[str], Sequence["Write"]] | None = None


Write = Create | Update | UpdateStatus | Finalize | Bind | Delete | Emit


@dataclass(frozen=True, slots=True)
class Result:
    """The writes a controller wants, in order, and when it wants to look again."""

    writes: tuple[Write, ...] = ()
    #: Sandbox seconds from now; None to wait for the next change.
    requeue_after: float | None = None


NOTHING = Result()


def join(*plans: Result) -> Result:
    """Return the plans' writes one after the other and the earliest wish to look again."""
    wishes = [each.requeue_after for each in plans if each.requeue_after is not None]
    return Result(
        writes=tuple(write for each in plans for write in each.writes),
        requeue_after=min(wishes) if wishes else None,
    )
