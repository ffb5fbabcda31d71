"""Addresses on the loopback interface."""

import ipaddress

import pytest

from kube_sandbox import errors
from kube_sandbox.dataplane.servers import loopback


def test_blocks_differ_and_are_given_up() -> None:
    first, second = loopback.claim(), loopback.claim()

    taken = {first.take(), first.take(), second.take()}

    assert len(taken) == 3
    assert first.gateway != second.gateway
    assert all(ipaddress.ip_address(each).is_loopback for each in taken)
    first.close()
    second.close()


def test_an_address_comes_again_as_late_as_possible() -> None:
    block = loopback.claim()
    first = block.take()
    block.give_back(first)
    others = [block.take() for _ in range(4079)]

    assert first not in others
    assert block.take() == first
    with pytest.raises(errors.UserError, match="more than 4080 pods"):
        block.take()
    block.give_back(others[7])
    assert block.take() == others[7]
    block.close()


def test_a_system_without_such_addresses_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # An address range for documentation: nobody's computer has it.
    monkeypatch.setattr(loopback, "_FIRST", int(ipaddress.ip_address("203.0.113.0")))
    monkeypatch.setattr(loopback, "_COUNT", 1)

    with pytest.raises(errors.UserError, match=r"this system answers on 127\.0\.0\.1 only"):
        loopback.claim()
