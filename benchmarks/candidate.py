"""One candidate in a process of its own: ``python -m benchmarks.candidate NAME FLEET NAMESPACE``.

Each line on standard input is one pass; each is answered by one line of JSON that says
what the pass used. Connections stay open from pass to pass, as in a process that lives.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from pathlib import Path

from benchmarks import usage

Pass = Callable[[], Awaitable[None]]
Opener = Callable[[Path, str], AbstractAsyncContextManager[Pass]]


class Candidate:
    """The parent's side."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def do_pass(self) -> usage.Usage:
        """Have one pass done and return what it used."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the candidate has no pipes")
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the candidate failed")
        return usage.Usage(**json.loads(answer))


@contextlib.contextmanager
def running(name: str, fleet_file: Path, namespace: str) -> Iterator[Candidate]:
    """Run a candidate; it is ready, and idle, when the block begins."""
    argv = [sys.executable, "-m", "benchmarks.candidate", name, str(fleet_file), namespace]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdout is None or not process.stdout.readline():
            raise RuntimeError(f"candidate {name} did not start")
        yield Candidate(process)
        if process.stdin is not None:
            process.stdin.close()


async def _serve(opener: Opener, fleet_file: Path, namespace: str) -> None:
    async with opener(fleet_file, namespace) as act:
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            meter = usage.Meter()
            await act()
            print(json.dumps(asdict(meter.read())), flush=True)


def _openers() -> dict[str, Opener]:
    from benchmarks import raw, with_volary

    return {
        "volary": with_volary.opened,
        "raw": lambda file, namespace: raw.opened(file, namespace, tries=False),
        "raw-twice": lambda file, namespace: raw.opened(file, namespace, tries=True),
        "namespace": raw.namespace,
        "lists": raw.lists,
    }


if __name__ == "__main__":
    asyncio.run(_serve(_openers()[sys.argv[1]], Path(sys.argv[2]), sys.argv[3]))
