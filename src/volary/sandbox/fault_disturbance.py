"""Faults carried out: what the HTTP layer asks before it answers and while it streams."""

import asyncio
import math

from volary.sandbox import faults, status
from volary.sandbox.http import disturbance


class FaultDisturbance:
    """Disturbs a cluster's requests as its switchboard says (`disturbance.Disturbance`)."""

    def __init__(self, switchboard: faults.Switchboard) -> None:
        self._switchboard = switchboard
        self._watches: dict[asyncio.Event, asyncio.TimerHandle | None] = {}
        self._changed = asyncio.Event()
        switchboard.on_change(self._react)

    async def before(self, call: disturbance.Call) -> status.StatusError | None:
        """Wait, refuse or let pass; see `disturbance.Disturbance.before`."""
        verdict = self._switchboard.decide(call)
        if verdict.delay:
            await asyncio.sleep(verdict.delay)
        match verdict.effect:
            case faults.Effect.PASS:
                return None
            case faults.Effect.BREAK:
                raise disturbance.DisconnectError
            case faults.Effect.HANG:
                while self._switchboard.current.lost is faults.Lost.HANG:
                    await self._changed.wait()
                raise disturbance.DisconnectError
            case _:
                return _refusal(verdict.effect, call, self._switchboard.current.retry_after)

    def watch_cut(self, call: disturbance.Call) -> asyncio.Event:
        """Return the event that ends a watch; it is set by time or by a switched fault."""
        cut = asyncio.Event()
        self._watches = {
            event: timer for event, timer in self._watches.items() if not event.is_set()
        }
        self._watches[cut] = self._timer(cut)
        return cut

    def stop(self) -> None:
        """End what waits: watches and requests that hang."""
        for event, timer in self._watches.items():
            if timer is not None:
                timer.cancel()
            event.set()
        self._watches.clear()
        self._changed.set()

    def _timer(self, cut: asyncio.Event) -> asyncio.TimerHandle | None:
        current = self._switchboard.current
        lifetime = current.cut_watches if current.lost is faults.Lost.NO else 0.0
        if lifetime is None:
            return None
        return asyncio.get_running_loop().call_later(lifetime, cut.set)

    def _react(self) -> None:
        """Let new faults reach what is under way."""
        self._changed.set()
        self._changed = asyncio.Event()
        for event, timer in list(self._watches.items()):
            if timer is not None:
                timer.cancel()
            self._watches[event] = self._timer(event)


def _refusal(
    effect: faults.Effect, call: disturbance.Call, retry_after: float
) -> status.StatusError:
    match effect:
        case faults.Effect.UNAUTHORIZED:
            return status.StatusError(401, "Unauthorized")
        case faults.Effect.FORBIDDEN:
            return _forbidden(call)
        case faults.Effect.EXPIRED:
            return status.expired("too old resource version: the sandbox was told to expire them")
        case faults.Effect.THROTTLE:
            message = (
                "the server has received too many requests and has asked us to try again later"
            )
            details = {"retryAfterSeconds": max(1, math.ceil(retry_after))}
            return status.StatusError(429, message, details=details)
        case _:
            message = "Internal error occurred: the sandbox was told to fail this request"
            return status.StatusError(500, message)


def _forbidden(call: disturbance.Call) -> status.StatusError:
    plural = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    where = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
    why = (
        f'User "{call.user}" cannot {call.verb} resource "{plural}" in API group '
        f'"{call.group}" {where}'
    )
    return status.forbidden(call.group, call.resource, call.name, why)
