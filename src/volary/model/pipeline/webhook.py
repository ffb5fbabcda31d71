"""Webhooks: questions and reports that a stage sends to somebody else's HTTP server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class WebhookType(StrEnum):
    """When a webhook is called, and what its answer means (Flagger: webhook types)."""

    #: Before anything begins; refused: wait and ask again.
    CONFIRM_ROLLOUT = "confirm-rollout"
    #: Once, before the variant gets its first traffic; refused: a failed check.
    PRE_ROLLOUT = "pre-rollout"
    #: With every check, before the metrics; refused: a failed check.
    ROLLOUT = "rollout"
    #: Before each step up; refused: the weight stays for this time.
    CONFIRM_TRAFFIC_INCREASE = "confirm-traffic-increase"
    #: Before the new version is promoted; refused: wait, and go on checking.
    CONFIRM_PROMOTION = "confirm-promotion"
    #: After everything, whether it went well or not; the answer is only logged.
    POST_ROLLOUT = "post-rollout"
    #: Each time; *accepted*: roll back.
    ROLLBACK = "rollback"
    #: Told what happens; the answer is only logged.
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One address and how it is called; a status of at most 202 is agreement (Flagger)."""

    url: str
    name: str = ""
    type: WebhookType = WebhookType.ROLLOUT
    timeout: timedelta = timedelta(seconds=10)
    #: How often a call without an answer is repeated at once; a refusal is an answer.
    retries: int = 0
    #: Do not verify the server's certificate.
    disable_tls: bool = False
    #: Say a refusal once, not each time.
    mute_alert: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
