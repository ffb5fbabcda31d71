"""What may be done next about a run, an application or a cluster, and by whom."""

from volary.controller.api import representations
from volary.model import json


class Action(representations.Representation, frozen=True):
    """Something that may be asked for as things are, for whoever looks."""

    #: The verb of the route: ``approve``, ``retry``, ``skip``, ``rollback``, …
    verb: str
    #: ``application``, ``run`` or ``cluster``.
    noun: str
    #: The stage and the clusters that it is about; empty: the whole.
    stage: str
    clusters: tuple[str, ...]
    #: Whether it can be done now by whoever asks.
    enabled: bool
    #: Why not; empty: it can.
    disabled_reason: str
    #: What will happen, before it does: ``rolls back us and eu to 3f2a1c; asia was not touched``.
    consequence: str
    #: Whether a reason is asked for.
    needs_reason: bool
    #: The name of the body's field that holds it; empty: there is none.
    reason_field: str
    #: It takes something away, or cannot be taken back.
    is_destructive: bool
    #: The command that does the same.
    command: str
    #: What is sent, with ``POST``; `body` holds everything but the reason.
    path: str
    body: json.JsonObject
    #: What a button says: ``Approve``, ``Skip eu``, ``Cancel and roll back``.
    title: str = ""


class Actions(representations.Representation, frozen=True):
    """What may be done next, the most likely first."""

    #: Which state of the run this was about; 0: no run.
    version: int
    items: tuple[Action, ...]
