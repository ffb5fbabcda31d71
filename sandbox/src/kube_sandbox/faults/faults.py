"""Faults of an emulated cluster: state that can be switched while it runs.

`Faults` is a plain value, `Switchboard` holds the current one together with the
seeded chance and the cluster's image rules; `decide` says what happens to a
request. The HTTP side is in `fault_middleware`.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from kube_sandbox import errors, json
from kube_sandbox.apiserver.access import request_info
from kube_sandbox.controllers.kubelet import behaviours


class Lost(StrEnum):
    """How a lost cluster shows."""

    #: It is there.
    NO = ""
    #: Connections break at once.
    REFUSE = "refuse"
    #: Connections stay open and nothing comes.
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Denial:
    """A verb on a resource that nobody may use; ``*`` stands for all."""

    verb: str
    #: Plural name, with the group if it matters: ``deployments`` or ``deployments.apps``.
    resource: str

    def covers(self, line: request_info.RequestInfo) -> bool:
        """Tell whether the request is denied."""
        if not line.resource or self.verb not in ("*", line.verb):
            return False
        full = f"{line.resource}.{line.group}" if line.group else line.resource
        return self.resource in ("*", line.resource, full)


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with a cluster; durations in seconds, shares from 0 to 1."""

    #: Added to every request.
    latency: float = 0.0
    #: Added to every list.
    slow_lists: float = 0.0
    #: Share of requests answered with 429.
    throttle_rate: float = 0.0
    #: What the 429 asks to wait.
    retry_after: float = 1.0
    #: Share of requests answered with 500.
    error_rate: float = 0.0
    #: Watches break so long after their start; None for never.
    cut_watches: float | None = None
    #: Watches from a resourceVersion get 410.
    expire_watches: bool = False
    lost: Lost = Lost.NO
    denied: tuple[Denial, ...] = ()
    #: Every token is refused with 401.
    expired_tokens: bool = False


NONE = Faults()


