"""Where people are notified of what happens: it takes what arrives, once or more often."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from simulation import networks
from volary.model import backoffs, errors, server_settings
from volary.model.runs import run_records
from volary.notifying import delivery, notices

PLACE = "chat"
#: What it is told of.
EVENTS = (
    notices.Event.DEPLOYMENT_WAIT_APPROVAL,
    notices.Event.DEPLOYMENT_SUCCEEDED,
    notices.Event.DEPLOYMENT_FAILED,
    notices.Event.DEPLOYMENT_CANCELLED,
)
SETTINGS = server_settings.Notifications(
    routes=(server_settings.Route(PLACE, PLACE, events=EVENTS),),
    receivers=(
        server_settings.Receiver(
            PLACE, webhook=server_settings.OutgoingWebhook("https://chat.example.com")
        ),
    ),
)
LIMITS = delivery.Limits(backoff=backoffs.Backoff(timedelta(seconds=1), timedelta(seconds=30)))


@dataclass
class Chat:
    """What has arrived, by the ids of the messages."""

    delivered: dict[str, run_records.OutboxMessage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sender:
    """How a process reaches the chat."""

    network: networks.Network
    chat: Chat

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        async def take() -> str:
            self.chat.delivered[message.id] = message
            return place

        return await self.network.call(PLACE, take, _unreachable)


def senders(network: networks.Network, chat: Chat) -> Mapping[str, Sender]:
    """Return what a process delivers with."""
    return {PLACE: Sender(network, chat)}


def _unreachable() -> Exception:
    return errors.TemporaryError("the chat says nothing")
