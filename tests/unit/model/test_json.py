"""Reading typed values, also in many threads at once."""

import subprocess
import sys
from pathlib import Path

import volary

#: Each round has classes that nobody has used before, in four threads at once.
ROUNDS = """
import dataclasses
import sys
import threading

from volary.model import json

sys.setswitchinterval(1e-6)
document = {}
for _ in range(6):
    document = {"first": document, "second": document}

def chain():
    kind = dataclasses.make_dataclass("Leaf", [("first", dict, None), ("second", dict, None)])
    for number in range(12):
        fields = [(name, kind | None, None) for name in ("first", "second", "third")]
        yield (kind := dataclasses.make_dataclass(f"Kind{number}", fields))

for _ in range(40):
    kinds = list(chain())
    barrier = threading.Barrier(4)

    def read():
        barrier.wait()
        for kind in kinds[5::3]:
            assert isinstance(json.convert(document, kind), kind)
            assert isinstance(json.decode("{}", kind), kind)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
print("well")
"""


def test_types_may_be_used_first_in_many_threads_at_once() -> None:
    """In a process of its own, which ended by a segmentation fault otherwise."""
    ended = subprocess.run(
        [sys.executable, "-c", ROUNDS], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "well\n", "")


def test_nobody_reads_json_past_it() -> None:
    assert volary.__file__ is not None
    sources = Path(volary.__file__).parent.rglob("*.py")
    past = [file.name for file in sources if "msgspec.json.decode(" in file.read_text()]

    assert past == ["json.py"]
