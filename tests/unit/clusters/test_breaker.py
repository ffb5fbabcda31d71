"""The breaker opens for a cluster that is gone, not for a blip."""

import pytest

from volary.clusters import breaker

RULES = breaker.Rules(failures=3, lasting=5.0, pause=10.0)


def fail(subject: breaker.Breaker, now: float) -> None:
    subject.failed(subject.admit(now), now, "connection refused")


@pytest.fixture
def opened() -> breaker.Breaker:
    """Opened at second 6."""
    subject = breaker.Breaker(RULES)
    for now in (0.0, 3.0, 6.0):
        fail(subject, now)
    return subject


def test_many_failures_at_once_are_a_blip() -> None:
    subject = breaker.Breaker(RULES)
    for _ in range(50):
        fail(subject, 1.0)

    assert subject.admit(1.1) == breaker.Admission()


def test_few_failures_never_open_it() -> None:
    subject = breaker.Breaker(RULES)
    for now in (0.0, 100.0):
        fail(subject, now)

    assert not subject.admit(101.0).refusal


def test_a_success_in_between_starts_the_row_anew() -> None:
    subject = breaker.Breaker(RULES)
    for now in (0.0, 3.0):
        fail(subject, now)
    subject.succeeded()
    fail(subject, 6.0)

    assert not subject.admit(7.0).refusal


def test_it_says_since_when_and_why(opened: breaker.Breaker) -> None:
    admission = opened.admit(8.0)

    assert admission == breaker.Admission(
        "has not answered for 8 s (connection refused) and is left alone for now", 8.0
    )


def test_after_the_pause_one_probe_goes_through(opened: breaker.Breaker) -> None:
    first, second = opened.admit(16.0), opened.admit(16.0)

    assert (first.probe, first.refusal) == (True, "")
    assert second.refusal


def test_a_probe_that_is_answered_closes_it(opened: breaker.Breaker) -> None:
    opened.admit(16.0)
    opened.succeeded()

    assert opened.admit(16.1) == breaker.Admission()


def test_a_probe_that_fails_opens_it_again(opened: breaker.Breaker) -> None:
    fail(opened, 16.0)

    assert opened.admit(25.9).refusal
    assert opened.admit(26.0).probe


def test_a_probe_that_is_given_up_lets_another_one_probe(opened: breaker.Breaker) -> None:
    opened.abandoned(opened.admit(16.0))

    assert opened.admit(16.1).probe


def test_a_request_from_before_does_not_end_the_probe(opened: breaker.Breaker) -> None:
    """Requests that began before it opened may be given up at any time."""
    opened.admit(16.0)
    opened.abandoned(breaker.Admission())

    assert opened.admit(16.1).refusal


def test_a_probe_that_ended_long_ago_does_not_end_a_later_one(opened: breaker.Breaker) -> None:
    """A watch that was the probe may end minutes later, in the next outage."""
    first = opened.admit(16.0)
    opened.succeeded()
    for now in (20.0, 23.0, 26.0):
        fail(opened, now)
    assert opened.admit(36.0).probe
    opened.abandoned(first)

    assert opened.admit(36.1).refusal
