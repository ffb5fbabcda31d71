"""Stages that call what is somebody else's: a server that agrees, a script."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import stage_kind


@dataclass(frozen=True, slots=True)
class WebhookGateOptions(stage_kind.StageOptions):
    """Options of ``K8S_WEBHOOK_GATE``."""

    webhook: webhook.Webhook
    #: Time between two questions while the answer is no.
    interval: timedelta = timedelta(seconds=10)
    #: `FLEET`: asked once for all clusters.
    scope: stage_kind.Scope = stage_kind.Scope.FLEET


@dataclass(frozen=True, slots=True)
class ScriptOptions(stage_kind.StageOptions):
    """Options of ``SCRIPT_RUN``."""

    #: Given to ``/bin/sh -l -c`` (PipeCD).
    run: str
    env: Mapping[str, str] = field(default_factory=dict)
    #: Run during a rollback, if the stage had begun.
    on_rollback: str = ""
    #: `FLEET`: once for all clusters (PipeCD).
    scope: stage_kind.Scope = stage_kind.Scope.FLEET


WEBHOOK_GATE = stage_kind.StageKind(
    name="K8S_WEBHOOK_GATE",
    options=WebhookGateOptions,
    description="Wait until a webhook agrees",
    changes_cluster=False,
    asks_for_agreement=True,
)
#: It may have done anything.
SCRIPT_RUN = stage_kind.StageKind(
    name="SCRIPT_RUN", options=ScriptOptions, description="Run a script"
)
