"""The audit's chain: each entry bears the hash of the one before, so what is taken out shows.

Pure, and the same for whoever writes entries and whoever reads an export of them years later.
What it proves: an entry that is changed, removed or put in afterwards shows, unless every later
entry is written anew. Who can do that is found by a hash that was noted elsewhere.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from volary.model import json

#: What an entry's hash covers, in this order, after the hash of the entry before.
FIELDS = (
    *("position", "at", "by", "action", "result", "source", "application", "project", "run"),
    *("document", "before", "after"),
)
#: Action and author of the entry that retention leaves for what it removed.
PRUNED, PRUNED_BY = "audit.pruned", "volary"
#: Problems that are told; where everything is wrong, a few are enough.
_MOST = 50


def digest(previous: str, entry: Mapping[str, object]) -> str:
    """Return the hash of an entry: SHA-256 of a JSON array, in hexadecimal.

    Args:
        previous: The hash of the entry before; empty: there never was one.
        entry: Its fields by the names of the API; times in UTC.
    """
    content = [previous, *(entry[name] for name in FIELDS)]
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def pruned_document(count: int, through: int, digest_of_last: str) -> json.JsonObject:
    """Return what retention leaves for the entries it removed, the last of them with its hash."""
    return {"removed": count, "through": through, "hash": digest_of_last}


@dataclass(slots=True)
class Verification:
    """Reads a whole audit, the oldest entry first, and says what is wrong with it."""

    #: Hashes that are known otherwise, such as that of the chain's head, by position.
    expected: Mapping[int, str] = field(default_factory=dict)
    #: Entries that were read.
    count: int = 0
    problems: list[str] = field(default_factory=list)
    _first: tuple[int, str] | None = None
    _last: tuple[int, str] = (0, "")
    #: What retention says that it removed last: up to which position, with which hash.
    _pruned: tuple[object, object] = (0, "")

    @property
    def head(self) -> tuple[int, str]:
        """Position and hash of the entry that was read last; zero and empty before the first."""
        return self._last

    def read(self, entry: json.JsonObject) -> None:
        """Take the next entry, as the API shows it.

        Raises:
            KeyError: It is no entry of an audit.
        """
        position, previous = entry["position"], entry["previous"]
        if digest(previous, entry) != entry["hash"]:
            self._note(f"entry {position} was changed: it does not have the hash of its content")
        if self._first is None:
            self._first = (position, previous)
        else:
            self._compare(position, previous)
        known = self.expected.get(position)
        if known is not None and known != entry["hash"]:
            self._note(f"entry {position} was replaced: it does not have the hash that is expected")
        if (entry["action"], entry["by"]) == (PRUNED, PRUNED_BY):
            document = entry["document"]
            self._pruned = (document.get("through"), document.get("hash"))
        self._last = (position, entry["hash"])
        self.count += 1

    def _compare(self, position: int, previous: str) -> None:
        """Compare an entry with the one before."""
        last, last_hash = self._last
        if position <= last:
            self._note(f"entry {position} is not in its place, it comes after entry {last}")
        elif position > last + 1:
            self._note(f"{_entries(last + 1, position - 1)} missing")
        elif previous != last_hash:
            self._note(f"entry {position} does not follow entry {last}: one of them was replaced")

    def end(self) -> tuple[str, ...]:
        """Return what is wrong, once every entry was read; nothing: the chain is whole."""
        if self._first is not None:
            self._check_beginning(*self._first)
        last, _ = self._last
        newest = max(self.expected, default=0)
        if newest > last:
            self._note(f"{_entries(last + 1, newest)} missing at the end")
        return tuple(self.problems)

    def _check_beginning(self, position: int, previous: str) -> None:
        if position == 1 and previous == "":
            return
        if position == 1:
            self._note("entry 1 was replaced: it says that one came before it")
        elif self._pruned != (position - 1, previous):
            self._note(
                f"{_entries(1, position - 1)} missing, and retention does not say that it removed"
                " them"
            )

    def _note(self, problem: str) -> None:
        if len(self.problems) < _MOST:
            self.problems.append(problem)


def _entries(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"
