import pytest

from volary.server.connections import request_rates


def test_a_burst_is_let_through_and_then_so_many_a_second() -> None:
    rates = request_rates.RequestRates(burst=3, rate=2.0)

    assert [rates.wait("a", 100.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert rates.wait("a", 100.4) == pytest.approx(0.1)
    assert rates.wait("a", 100.5) == 0
    assert rates.wait("a", 100.5) == 0.5


def test_waiting_is_not_made_longer_by_asking() -> None:
    rates = request_rates.RequestRates(burst=1, rate=1.0)
    rates.wait("a", 0)
    for _ in range(1000):
        assert rates.wait("a", 0) == 1
    assert rates.wait("a", 1) == 0


def test_addresses_know_nothing_of_each_other_and_are_forgotten() -> None:
    rates = request_rates.RequestRates(burst=1, rate=1.0)
    for number in range(20_000):
        assert rates.wait(str(number), 0) == 0
    assert rates.wait("19999", 0) == 1
    assert len(rates) == 10_000


def test_each_of_several_servers_gives_an_address_its_share() -> None:
    servers = 1
    rates = request_rates.RequestRates(burst=4, rate=2.0, servers=lambda: servers)
    assert [rates.wait("a", 0) for _ in range(4)] == [0] * 4

    servers = 2
    assert rates.wait("a", 0) == 1.0, "one a second of each"
    assert [rates.wait("b", 0) for _ in range(3)] == [0, 0, 1.0], "two of the four at once"
    servers = 100
    assert [rates.wait("c", 0) for _ in range(2)] == [0, 50.0], "one is always possible"
