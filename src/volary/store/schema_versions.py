"""Which programs may use a database: pure rules of its schema's revisions.

A revision comes in two halves. It *expands* the schema when the first program that knows it starts:
only what older programs need not know is added, so that they go on beside it. It *contracts* the
schema, taking away what only they needed, once none of them was there for a while. Every database
says which revision a program has to know to use it: the last one that was contracted.

Documents in rows follow the same rule: whoever writes a new form of one waits until the revision
that came with it is contracted, and reads the form before until then.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from volary.model import errors

#: The revision that every database begins with.
FIRST = "0001"

_TABLE = r"(?:IF NOT EXISTS )?\"?(?P<table>\w+)\"?"
_CREATE = re.compile(rf"CREATE TABLE {_TABLE}", re.IGNORECASE)
_INDEX = re.compile(r"CREATE (?P<unique>UNIQUE )?INDEX .* ON \"?(?P<table>\w+)\"?", re.IGNORECASE)
_COLUMN = re.compile(r"ALTER TABLE \"?\w+\"? ADD COLUMN (?P<column>.*)", re.IGNORECASE)
#: What Alembic itself keeps, and what only looks.
_HARMLESS = re.compile(
    r"(SELECT|PRAGMA|(INSERT INTO|UPDATE|DELETE FROM) alembic_version)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What a database says of its schema."""

    #: The newest revision that was expanded; empty: there is no schema yet.
    present: str = ""
    #: What a program has to know at least.
    oldest: str = FIRST


def refusal(state: SchemaState, known: str) -> errors.UserError | None:
    """Return why a program that knows the schema up to `known` may not use a database."""
    if known >= state.oldest:
        return None
    return errors.user_error(
        f"the database belongs to a newer version of Volary by now (schema {state.present}, which "
        f"programs have to know from {state.oldest} on; this version knows up to {known})",
        hint="run that version, or restore a backup of this one",
    )


def contractible(
    state: SchemaState, known: str, seen: Collection[str], revisions: Collection[str]
) -> tuple[str, ...]:
    """Return the revisions that may be contracted now, in order.

    Args:
        state: What the database says.
        known: The newest revision that this program knows.
        seen: The newest revisions that the programs know which were there of late.
        revisions: Those that this program knows.
    """
    newest = min((known, state.present, *seen))
    return tuple(sorted(each for each in revisions if state.oldest < each <= newest))


class ExpansionRule:
    """Refuses what would break a program that does not know of it, for one expansion."""

    def __init__(self) -> None:
        #: Tables that this expansion made: nobody else writes to them.
        self._made: set[str] = set()

    def check(self, statement: str) -> None:
        """Check a statement before it is sent.

        Raises:
            errors.PermanentError: It takes something away, or changes what is there.
        """
        text = " ".join(statement.split())
        if made := _CREATE.match(text):
            self._made.add(made["table"].lower())
        elif not self._is_addition(text):
            raise errors.PermanentError(
                "an expansion of the schema may only add tables, indexes, and columns that may be "
                f"empty or have a default; this belongs into the contraction: {text[:200]}"
            )

    def _is_addition(self, text: str) -> bool:
        if _HARMLESS.match(text):
            return True
        if index := _INDEX.match(text):
            # A unique one refuses what older programs write.
            return not index["unique"] or index["table"].lower() in self._made
        column = _COLUMN.match(text)
        if column is None:
            return False
        words = column["column"].upper()
        return "NOT NULL" not in words or "DEFAULT" in words
