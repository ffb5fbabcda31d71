"""Reference pages say what the code does."""

from pathlib import Path

from volary.engine import feed

DOCS = Path(__file__).parents[2] / "docs"


def _events(base: type[feed.RunEvent]) -> set[str]:
    found = {base.event} if "event" in vars(base) else set()
    return found.union(*(_events(each) for each in base.__subclasses__()))


def test_every_event_is_documented() -> None:
    page = (DOCS / "reference/events.md").read_text()

    missing = {name for name in _events(feed.RunEvent) if f"| `{name}` |" not in page}

    assert missing == set()
