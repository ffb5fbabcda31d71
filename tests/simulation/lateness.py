"""Writes that arrive late: when somebody has written the same object since, whoever that is."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from volary.clusters.api import api_errors

if TYPE_CHECKING:
    from simulation import clusters

_Object = tuple[str, str, str]


@dataclass
class Lateness:
    """Holds up writes; what comes too late must change nothing."""

    #: Says, of each write, whether it is held up.
    draw: Callable[[], bool]
    note: Callable[[str], None]
    #: What did not hold.
    broken: list[str]
    #: Those that are held up, by what they write to; what nobody writes again is lost.
    _held: dict[_Object, list["asyncio.Future[None]"]] = field(
        default_factory=lambda: defaultdict(list)
    )

    async def carry_out(
        self,
        write: "clusters.Write",
        look: Callable[[], Any],
        action: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Have a write carried out, now or late; `look` says what it is about to change.

        Raises:
            api_errors.Conflict: It came late, and was refused.
        """
        if not self.draw():
            return await action()
        self.note(f"{write.verb} {write.kind} {write.name} of {write.place} is held up")
        arrival = asyncio.get_running_loop().create_future()
        self._held[write.cluster, write.kind, write.name].append(arrival)
        await arrival
        before = look()
        try:
            await action()
        except (api_errors.Conflict, api_errors.AlreadyExists):
            self.note(f"{write.verb} {write.kind} {write.name} of {write.place} came too late")
            raise
        if look() != before:
            self.broken.append(f"{write} came late, and was carried out")
        raise api_errors.Conflict("too late", status=409)

    def wrote(self, write: "clusters.Write") -> None:
        """Let arrive what was held up on its way to an object that was written just now."""
        for arrival in self._held.pop((write.cluster, write.kind, write.name), []):
            arrival.set_result(None)
