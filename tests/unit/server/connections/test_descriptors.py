"""Limits of a process are those of its children: tried in one of its own."""

import subprocess
import sys

_SHORT = """
import contextlib, os, resource
from volary.server.connections import descriptors

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 60))
descriptors.raise_limit()
print(descriptors.limit())
spare, held = descriptors.Spare(), []
with contextlib.suppress(OSError):
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
with spare.lent():
    lent = os.open(os.devnull, os.O_RDONLY)
    os.close(lent)
try:
    os.open(os.devnull, os.O_RDONLY)
except OSError:
    print("held again")
spare.close()
spare.close()
os.close(os.open(os.devnull, os.O_RDONLY))
"""


def test_the_limit_is_raised_as_far_as_it_may_and_one_is_always_left() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SHORT], capture_output=True, text=True, check=True, timeout=300
    )

    assert done.stdout.splitlines() == ["60", "held again"]
