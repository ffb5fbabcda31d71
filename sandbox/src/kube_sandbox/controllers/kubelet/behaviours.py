"""How a pod behaves: read from its image, its annotations and the cluster's image rules.

An image whose name contains ``bad`` cannot be pulled, one with ``crash`` exits
soon after its start. Annotations say more (`PREFIX` plus a key of `_READERS`).
Image rules are set per cluster while it runs, so that one cluster can fail an
image that works elsewhere.
"""

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from kube_sandbox import errors
from kube_sandbox.apimachinery.meta import quantities

PREFIX = "kube-sandbox/"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a container does; durations in sandbox seconds but for the latency."""

    #: The image cannot be pulled.
    pull_fails: bool = False
    #: Added before the container starts.
    start_delay: float = 0.0
    #: From running to ready; None for what the readiness probe says.
    ready_delay: float | None = None
    #: Runs but never becomes ready.
    never_ready: bool = False
    #: Exits with an error so long after each start; None when it does not crash.
    crash_after: float | None = None
    #: It exits because it took more memory than it may.
    out_of_memory: bool = False
    #: Jobs: exits by itself after so long; None for the default of the node.
    run_for: float | None = None
    #: From the request to stop until it is gone, at most the grace period.
    stop_delay: float | None = None
    #: Share of requests that fail, 0 to 1.
    error_rate: float = 0.0
    #: Seconds an answer takes; real ones, as clients and Prometheus measure those.
    latency: float = 0.0
    #: Cores, and bytes of its working set, that each of the pod's containers is said to use.
    cpu: float = 0.001
    memory: float = 16 * 2.0**20


#: What words in `images.add(pattern, "bad")` and in image names stand for.
BEHAVIOURS: Mapping[str, Behaviour] = {
    "bad": Behaviour(pull_fails=True),
    # Never ready: else a rollout without readiness probe would take it for good for a moment.
    "crash": Behaviour(crash_after=1.0, never_ready=True),
    "never-ready": Behaviour(never_ready=True),
    "slow": Behaviour(start_delay=30.0),
}
_IN_NAMES = ("bad", "crash")
_NORMAL = Behaviour()


class ImageRules:
    """The image rules of one cluster; later ones win."""

    def __init__(self) -> None:
        self._rules: dict[str, tuple[str, Behaviour]] = {}
        #: Grows with each change.
        self.version = 0

    def add(self, pattern: str, behaviour: str) -> None:
        """Make images that match `pattern` behave so from their next start on.

        `behaviour` is a word (``bad``, ``crash``, ``never-ready``, ``slow``) or the keys
        that annotations take: ``ready-delay=3s,error-rate=0.5``.

        Raises:
            UserError: The behaviour is not known.
        """
        read = parse(behaviour)
        self._rules.pop(pattern, None)
        self._rules[pattern] = (behaviour, read)
        self.version += 1

    def remove(self, pattern: str) -> None:
        """Forget the rule for `pattern`, if there is one."""
        self._rules.pop(pattern, None)
        self.version += 1

    def clear(self) -> None:
        """Forget all rules."""
        self._rules.clear()
        self.version += 1

    def as_text(self) -> dict[str, str]:
        """The rules as they were given, pattern to behaviour."""
        return {pattern: text for pattern, (text, _) in self._rules.items()}

    def find(self, image: str) -> Behaviour | None:
        """Return the behaviour of the last rule that matches `image`."""
        for pattern in reversed(self._rules):
            if fnmatch.fnmatchcase(image, pattern):
                return self._rules[pattern][1]
        return None


def parse(text: str) -> Behaviour:
    """Read a behaviour: a word of `BEHAVIOURS`, or ``key=value`` pairs with commas between.

    Raises:
        UserError: An unknown word or key, or a value that cannot be read.
    """
    if text in BEHAVIOURS:
        return BEHAVIOURS[text]
    pairs = [part.partition("=") for part in text.split(",")]
    if any(not sign for _, sign, _ in pairs):
        words = ", ".join(BEHAVIOURS)
        raise errors.UserError(
            f'behaviour "{text}" is not known', hint=f"use one of {words}, or key=value pairs"
        )
    return _read(_NORMAL, {key.strip(): value.strip() for key, _, value in pairs})


def of(image: str, annotations: Mapping[str, str], rules: ImageRules) -> Behaviour:
    """Return how a container of `image` in a pod with `annotations` behaves.

    A rule of the cluster beats the image's name, the pod's annotations add to both.
    Annotations that cannot be read are left out: nodes cannot refuse a pod.
    """
    found = rules.find(image)
    if found is None:
        name = image.lower()
        found = next((BEHAVIOURS[word] for word in _IN_NAMES if word in name), _NORMAL)
    own = {
        key.removeprefix(PREFIX): value
        for key, value in annotations.items()
        if key.startswith(PREFIX)
    }
    if not own:
        return found
    for key, value in own.items():
        try:
            found = _read(found, {key: value})
        except errors.UserError:
            continue
    return found


def seconds(text: str) -> float:
    """Read ``3s``, ``500ms``, ``1m`` or a plain number of seconds.

    Raises:
        UserError: It is none of these.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise errors.UserError(f'"{text}" is not a duration', hint="write 500ms, 3s or 1m")
    return float(match[1]) * _UNITS[match[2] or "s"]


def share(text: str) -> float:
    """Read ``0.25`` or ``25%`` as a share from 0 to 1.

    Raises:
        UserError: It is not a number, or beyond these bounds.
    """
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise errors.UserError(f'"{text}" is not a share', hint="write 0.25 or 25%")
    return value


def truth(text: str) -> bool:
    """Read ``true`` or ``false``.

    Raises:
        UserError: It is neither.
    """
    if text not in ("true", "false"):
        raise errors.UserError(f'"{text}" is neither true nor false')
    return text == "true"


def amount(text: str) -> float:
    """Read a quantity, ``250m`` or ``400Mi``.

    Raises:
        UserError: It is none, or less than nothing.
    """
    try:
        value = float(quantities.parse(text))
    except quantities.QuantityError:
        value = -1.0
    if value < 0:
        raise errors.UserError(f'"{text}" is not an amount', hint="write 250m or 400Mi")
    return value


_READERS: Mapping[str, Callable[[str], bool | float]] = {
    "pull-fails": truth,
    "start-delay": seconds,
    "ready-delay": seconds,
    "never-ready": truth,
    "crash-after": seconds,
    "out-of-memory": truth,
    "run-for": seconds,
    "stop-delay": seconds,
    "error-rate": share,
    "latency": seconds,
    "cpu": amount,
    "memory": amount,
}
assert {key.replace("-", "_") for key in _READERS} == {each.name for each in fields(Behaviour)}


def _read(base: Behaviour, values: Mapping[str, str]) -> Behaviour:
    unknown = sorted(set(values) - set(_READERS))
    if unknown:
        raise errors.UserError(
            f'behaviour key "{unknown[0]}" is not known', hint=f"keys: {', '.join(_READERS)}"
        )
    read = {key.replace("-", "_"): _READERS[key](value) for key, value in values.items()}
    return replace(base, **read)  # type: ignore[arg-type] # the readers match the fields' types
