"""What lines of a log are about."""

import asyncio
import io
import json
import logging

from volary.cli import server_process
from volary.controller.persistence import redaction
from volary.telemetry import log_fields


async def test_fields_hold_within_a_block_and_in_tasks_that_begin_there() -> None:
    async def look() -> dict[str, str]:
        return dict(log_fields.current())

    with log_fields.bound(application="shop", run=""):
        with log_fields.bound(cluster="us"):
            task = asyncio.get_running_loop().create_task(look())
        outer = dict(log_fields.current())

    assert await task == {"application": "shop", "cluster": "us"}
    assert outer == {"application": "shop"}
    assert not log_fields.current()


def test_a_line_of_json_says_what_it_is_about_and_no_secret() -> None:
    secrets = redaction.SecretValues()
    secrets.learn('pass"word-of-the-shop')
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(server_process.JsonFormatter("", secrets))
    logger = logging.Logger("volary.test")
    logger.addHandler(handler)

    with log_fields.bound(application="shop", run="4711"):
        try:
            raise ValueError('it is pass"word-of-the-shop')
        except ValueError:
            logger.exception("%s broke", "us")

    (line,) = stream.getvalue().splitlines()
    said = json.loads(line)
    assert {name: said[name] for name in ("level", "logger", "message")} == {
        "level": "ERROR",
        "logger": "volary.test",
        "message": "us broke",
    }
    assert (said["application"], said["run"]) == ("shop", "4711")
    assert "ValueError" in said["exception"]
    assert "word-of-the-shop" not in line
    assert said["time"].endswith("Z")
