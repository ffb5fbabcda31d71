"""Stages that call what is somebody else's: a server that agrees, a script."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from volary.model import options
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

    run: Annotated[options.Text, options.Option("The script.")]
    env: Mapping[str, str] = options.option(
        "Environment, besides `SR_*` and a few of the system's.", {}
    )
    on_rollback: str = options.option(
        "Script that is run by a rollback, if the stage had begun.", ""
    )
    scope: stage_kind.Scope = options.option(
        "`fleet`: once for all clusters (PipeCD); `cluster`: once for each of them.",
        stage_kind.Scope.FLEET,
    )

    @property
    def undone_by_script(self) -> bool:
        """Whether it has one for the rollback."""
        return bool(self.on_rollback)


WEBHOOK_GATE = stage_kind.StageKind(
    name="K8S_WEBHOOK_GATE",
    runner="webhook_gate",
    options=WebhookGateOptions,
    description="Wait until a webhook agrees",
    reference="Wait until a webhook agrees; the stage's timeout is how long it is asked.",
    changes_cluster=False,
    asks_for_agreement=True,
)
#: It may have done anything.
SCRIPT_RUN = stage_kind.StageKind(
    name="SCRIPT_RUN",
    runner="script_run",
    options=ScriptOptions,
    description="Run a script",
    is_program=True,
    reference="Run a script of yours with `/bin/sh -l -c`, in the application's directory.",
)
