"""Whether this process itself was awake: a loop that stood still sees silence everywhere."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from volary.model import clocks

#: Seconds between two ticks, and how late one may be.
_TICK = 0.5
_LATE = 1.5
#: Seconds that the clock on the wall may run otherwise than the one that only goes forward.
_DRIFT = 2.0


@dataclass(slots=True)
class StallDetector:
    """Notices when this process stood still, or its clock was changed."""

    clock: clocks.Clock
    _doubt: str = field(default="", init=False)
    _wall: datetime | None = field(default=None, init=False)
    _steady: float = field(default=0.0, init=False)

    async def keep_watching(self) -> None:
        """Notice until cancelled."""
        while True:
            before = _now()
            await asyncio.sleep(_TICK)
            late = _now() - before - _TICK
            if late > _LATE:
                self._doubt = f"the event loop stalled for {late:.1f} s"

    def doubt(self) -> str:
        """Say what happened since this was asked last; empty: nothing."""
        doubt, self._doubt = self._doubt, ""
        wall, steady = self.clock.now(), _now()
        if self._wall is not None:
            drift = (wall - self._wall).total_seconds() - (steady - self._steady)
            if abs(drift) > _DRIFT:
                doubt = doubt or f"the clock was changed by {drift:+.1f} s"
        self._wall, self._steady = wall, steady
        return doubt


def _now() -> float:
    """Seconds of a clock that only goes forward; the loop's own, so that tests can turn it."""
    return asyncio.get_running_loop().time()
