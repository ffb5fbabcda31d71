"""The page of the limits says what the limits are."""

import re
from datetime import timedelta
from pathlib import Path

from volary.concurrency import work_threads
from volary.model import work_limits

_PAGE = Path(__file__).parents[2] / "docs/reference/limits.md"
_ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_each_limit_is_on_the_page_with_its_number() -> None:
    told = {
        name: int(number)
        for numbers, names in _ROW.findall(_PAGE.read_text())
        for name, number in zip(
            re.findall(r"`(\w+)`", names), re.findall(r"\d+", numbers), strict=True
        )
    }

    known = {**vars(work_limits), **vars(work_threads)}
    limits = {
        name: int(value.total_seconds()) if isinstance(value, timedelta) else value
        for name, value in known.items()
        if name.isupper() and not name.startswith("_") and isinstance(value, int | timedelta)
    }
    del limits["FEW"]  # no limit, but where threads begin to be worth it
    assert limits == told
