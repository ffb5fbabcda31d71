"""What may not reach a terminal or a log, and what may."""

import logging

import pytest

from volary.cli import console, forms, server_process
from volary.cli.remote import output, queries
from volary.controller.persistence import redaction as kept_redaction
from volary.manifests import redaction
from volary.model import safe_text

EVIL = "\x1b[2J\x1b]0;owned\x07 red\r\x9b31m \u202egnp.exe\u2066 \x7f"
SAFE = "�[2J�]0;owned� red��31m �gnp.exe� �"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (EVIL, SAFE),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("of\r\nWindows\r\n", "of\nWindows\n"),
        ("Grüße, 世界 👩‍🚀 ✓", "Grüße, 世界 👩‍🚀 ✓"),
        ("a\u2028b", "a�b"),
    ],
)
def test_what_steers_is_replaced_and_words_stay(text: str, shown: str) -> None:
    assert safe_text.printable(text) == shown


def test_one_line_is_one_line() -> None:
    assert safe_text.one_line("a\nb\x0bc\r\nd") == "a b�c d"


def test_every_way_to_the_terminal_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    console.messages().print(EVIL, markup=False)
    console.results().print(f"[bold]{EVIL}[/]")
    console.write_text(EVIL)
    output.show_list("apps", [{"name": "shop", "reason": EVIL}], forms.Form.WIDE)
    line = {"at": "2026-01-01T00:00:00Z", "target": "us", "stage": "1", "text": EVIL}
    queries._write_log_line(line, forms.Form.TEXT)
    queries._write_log_line(line, forms.Form.JSON)
    written = "".join(capsys.readouterr())

    assert "red" in written
    assert not any(each in written for each in "\x1b\x07\r\x9b")


def test_an_event_of_any_server_is_safe() -> None:
    told = queries.read_event(
        {"event": "run-changed", "at": "2026-01-01T00:00:00Z", "run": "r", "status": "running",
         "reason": EVIL}
    )  # fmt: skip
    assert getattr(told, "reason", "") == SAFE


def test_a_log_record_is_safe_with_its_trace() -> None:
    made = server_process.Formatter("%(message)s", kept_redaction.SecretValues())
    record = logging.LogRecord("x", logging.INFO, "f", 1, "push of %s", (EVIL,), None)
    assert made.format(record) == f"push of {SAFE}"


def test_whatever_is_kept_of_a_run_is_safe_also_without_secrets() -> None:
    assert redaction.Masker().clean(EVIL) == SAFE
    assert redaction.Masker(["secret"]).clean("secret \x1b[1m") == "***** �[1m"
