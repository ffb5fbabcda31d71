"""Webhooks: questions and reports that a stage sends to somebody else's HTTP server."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from volary.model import options


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A question or a report to an HTTP server; a status of at most 202 is agreement."""

    name: options.Text = options.option("Name, for the log.", "", required=True)
    type: WebhookType = options.option("When it is called.", WebhookType.ROLLOUT)
    url: Annotated[options.Text, options.Option("Address, `https://` or `http://`.")]
    timeout: timedelta = options.option(
        "How long an answer may take, at most 5m.", timedelta(seconds=10)
    )
    retries: int = options.option(
        "How often a call that got no answer, or one of 500 and above, is repeated.",
        0,
        least=0,
        most=10,
    )
    disable_tls: bool = options.option(
        "Do not verify the server's certificate.", False, key="disableTLS"
    )
    mute_alert: bool = options.option("Say a refusal once, not each time.", False)
    metadata: Mapping[str, str] = options.option(
        "Sent along; `${CLUSTER}` stands for the cluster's name.", {}
    )
