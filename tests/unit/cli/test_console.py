"""What came to light in a process is not in what it says, not even when it crashes."""

import logging
import subprocess
import sys

import pytest

from volary.cli import console, server_process
from volary.controller.persistence import redaction

SCRIPT = """
import logging
from volary.cli import console
console.hide(["correct-horse", {"pin": 48151623}])
console.messages().print("it is correct-horse")
console.write_json({"reason": "correct-horse 48151623"})
console.write_text("Y29ycmVjdC1ob3JzZQ==")
console.write("rendered: correct-horse")
try:
    raise KeyError("correct-horse")
except KeyError:
    logging.getLogger("x").exception("failed with %s", "48151623")
raise ValueError("no number: 4.8151623e+07")
"""


def test_nothing_is_shown_but_what_a_command_is_there_to_write() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert ended.returncode == 1
    assert ended.stdout.splitlines() == [
        '{"reason":"***** *****"}',
        "*****",
        "rendered: correct-horse",
    ]
    assert "it is *****" in ended.stderr
    assert "failed with *****" in ended.stderr
    assert "KeyError: '*****'" in ended.stderr
    assert "ValueError: no number: *****" in ended.stderr
    assert "horse" not in ended.stderr.replace('"it is correct-horse"', "")


def test_the_log_of_a_server_has_no_secret_in_its_traces(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secrets = redaction.SecretValues(["token-of-the-server"])
    formatter = server_process.Formatter("%(levelname)s %(message)s", secrets)
    secrets.learn_of("shop", ["correct-horse", [48151623]])
    try:
        raise KeyError("correct-horse")
    except KeyError:
        logging.getLogger("volary").exception("token-of-the-server, 4.8151623e+07")

    (record,) = caplog.records
    text = formatter.format(record)

    assert text.startswith("ERROR *****, *****\nTraceback")
    assert "KeyError: '*****'" in text


def test_what_one_application_hides_stays_in_what_is_said_of_another() -> None:
    secrets = redaction.SecretValues()
    shop, other = secrets.masker("shop"), secrets.masker("other")

    secrets.learn_of("shop", ["Deployment"])

    assert shop.clean("Deployment web") == "***** web"
    assert other.clean("Deployment web") == "Deployment web"
    assert secrets.clean("Deployment web") == "***** web"


def test_colons_stay_colons(capsys: pytest.CaptureFixture[str]) -> None:
    image = "us: Deployment web: image is shop:warning:8080"

    console.messages().print(image, markup=False)
    console.results().print(f"[bold]{image}[/]")

    written = capsys.readouterr()
    assert (written.err, written.out) == (f"{image}\n", f"{image}\n")
