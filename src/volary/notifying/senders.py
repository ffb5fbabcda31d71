"""Sending one message: to Slack by an incoming webhook or as a bot, or to any address.

Secrets are read from their files for each message, so that a new one counts at once, and
stand in no message. Redirects are not followed: a signed body is for one address.
"""

import asyncio
import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import aiohttp
import msgspec

from volary import secret_files
from volary.http_client import answers
from volary.model import clocks, errors, json, server_settings
from volary.model.runs import run_records

SLACK = "https://slack.com/api"
_TIMEOUT = aiohttp.ClientTimeout(total=10)
_MOST_BYTES = 64 * 1024
_LONGEST_DELAY = timedelta(hours=1)
#: Answers that may be better later.
_PASSING = frozenset({408, 425, 429})
#: Slack's words for trouble that may pass.
_SLACK_PASSING = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_SLACK_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


class Sender(Protocol):
    """Delivers messages of one receiver."""

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        """Deliver a message and return where it is, to be edited by the next; may be empty.

        `place` is what an earlier message of the same topic returned; empty: none.

        Raises:
            errors.TemporaryError: It may work later.
            errors.PermanentError: It never will.
        """
        ...


@dataclass(frozen=True, slots=True)
class WebhookSender:
    """Posts JSON, signed: HMAC-SHA256 over the timestamp, a dot, and the body."""

    session: aiohttp.ClientSession
    settings: server_settings.OutgoingWebhook
    clock: clocks.Clock

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        """Post a message; see `Sender.send`."""
        body = msgspec.json.encode(message.body)
        timestamp = str(int(self.clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "Volary-Timestamp": timestamp,
            "Volary-Delivery": message.id,
        }
        if self.settings.signature_value_file:
            secret = await _read(self.settings.signature_value_file)
            headers[self.settings.signature_key] = signature(secret, timestamp, body)
        await _post(self.session, self.clock, self.settings.url, body, headers)
        return place


@dataclass(frozen=True, slots=True)
class IncomingWebhookSender:
    """Posts to an incoming webhook of a chat, whose messages cannot be edited."""

    session: aiohttp.ClientSession
    clock: clocks.Clock
    #: A file with the address.
    hook_url_file: str

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        """Post a message; see `Sender.send`."""
        address = await _read(self.hook_url_file)
        headers = {"Content-Type": "application/json"}
        await _post(self.session, self.clock, address, msgspec.json.encode(message.body), headers)
        return place


@dataclass(frozen=True, slots=True)
class SlackBotSender:
    """Posts as a bot: one message per topic, edited by later ones."""

    session: aiohttp.ClientSession
    clock: clocks.Clock
    settings: server_settings.Slack
    #: Where the API is; another one for tests.
    api: str = SLACK

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        """Post or edit a message, or reply to it; see `Sender.send`."""
        if message.reply:
            below = {"thread_ts": place} if place else {}
            await self._call("chat.postMessage", {"text": message.reply, **below})
            return place
        if place:
            answer = await self._call("chat.update", {**message.body, "ts": place})
            if answer.get("ok"):
                return place
        answer = await self._call("chat.postMessage", message.body)
        return str(answer.get("ts") or "")

    async def _call(self, method: str, body: json.JsonObject) -> json.JsonObject:
        """Call a method; an answer that is not ok only when the message cannot be edited."""
        token = await _read(self.settings.oauth_token_file)
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Authorization": f"Bearer {token}",
        }
        whole = msgspec.json.encode({**body, "channel": self.settings.channel_id})
        text = await _post(self.session, self.clock, f"{self.api}/{method}", whole, headers)
        try:
            answer = json.decode(text, dict[str, object])
        except json.UNREADABLE as error:
            raise errors.TemporaryError("Slack's answer cannot be understood") from error
        problem = str(answer.get("error") or "unknown")
        if answer.get("ok") or problem in _SLACK_GONE:
            return answer
        kind = errors.TemporaryError if problem in _SLACK_PASSING else errors.PermanentError
        raise kind(f"Slack refused {method}: {problem[:100]}")


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the header's value, ``sha256=…``."""
    signed = f"{timestamp}.".encode() + body
    return f"sha256={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


async def _read(path: str) -> str:
    """Return the secret in a file.

    Raises:
        errors.TemporaryError: It is not there; somebody may put it there.
    """
    try:
        return await asyncio.to_thread(secret_files.read, path)
    except errors.UserError as error:
        raise errors.TemporaryError(str(error)) from error


async def _post(
    session: aiohttp.ClientSession,
    clock: clocks.Clock,
    address: str,
    body: bytes,
    headers: dict[str, str],
) -> bytes:
    """Post and return the answer's first bytes; messages never name the address."""
    try:
        async with session.post(
            address, data=body, headers=headers, timeout=_TIMEOUT, allow_redirects=False
        ) as answer:
            status, delay = answer.status, answers.retry_after(answer.headers, clock.now())
            text = await answers.read_beginning(answer, _MOST_BYTES)
    except aiohttp.InvalidURL as error:
        raise errors.PermanentError("the address is none") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise errors.TemporaryError(f"no answer ({type(error).__name__})") from error
    if status < 300:
        return text
    message = f"the answer was {status}"
    if status in _PASSING or status >= 500:
        raise errors.TemporaryError(message, delay=delay and min(delay, _LONGEST_DELAY))
    raise errors.PermanentError(message)
