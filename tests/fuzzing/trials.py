"""One input, read by one parser: what came of it."""

import random
import resource
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fuzzing import changes
from volary.model import errors

#: Seconds of processor time that no input of 64 KiB may take: some hundred times what one does.
MOST_WORK = 20.0
#: Bytes that reading an input may take beyond what the process had (`--memory`).
MOST_MEMORY = 2 << 30
#: Stands for a secret in examples; no part of it that says something may show in a message.
CANARY = "kQ7xw9Vm2zRtJ4bLc8Yd"
_PART = 8

Read = Callable[[bytes], Iterable[str] | None]


@dataclass(frozen=True, slots=True)
class Parser:
    """One reader of untrusted input."""

    name: str
    #: Examples of what it reads.
    seeds: Sequence[bytes]
    #: Reads an input; returns what people are shown of it.
    read: Read
    #: Exceptions that say what is wrong with an input.
    refusals: tuple[type[Exception], ...] = (errors.VolaryError,)
    #: Words of the language.
    words: Sequence[str] = ()
    #: `CANARY` is a secret, in the examples or in what the reader has.
    has_secret: bool = False

    def make(self, seed: int) -> bytes:
        """Return the input of a seed: always the same one."""
        chance = random.Random(f"{self.name}:{seed}")
        if any(CANARY.encode() in example for example in self.seeds):
            # What is secret stays where it is, or it would be none.
            return changes.change_around(chance, self.seeds, self.words, CANARY.encode())
        return changes.change(chance, self.seeds, self.words)


class _TooMuchError(BaseException):
    """The processor time is used up; nobody's `except Exception` may catch it."""


def attempt(parser: Parser, data: bytes, most: float = MOST_WORK) -> str:
    """Have an input read; returns what is wrong with that, empty: nothing."""
    began = _processor_time()
    shown: list[str] = []
    try:
        with _bounded(most):
            shown += parser.read(data) or ()
    except parser.refusals as error:
        shown += [str(error), "".join(traceback.format_exception(error))]
    except _TooMuchError:
        return f"more than {most:g} s of processor time"
    except Exception as error:  # noqa: BLE001 - which one is what is looked for
        return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
    if (took := _processor_time() - began) > most:
        return f"{took:.0f} s of processor time, more than {most:g} s"
    return _of_messages(shown, has_secret=parser.has_secret)


def _of_messages(shown: Sequence[str], *, has_secret: bool) -> str:
    for text in shown:
        try:
            text.encode()
        except UnicodeEncodeError:
            return f"a message that cannot be sent: {text[:500]!r}"
        if has_secret and any(
            CANARY[start : start + _PART] in text for start in range(len(CANARY) - _PART + 1)
        ):
            return f"a secret in a message: {text[:3000]}"
    return ""


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def _bounded(most: float) -> Iterator[None]:
    """End what takes too long, as soon as Python has its turn again."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooMuchError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """Let this process have no more memory than reading anything may take."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    pages = int(statm.read_text().split()[5])
    most = pages * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
