"""Orders: what an agent believes, and what not."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import hypothesis
import pytest
from hypothesis import strategies

from volary.agents.orders import keys, orders

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONTROLLER, STRANGER = keys.read(keys.generate()), keys.read(keys.generate())
ARTIFACT = b"sealed"
ORDER = orders.Order(
    "run-1",
    "shop",
    "team-a",
    "us",
    orders.digest(ARTIFACT),
    NOW - timedelta(minutes=1),
    NOW + timedelta(days=1),
)
SIGNED = orders.sign(ORDER, CONTROLLER)


def believed(signed: orders.SignedOrder, now: datetime = NOW) -> orders.Order:
    return orders.verify(signed, [CONTROLLER.public_key()], {"us", "ap"}, now)


def test_what_the_controller_signed_is_believed() -> None:
    assert believed(SIGNED) == ORDER


def test_of_several_keys_of_the_controller_each_counts() -> None:
    known = [STRANGER.public_key(), CONTROLLER.public_key()]

    assert orders.verify(SIGNED, known, {"us"}, NOW) == ORDER


@hypothesis.given(strategies.data())
def test_no_changed_order_is_believed(data: strategies.DataObject) -> None:
    at = data.draw(strategies.integers(0, len(SIGNED.order) - 1))
    letter = data.draw(strategies.characters())
    changed = SIGNED.order[:at] + letter + SIGNED.order[at + 1 :]
    hypothesis.assume(changed != SIGNED.order)

    with pytest.raises(orders.RefusedError, match="not signed by the controller"):
        believed(replace(SIGNED, order=changed))


@hypothesis.given(strategies.text(max_size=200))
def test_no_other_signature_is_believed(signature: str) -> None:
    with pytest.raises(orders.RefusedError, match="not signed by the controller"):
        believed(replace(SIGNED, signature=signature))


def test_what_another_key_signed_is_not_believed() -> None:
    with pytest.raises(orders.RefusedError, match="not signed by the controller"):
        believed(orders.sign(ORDER, STRANGER))


def test_without_a_key_nothing_is_believed() -> None:
    with pytest.raises(orders.RefusedError, match="not signed by the controller"):
        orders.verify(SIGNED, [], {"us"}, NOW)


def test_an_order_for_another_cluster_is_refused() -> None:
    signed = orders.sign(replace(ORDER, cluster="eu"), CONTROLLER)

    with pytest.raises(orders.RefusedError, match="for cluster eu, and this agent is of ap, us"):
        believed(signed)


def test_an_order_ends() -> None:
    assert believed(SIGNED, ORDER.expires - timedelta(seconds=1)) == ORDER
    with pytest.raises(orders.RefusedError, match="expired at 2026-03-02"):
        believed(SIGNED, ORDER.expires)


def test_an_order_may_come_from_a_clock_that_is_a_little_ahead() -> None:
    assert believed(SIGNED, ORDER.issued - orders.CLOCK_SKEW) == ORDER
    with pytest.raises(orders.RefusedError, match="in the future by the agent's clock"):
        believed(SIGNED, ORDER.issued - orders.CLOCK_SKEW - timedelta(seconds=1))


def test_an_order_of_another_form_is_refused_though_it_is_signed() -> None:
    # Not the one form of it: a key that signs such things is used by something else.
    spaced = SIGNED.order.replace(",", ", ")
    signature = CONTROLLER.sign(b"volary.order.1\n" + spaced.encode())
    signed = orders.SignedOrder(spaced, base64.b64encode(signature).decode())
    with pytest.raises(orders.RefusedError, match="none that this version can read"):
        believed(signed)


def test_only_the_artifact_that_is_named_is_taken() -> None:
    orders.check_artifact(ORDER, ARTIFACT)
    with pytest.raises(orders.RefusedError, match="not the one that the order names"):
        orders.check_artifact(ORDER, ARTIFACT + b"!")
