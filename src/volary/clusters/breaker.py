"""A circuit breaker: a cluster that does not answer is left alone for a while.

    closed ──(failures in a row)──► open ──(pause over)──► half-open ──(one probe)──► closed or open

Pure but for its own few fields; time comes in as a parameter, in seconds of any clock
that only goes forward.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """When the circuit opens and for how long."""

    #: Failures in a row that open it.
    failures: int = 5
    #: Seconds it stays open before one request may probe.
    pause: float = 10.0


class Breaker:
    """Counts failures in a row of one cluster."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._failures = 0
        self._opened: float | None = None
        self._probing = False
        self._cause = ""

    def refusal(self, now: float) -> str:
        """Say why no request may be sent at `now`; empty when one may, perhaps as the probe."""
        if self._opened is None:
            return ""
        since = now - self._opened
        if since >= self._rules.pause and not self._probing:
            self._probing = True
            return ""
        return f"did not answer {self._failures} times in a row ({self._cause}); left alone for now"

    def succeeded(self) -> None:
        """An answer came, whatever it said."""
        self._failures = 0
        self._opened = None
        self._probing = False

    def failed(self, now: float, cause: str) -> None:
        """No answer came."""
        self._failures += 1
        self._cause = cause
        if self._probing or self._failures >= self._rules.failures:
            self._opened = now
        self._probing = False

    def abandoned(self) -> None:
        """A request was given up before it was known whether an answer comes."""
        self._probing = False
