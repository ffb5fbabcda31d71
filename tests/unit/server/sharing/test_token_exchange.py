"""What one server knows of API tokens, all of the database know soon."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import fixed_clock
import process_time
from volary.model import server_settings
from volary.server.authentication import token_uses, tokens
from volary.server.sharing import token_exchange
from volary.store import factory, stores

NOW = fixed_clock.FixedClock().now()


@pytest.fixture
async def store() -> AsyncIterator[stores.Store]:
    async with factory.open_store("memory:", clock=fixed_clock.FixedClock()) as opened:
        yield opened


class Server:
    """The tokens of one of several servers."""

    def __init__(self, store: stores.Store, directory: Path) -> None:
        directory.mkdir(mode=0o700)
        self.kept = tokens.TokenFile(directory)
        self.uses = token_uses.TokenUses(directory)
        self.exchange = token_exchange.TokenExchange(store, self.kept, self.uses)

    def create(self, name: str, *, days: int = 0) -> str:
        _, written = self.kept.create(
            name,
            server_settings.Role.VIEWER,
            now=NOW + timedelta(days=days),
            match_labels={"team": "shop"},
        )
        return written


async def test_what_one_makes_and_revokes_all_know(store: stores.Store, tmp_path: Path) -> None:
    first, second = Server(store, tmp_path / "a"), Server(store, tmp_path / "b")
    written = first.create("ci")
    await first.exchange.exchange()
    await second.exchange.exchange()
    known = second.kept.find(written, NOW)
    assert known is not None
    assert known == first.kept.find(written, NOW)

    second.kept.revoke("ci", now=NOW)
    await second.exchange.exchange()
    still = first.kept.find(written, NOW)
    await first.exchange.exchange()

    assert still is not None, "until it hears of it"
    assert first.kept.find(written, NOW) is None
    assert [token.revoked for token in first.kept.all()] == [NOW]


async def test_a_file_that_went_away_opens_nothing_that_was_revoked(
    store: stores.Store, tmp_path: Path
) -> None:
    first, second = Server(store, tmp_path / "a"), Server(store, tmp_path / "b")
    good, bad = first.create("good"), first.create("bad")
    for server in (first, second):
        await server.exchange.exchange()
    # A copy of the file from before, as of a backup.
    file = tmp_path / "a" / tokens.FILE_NAME
    before = file.read_bytes()
    first.kept.revoke("bad", now=NOW)
    await first.exchange.exchange()
    await second.exchange.exchange()
    file.write_bytes(before)
    (tmp_path / "b" / tokens.FILE_NAME).unlink()
    for server in (first, second):
        await server.exchange.exchange()

    for server in (first, second):
        assert server.kept.find(good, NOW) is not None
        assert server.kept.find(bad, NOW) is None


async def test_both_make_tokens_at_a_time_and_keep_their_age(
    store: stores.Store, tmp_path: Path
) -> None:
    first, second = Server(store, tmp_path / "a"), Server(store, tmp_path / "b")
    second.create("older")
    first.create("younger", days=1)
    for server in (first, second, first):
        await server.exchange.exchange()

    assert [token.name for token in first.kept.all()] == ["older", "younger"]
    assert first.kept.all() == second.kept.all()


async def test_all_know_when_a_token_was_used_last(store: stores.Store, tmp_path: Path) -> None:
    first, second = Server(store, tmp_path / "a"), Server(store, tmp_path / "b")
    first.create("ci")
    [token] = first.kept.all()
    first.uses.note(token.id, NOW)
    await first.exchange.exchange()
    await second.exchange.exchange()

    assert second.uses.all() == {token.id: NOW.replace(second=0, microsecond=0)}


async def test_nothing_new_writes_nothing(store: stores.Store, tmp_path: Path) -> None:
    server = Server(store, tmp_path / "a")
    server.create("ci")
    for _ in range(2):
        await server.exchange.exchange()
    file = tmp_path / "a" / tokens.FILE_NAME
    before = file.stat().st_mtime_ns, await store.api_tokens.stamp()
    await server.exchange.exchange()

    assert (file.stat().st_mtime_ns, await store.api_tokens.stamp()) == before


async def test_of_too_many_tokens_the_oldest_revoked_go_everywhere(
    store: stores.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST", 3)
    first, second = Server(store, tmp_path / "a"), Server(store, tmp_path / "b")
    for day, name in enumerate(("one", "two", "three")):
        first.create(name, days=day)
    first.kept.revoke("one", now=NOW)
    for server in (first, second):
        await server.exchange.exchange()
    second.create("four", days=9)
    for server in (second, first):
        await server.exchange.exchange()

    assert [token.name for token in first.kept.all()] == ["two", "three", "four"]
    assert {row.document["name"] for row in await store.api_tokens.all()} == {
        "two",
        "three",
        "four",
    }


async def test_who_hears_nothing_for_long_believes_nothing(
    store: stores.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(store, tmp_path / "a")
    before = server.exchange.is_current
    await server.exchange.exchange()
    after = server.exchange.is_current
    monkeypatch.setattr(token_exchange, "LONGEST", 0.01)
    await process_time.until(lambda: not server.exchange.is_current)

    assert (before, after) == (False, True)
