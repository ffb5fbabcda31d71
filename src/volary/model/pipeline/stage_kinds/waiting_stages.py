"""Stages that wait: for time to pass, for people, for enough to judge by."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from volary.model import analysis, options
from volary.model.pipeline.stage_kinds import stage_kind


@dataclass(frozen=True, slots=True)
class WaitOptions(stage_kind.StageOptions):
    """Options of ``WAIT``."""

    duration: Annotated[timedelta, options.Option("How long, more than 0.")]


@dataclass(frozen=True, slots=True)
class ApprovalOptions(stage_kind.StageOptions):
    """Options of ``WAIT_APPROVAL``."""

    approvers: Annotated[
        tuple[options.Text, ...],
        options.Option(
            "Those who may approve, as the server names them: `oidc:ana@example.org`, `token:ana`,"
            " `local`. Without `oidc:` or `token:` a person of the issuer is meant.",
            least=1,
        ),
    ]
    count: int = options.option("How many of them have to.", 1, least=1, key="minApproverNum")


@dataclass(frozen=True, slots=True)
class AnalysisOptions(stage_kind.StageOptions):
    """Options of ``ANALYSIS``, and of an analysis beside another stage."""

    #: How long is measured; of an analysis beside another stage: as long as that one takes.
    duration: timedelta
    metrics: tuple[analysis.Rule, ...] = ()
    http: tuple[analysis.HttpCheck, ...] = ()
    #: Judged beside them while canary runs.
    pods: tuple[analysis.Rule, ...] = ()
    #: How long after `duration` data are waited for where a rule says so.
    hold_for: timedelta = timedelta(minutes=10)
    #: None: every metric has to pass.
    scoring: analysis.Scoring | None = None
    #: What rules are simulated in before a release; None: nothing is said.
    expected_traffic: analysis.ExpectedTraffic | None = None
    #: Fixed at the run's start: clusters that got no canary of the fleet's share.
    without_canary: tuple[str, ...] = ()


WAIT = stage_kind.StageKind(
    name="WAIT",
    runner="wait",
    options=WaitOptions,
    description="Wait before the next stage",
    reference="Wait before the next stage.",
    has_targets=False,
    changes_cluster=False,
    is_skippable=True,
)
WAIT_APPROVAL = stage_kind.StageKind(
    name="WAIT_APPROVAL",
    runner="wait_approval",
    options=ApprovalOptions,
    description="Wait until people agree",
    reference="Wait until people agree; the stage's timeout is how long it is waited for.",
    has_targets=False,
    changes_cluster=False,
    waits_for_people=True,
    instead_of_analysis="while people are asked no cluster is worked on: put an ANALYSIS before it,"
    " or use K8S_WEBHOOK_GATE",
)
ANALYSIS = stage_kind.StageKind(
    name="ANALYSIS",
    runner="analysis",
    options=AnalysisOptions,
    description="Measure the new version and judge it",
    reference="Measure the new version and judge it.",
    changes_cluster=False,
    is_skippable=True,
    instead_of_analysis="write the metrics under with",
)
