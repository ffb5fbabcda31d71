"""A circuit breaker: a cluster that does not answer is left alone for a while.

    closed ──(failures in a row, for some seconds)──► open ──(pause over)──► half-open
    half-open ──(one probe)──► closed or open

A blip of a second must not open it, however many requests were under way: a row of
failures counts only once it has lasted. Pure but for its own few fields; time comes in
as a parameter, in seconds of any clock that only goes forward.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """When the circuit opens and for how long."""

    #: Failures in a row that open it …
    failures: int = 5
    #: … once seconds have passed since the first of them.
    lasting: float = 5.0
    #: Seconds it stays open before one request may probe.
    pause: float = 10.0


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a request may be sent."""

    #: Why not; empty when it may.
    refusal: str = ""
    #: Seconds until asking again makes sense; 0 when it may be sent.
    wait: float = 0.0
    #: It is the one request that finds out whether the cluster is back.
    probe: bool = False


_ADMITTED = Admission()


#: Called with why a cluster does not answer, when the circuit opens; empty when it answers again.
OnChange = Callable[[str], None]


class CircuitBreaker:
    """Counts failures in a row of one cluster, and reports when it is lost and when it is back."""

    def __init__(
        self, rules: Rules | None = None, on_change: OnChange = lambda _trouble: None
    ) -> None:
        self._rules = rules or Rules()
        self._on_change = on_change
        self._failures = 0
        self._first_failed = 0.0
        self._opened: float | None = None
        self._probe: Admission | None = None
        self._cause = ""

    @property
    def trouble(self) -> str:
        """Why the cluster does not answer, while it is asked nothing; empty: it may."""
        return self._cause if self._opened is not None else ""

    def admit(self, now: float) -> Admission:
        """Say whether a request may be sent at `now`; report how it ended."""
        if self._opened is None:
            return _ADMITTED
        wait = self._opened + self._rules.pause - now
        if wait <= 0 and self._probe is None:
            self._probe = Admission(probe=True)
            return self._probe
        since = now - self._first_failed
        return Admission(
            f"has not answered for {since:.0f} s ({self._cause}) and is sent no requests for now",
            max(wait, 0.0),
        )

    def succeeded(self) -> None:
        """An answer came, whatever it said."""
        was_failing = self._failures > 0
        self._failures = 0
        self._opened = None
        self._probe = None
        if was_failing:
            self._on_change("")

    def failed(self, admission: Admission, now: float, cause: str) -> None:
        """No answer came."""
        if self._failures == 0:
            self._first_failed = now
        self._failures += 1
        self._cause = cause
        lasted = now - self._first_failed >= self._rules.lasting
        if admission is self._probe or (
            self._opened is None and lasted and self._failures >= self._rules.failures
        ):
            self._opened = now
            self._probe = None
            self._on_change(cause)

    def abandoned(self, admission: Admission) -> None:
        """The request was given up before it was known whether an answer comes."""
        if admission is self._probe:
            self._probe = None