class Effect(StrEnum):
    """What happens to a request."""

    PASS = "pass"
    BREAK = "break"
    HANG = "hang"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    THROTTLE = "throttle"
    ERROR = "error"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The effect on a request, after a delay."""

    effect: Effect
    #: Seconds to wait first.
    delay: float = 0.0


def decide(
    faults: Faults, line: request_info.RequestInfo, *, has_version: bool, chance: float
) -> Verdict:
    """Say what happens to a request.

    `chance` is an evenly distributed number from 0 to below 1; `has_version` tells
    whether a watch names the resourceVersion it wants to go on from.
    """
    if faults.lost is not Lost.NO:
        return Verdict(Effect.BREAK if faults.lost is Lost.REFUSE else Effect.HANG)
    delay = faults.latency + (faults.slow_lists if line.verb == "list" else 0.0)
    return Verdict(_effect(faults, line, has_version=has_version, chance=chance), delay)


def _effect(
    faults: Faults, line: request_info.RequestInfo, *, has_version: bool, chance: float
) -> Effect:
    if faults.expired_tokens:
        return Effect.UNAUTHORIZED
    if any(each.covers(line) for each in faults.denied):
        return Effect.FORBIDDEN
    if chance < faults.throttle_rate:
        return Effect.THROTTLE
    if chance < faults.throttle_rate + faults.error_rate:
        return Effect.ERROR
    if faults.expire_watches and line.verb == "watch" and has_version:
        return Effect.EXPIRED
    return Effect.PASS


class Switchboard:
    """The faults of one cluster, to be switched at any time.

    `images` are the cluster's image rules: they decide how its pods behave.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.images = behaviours.ImageRules()
        self._current = NONE
        self._random = random.Random(seed)
        self._listeners: list[Callable[[], None]] = []

    @property
    def current(self) -> Faults:
        """What is wrong right now."""
        return self._current

    def set(self, wanted: Faults) -> None:
        """Replace all faults but the image rules; effective from the next request on."""
        self._current = wanted
        for listener in list(self._listeners):
            listener()

    def change(self, changes: Mapping[str, object]) -> None:
        """Change some faults, named and written as in `as_json`.

        Raises:
            UserError: A name or a value is wrong; nothing has changed then.
        """
        wanted = changed(self._current, {k: v for k, v in changes.items() if k != "images"})
        self._change_images(changes.get("images"))
        self.set(wanted)

    def clear(self) -> None:
        """Switch everything off, the image rules too."""
        self.images.clear()
        self.set(NONE)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change."""
        self._listeners.append(listener)

    def decide(self, line: request_info.RequestInfo, *, has_version: bool) -> Verdict:
        """Say what happens to a request; draws from the seeded chance."""
        chance = self._random.random()
        return decide(self._current, line, has_version=has_version, chance=chance)

    def as_json(self) -> json.JsonObject:
        """The current faults and image rules as they travel."""
        return {**as_json(self._current), "images": self.images.as_text()}

    def _change_images(self, wanted: object) -> None:
        if wanted is None:
            return
        if not isinstance(wanted, dict):
            raise errors.UserError("images must map patterns to behaviours")
        read = {str(pattern): text for pattern, text in wanted.items()}
        for text in read.values():
            if text is not None:
                behaviours.parse(str(text))
        for pattern, text in read.items():
            if text is None:
                self.images.remove(pattern)
            else:
                self.images.add(pattern, str(text))


def changed(before: Faults, changes: Mapping[str, object]) -> Faults:
    """Return the faults with some changed; None switches one off.

    Raises:
        UserError: A name is unknown or a value cannot be read.
    """
    read: dict[str, object] = {}
    for name, value in changes.items():
        field = _FIELDS.get(name)
        if field is None:
            known = ", ".join((*_FIELDS, "images"))
            raise errors.UserError(f'fault "{name}" is not known', hint=f"faults: {known}")
        read[field] = getattr(NONE, field) if value is None else _READERS[field](value)
    return replace(before, **read)  # type: ignore[arg-type] # the readers match the fields' types


def as_json(faults: Faults) -> json.JsonObject:
    """Write faults as they travel; only what differs from none."""
    told: json.JsonObject = {}
    for name, field in _FIELDS.items():
        value = getattr(faults, field)
        if value == getattr(NONE, field):
            continue
        if field == "denied":
            value = [f"{each.verb} {each.resource}" for each in value]
        told[name] = value
    return told


def _duration(value: object) -> float:
    return behaviours.seconds(str(value))


def _share(value: object) -> float:
    return behaviours.share(str(value))


def _truth(value: object) -> bool:
    return value if isinstance(value, bool) else behaviours.truth(str(value))


def _lost(value: object) -> Lost:
    try:
        return Lost(str(value))
    except ValueError:
        raise errors.UserError(
            f'"{value}" is no way to lose a cluster', hint="use refuse or hang"
        ) from None


def _denied(value: object) -> tuple[Denial, ...]:
    listed = value if isinstance(value, list) else [value]
    rules = []
    for each in listed:
        verb, space, resource = str(each).partition(" ")
        if not space or not verb or not resource.strip():
            raise errors.UserError(
                f'"{each}" is no denial', hint='write a verb and a resource: "patch deployments"'
            )
        rules.append(Denial(verb, resource.strip()))
    return tuple(rules)


_READERS: Mapping[str, Callable[[object], object]] = {
    "latency": _duration,
    "slow_lists": _duration,
    "throttle_rate": _share,
    "retry_after": _duration,
    "error_rate": _share,
    "cut_watches": _duration,
    "expire_watches": _truth,
    "lost": _lost,
    "denied": _denied,
    "expired_tokens": _truth,
}
#: Names on the wire: ``slowLists`` for ``slow_lists``.
_FIELDS: Mapping[str, str] = {
    head + "".join(part.capitalize() for part in rest): each.name
    for each in fields(Faults)
    for head, *rest in [each.name.split("_")]
}
