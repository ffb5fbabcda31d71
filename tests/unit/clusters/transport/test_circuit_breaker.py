"""The breaker opens for a cluster that is gone, not for a blip."""

import pytest

from volary.clusters.transport import circuit_breaker

RULES = circuit_breaker.Rules(failures=3, lasting=5.0, pause=10.0)


def fail(subject: circuit_breaker.CircuitBreaker, now: float) -> None:
    subject.failed(subject.admit(now), now, "connection refused")


@pytest.fixture
def opened() -> circuit_breaker.CircuitBreaker:
    """Opened at second 6."""
    subject = circuit_breaker.CircuitBreaker(RULES)
    for now in (0.0, 3.0, 6.0):
        fail(subject, now)
    return subject


def test_many_failures_at_once_are_a_blip() -> None:
    subject = circuit_breaker.CircuitBreaker(RULES)
    for _ in range(50):
        fail(subject, 1.0)

    assert subject.admit(1.1) == circuit_breaker.Admission()


def test_few_failures_never_open_it() -> None:
    subject = circuit_breaker.CircuitBreaker(RULES)
    for now in (0.0, 100.0):
        fail(subject, now)

    assert not subject.admit(101.0).refusal


def test_a_success_in_between_starts_the_row_anew() -> None:
    subject = circuit_breaker.CircuitBreaker(RULES)
    for now in (0.0, 3.0):
        fail(subject, now)
    subject.succeeded()
    fail(subject, 6.0)
    assert not subject.trouble

    assert not subject.admit(7.0).refusal


def test_it_says_since_when_and_why(opened: circuit_breaker.CircuitBreaker) -> None:
    assert opened.trouble == "connection refused"
    admission = opened.admit(8.0)

    assert admission == circuit_breaker.Admission(
        "has not answered for 8 s (connection refused) and is sent no requests for now", 8.0
    )


def test_after_the_pause_one_probe_goes_through(opened: circuit_breaker.CircuitBreaker) -> None:
    first, second = opened.admit(16.0), opened.admit(16.0)

    assert (first.probe, first.refusal) == (True, "")
    assert second.refusal


def test_a_probe_that_is_answered_closes_it(opened: circuit_breaker.CircuitBreaker) -> None:
    opened.admit(16.0)
    opened.succeeded()

    assert opened.admit(16.1) == circuit_breaker.Admission()


def test_a_probe_that_fails_opens_it_again(opened: circuit_breaker.CircuitBreaker) -> None:
    fail(opened, 16.0)

    assert opened.admit(25.9).refusal
    assert opened.admit(26.0).probe


def test_a_probe_that_is_given_up_lets_another_one_probe(
    opened: circuit_breaker.CircuitBreaker,
) -> None:
    opened.abandoned(opened.admit(16.0))

    assert opened.admit(16.1).probe


def test_a_request_from_before_does_not_end_the_probe(
    opened: circuit_breaker.CircuitBreaker,
) -> None:
    """Requests that began before it opened may be given up at any time."""
    opened.admit(16.0)
    opened.abandoned(circuit_breaker.Admission())

    assert opened.admit(16.1).refusal


def test_a_probe_that_ended_long_ago_does_not_end_a_later_one(
    opened: circuit_breaker.CircuitBreaker,
) -> None:
    """A watch that was the probe may end minutes later, in the next outage."""
    first = opened.admit(16.0)
    opened.succeeded()
    for now in (20.0, 23.0, 26.0):
        fail(opened, now)
    assert opened.admit(36.0).probe
    opened.abandoned(first)

    assert opened.admit(36.1).refusal


def test_who_listens_learns_once_that_it_is_lost_and_once_that_it_is_back() -> None:
    told: list[str] = []
    subject = circuit_breaker.CircuitBreaker(RULES, told.append)
    subject.succeeded()
    for now in (0.0, 3.0, 6.0, 7.0):
        fail(subject, now)
    assert told == ["connection refused"]
    subject.succeeded()
    subject.succeeded()

    assert told == ["connection refused", ""]


def test_a_failure_that_is_no_outage_is_told_when_it_is_over() -> None:
    told: list[str] = []
    subject = circuit_breaker.CircuitBreaker(RULES, told.append)
    fail(subject, 0.0)
    subject.succeeded()

    assert told == [""]
