"""The audit: exported whole, and its chain of hashes verified."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec

from volary.cli import console, exit_codes, forms
from volary.cli.remote import client
from volary.model import audit_chain, errors, json

_PATH = "audit"


async def export(server: client.Client, form: forms.Form, wanted: Mapping[str, str]) -> int:
    """Write every entry that is meant, the oldest first, each on a line of its own.

    `wanted` are the words of `GET /audit` that narrow it; empty ones do not.
    """
    async for entry in _entries(server, **wanted):
        if form is forms.Form.JSON:
            console.write_json(entry)
        else:
            console.write_text(_line(entry))
    return exit_codes.Exit.DONE


async def verify(server: client.Client, expected: str) -> int:
    """Read the whole audit of a server, and say what is missing or was changed."""
    head = await server.get(_PATH, "head")
    marks = _marks(expected)
    if head["position"]:
        marks.setdefault(head["position"], head["hash"])
    verification = audit_chain.Verification(marks)
    async for entry in _entries(server):
        _read(verification, entry)
    return _finish(verification)


def verify_file(path: str, expected: str) -> int:
    """Verify an export: all of the audit, as `volary audit export -o json` writes it.

    Raises:
        errors.UserError: The file cannot be read, or is no export.
    """
    verification = audit_chain.Verification(_marks(expected))
    try:
        with Path(path).open("rb") as file:
            for line in filter(None, map(bytes.strip, file)):
                _read(verification, json.decode(line, dict))
    except OSError as error:
        raise errors.user_error(f"{path} cannot be read: {error.strerror}") from error
    except json.UNREADABLE as error:
        raise _no_export(path) from error
    if not verification.count:
        raise _no_export(path)
    return _finish(verification)


def _no_export(path: str) -> errors.UserError:
    return errors.user_error(
        f"{path} is no export of an audit", hint="volary audit export --output json writes one"
    )


async def _entries(server: client.Client, **query: str) -> AsyncIterator[json.JsonObject]:
    cursor = ""
    while True:
        page = await server.get(_PATH, **query, order="oldest", cursor=cursor, limit=500)
        for entry in page["items"]:
            yield entry
        cursor = page["cursor"]
        if not cursor:
            return


def _marks(expected: str) -> dict[int, str]:
    """Read a position and a hash that somebody noted.

    Raises:
        errors.UserError: It is not of that form.
    """
    if not expected:
        return {}
    position, colon, digest = expected.partition(":")
    if not colon or not digest or not position.isdecimal() or len(position) > 18:
        raise errors.user_error(
            f"{expected} is no position with its hash",
            hint="write POSITION:HASH, as volary audit verify printed it",
        )
    return {int(position): digest}


def _read(verification: audit_chain.Verification, entry: json.JsonObject) -> None:
    try:
        verification.read(entry)
    except (KeyError, TypeError, AttributeError) as error:
        raise errors.user_error(
            "an entry lacks what an audit's entries have",
            hint="volary audit export --output json writes them whole",
        ) from error


def _finish(verification: audit_chain.Verification) -> int:
    problems = verification.end()
    position, digest = verification.head
    console.write_lines(problems)
    if problems:
        console.write_text(f"the audit is not whole: {verification.count} entries were read")
        return exit_codes.Exit.FAILED
    if not position:
        console.write_text("the audit has no entry yet")
        return exit_codes.Exit.DONE
    console.write_text(f"the audit is whole: {verification.count} entries")
    console.write_text(f"head {position}:{digest}")
    return exit_codes.Exit.DONE


def _line(entry: json.JsonObject) -> str:
    about = " ".join(filter(None, (entry["application"], entry["run"])))
    source = f" from {entry['source']}" if entry["source"] else ""
    changes = "; ".join(
        f"{key}: {_short(entry['before'].get(key))} -> {_short(entry['after'].get(key))}"
        for key in dict.fromkeys((*entry["before"], *entry["after"]))
    )
    said = "; ".join(f"{key}: {_short(value)}" for key, value in entry["document"].items() if value)
    what = f"{entry['at'][:19]}Z  {entry['by']}{source}  {entry['action']}  {entry['result']}"
    return "  ".join(filter(None, (f"{entry['position']}", what, about, said, changes)))


def _short(value: object) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
