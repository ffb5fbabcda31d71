"""Signed orders: what an agent may believe of what comes to it through others. Pure.

An order travels through Temporal and its histories, which are not trusted. So it is signed by the
controller, over JSON in one form only (sorted keys, no spaces), and names everything that follows
from it: the run, the cluster, and by its SHA-256 the artifact with all the rest.
"""

import base64
import binascii
import hashlib
import json as json_text
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from cryptography import exceptions

from volary.agents.orders import keys
from volary.model import errors, json

#: What is signed begins so, that no other signature of the key can be taken for one of an order.
_PURPOSE = b"volary.order.1\n"
#: How far the clocks of a controller and an agent may be apart.
CLOCK_SKEW = timedelta(minutes=5)
#: Characters of an order; one is some hundreds long.
_MOST = 8 * 1024


class RefusedError(errors.PermanentError):
    """What an order asks for is not done; says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Order:
    """What an agent is told by the controller."""

    run: str
    application: str
    #: Empty: it belongs to none.
    project: str
    cluster: str
    #: SHA-256 of the bytes of the sealed bundle, in hexadecimal.
    artifact: str
    issued: datetime
    expires: datetime


@dataclass(frozen=True, slots=True)
class SignedOrder:
    """An order as it travels."""

    #: The order, as JSON in the one form that is signed.
    order: str
    #: In base64.
    signature: str


def canonical(order: Order) -> str:
    """Return an order as JSON, the same text for the same order."""
    document = msgspec.to_builtins(order)
    return json_text.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def sign(order: Order, key: keys.SigningKey) -> SignedOrder:
    """Return an order signed."""
    text = canonical(order)
    signature = key.sign(_PURPOSE + text.encode())
    return SignedOrder(text, base64.b64encode(signature).decode())


def digest(artifact: bytes) -> str:
    """Return what an artifact is known by."""
    return hashlib.sha256(artifact).hexdigest()


def verify(
    signed: SignedOrder,
    publics: Sequence[keys.VerifyingKey],
    clusters: Collection[str],
    now: datetime,
) -> Order:
    """Return an order that was given by the controller, to this agent, for this time.

    Args:
        signed: As it came.
        publics: The controller's signing keys that are believed.
        clusters: Those that the agent works in.
        now: By the agent's clock.

    Raises:
        RefusedError: It is not so.
    """
    if len(signed.order) > _MOST:
        raise RefusedError("the order is longer than any that a controller gives")
    try:
        signature = base64.b64decode(signed.signature.encode(), validate=True)
    except (binascii.Error, ValueError):
        signature = b""
    text = _PURPOSE + signed.order.encode("utf-8", "surrogatepass")
    if not any(_is_signed(key, signature, text) for key in publics):
        raise RefusedError("the order is not signed by the controller that this agent belongs to")
    order = _read(signed.order)
    if order.cluster not in clusters:
        raise RefusedError(
            f"the order is for cluster {order.cluster}, and this agent is of "
            + ", ".join(sorted(clusters))
        )
    if order.issued > now + CLOCK_SKEW:
        raise RefusedError(
            f"the order was issued at {order.issued.isoformat()}, which is in the future by the"
            " agent's clock"
        )
    if order.expires <= now:
        raise RefusedError(f"the order expired at {order.expires.isoformat()}")
    return order


def _is_signed(key: keys.VerifyingKey, signature: bytes, text: bytes) -> bool:
    try:
        key.verify(signature, text)
    except exceptions.InvalidSignature:
        return False
    return True


def _read(text: str) -> Order:
    try:
        order = json.decode(text.encode(), Order)
        is_whole = order.issued.tzinfo is not None and order.expires.tzinfo is not None
    except json.UNREADABLE as error:
        raise RefusedError("the order is none that this version can read") from error
    if not is_whole or canonical(order) != text:
        raise RefusedError("the order is none that this version can read")
    return order


def check_artifact(order: Order, artifact: bytes) -> None:
    """See that an artifact is the one that an order names.

    Raises:
        RefusedError: It is another one.
    """
    if digest(artifact) != order.artifact:
        raise RefusedError("the artifact is not the one that the order names")
