"""Sentences are cleaned at any depth, names never; secrets that are learnt late count as well."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from fixed_clock import FixedClock
from volary.controller.persistence import redaction, retention
from volary.engine.executor import LogLevel
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.manifests import redaction as manifest_redaction
from volary.model import server_settings

AT = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "hunter2-hunter2"
MASKER = manifest_redaction.Masker((SECRET,))


@dataclass
class Seen:
    """Remembers events."""

    events: list[feed.RunEvent] = field(default_factory=list)

    def notify(self, event: feed.RunEvent) -> None:
        self.events.append(event)


def test_sentences_are_cleaned_at_any_depth_and_names_are_not() -> None:
    document = {
        "reason": f"no {SECRET}",
        "cluster": SECRET,
        "details": [f"a {SECRET}", {"cluster": SECRET, "message": SECRET}],
        "tasks": ({"reason": SECRET, "target": SECRET}, [SECRET]),
        "query": SECRET,
        "exceptions": {SECRET: f"left out: {SECRET}"},
        "count": 3,
    }

    assert event_redaction.clean_document(MASKER, document) == {
        "reason": "no *****",
        "cluster": SECRET,
        "details": ["a *****", {"cluster": SECRET, "message": "*****"}],
        "tasks": [{"reason": "*****", "target": SECRET}, [SECRET]],
        "query": SECRET,
        "exceptions": {SECRET: "left out: *****"},
        "count": 3,
    }
    assert event_redaction.clean_finding(MASKER, {"query": SECRET}) == {"query": "*****"}


def logged(target: str, line: str) -> feed.TaskLogged:
    return feed.TaskLogged(
        at=AT,
        run="r1",
        stage="1-SYNC",
        stage_name="SYNC",
        target=target,
        attempt=1,
        level=LogLevel.INFO,
        line=line,
    )


def test_observers_see_clean_events_and_the_same_one_where_nothing_is_secret() -> None:
    one, two = Seen(), Seen()
    observer = event_redaction.RedactingObserver(MASKER, (one, two))
    plain = logged(SECRET, "all is well")
    secret = logged("us", f"use {SECRET}")

    observer.notify(plain)
    observer.notify(secret)

    assert one.events[0] is plain
    assert one.events == two.events
    assert isinstance(one.events[1], feed.TaskLogged)
    assert (one.events[1].line, one.events[1].target) == ("use *****", "us")


def test_what_is_learnt_late_is_masked_everywhere() -> None:
    values = redaction.SecretValues(("first-secret",))
    before = values.masker()

    values.learn(SECRET)
    values.learn(SECRET)

    assert before.clean(f"first-secret {SECRET}") == "***** *****"
    assert values.masker().clean(SECRET) == "*****"
    assert sorted(values.values) == ["first-secret", SECRET]


def test_the_audit_is_kept_twice_as_long_as_runs() -> None:
    clock = FixedClock()
    settings = server_settings.Retention(runs=7, days=10)

    may_go = retention.cutoffs(settings, clock)

    assert may_go.before == clock.now() - timedelta(days=10)
    assert may_go.audit_before == clock.now() - timedelta(days=20)
    assert may_go.keep_runs_per_application == 7
