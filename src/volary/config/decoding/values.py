"""The small value forms of application files: durations, replicas, percentages, names, paths.

Each reader takes what YAML gave and returns the model's value, or raises
ValueError with a sentence for the user.
"""

import posixpath
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import rollouts

#: A canary of ten times the primary is a typo.
MAXIMUM_REPLICAS_PERCENTAGE = 1000
_MAXIMUM_REPLICAS = 100_000

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DURATION_PART = r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)"
_DURATION = re.compile(rf"([-+]?)((?:{_DURATION_PART})+)")
_LONGEST = 10 * 365 * 24 * _NANOSECONDS["h"]
_INTEGER = re.compile(r"[-+]?[0-9]+")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_SHARE = re.compile(r"[0-9]{1,5}%?")
_CLUSTER_NAME = re.compile(r"[^\s,\x00-\x1f\x7f]+")


def lower(value: object) -> object:
    """Return a word in lower case, as enumerations have it."""
    return value.lower() if isinstance(value, str) else value


def duration(value: object) -> timedelta:
    """Read a Go duration (``1h30m``) or a number of nanoseconds (PipeCD: duration)."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a duration such as 30s, 5m or 1h30m")
    nanoseconds = _nanoseconds(value) if isinstance(value, str) else Decimal(str(value))
    if nanoseconds < 0:
        raise ValueError("must not be negative")
    if nanoseconds > _LONGEST:
        raise ValueError("must not be longer than ten years")
    return timedelta(microseconds=int(nanoseconds) // 1000)


def days(value: object) -> timedelta:
    """Read a duration that may begin with days: ``30d``, ``1d12h``."""
    match = re.fullmatch(r"(\d{1,4})d(.*)", value) if isinstance(value, str) else None
    if match is None:
        return duration(value)
    rest = duration(match[2]) if match[2] else timedelta(0)
    return timedelta(days=int(match[1])) + rest


def _nanoseconds(text: str) -> Decimal:
    if text in {"0", "+0", "-0"}:
        return Decimal(0)
    match = _DURATION.fullmatch(text) if len(text) <= 100 else None
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a duration; write 30s, 5m or 1h30m")
    parts = re.findall(_DURATION_PART, match.group(2))
    total = sum((Decimal(number) * _NANOSECONDS[unit] for number, unit in parts), Decimal(0))
    return -total if match.group(1) == "-" else total


def replicas(value: object) -> rollout_stages.Replicas:
    """Read ``2``, ``"2"`` or ``"10%"``.

    Above 100% is allowed, as in PipeCD: a canary may be larger than primary to be
    tested under load. Fractions are cut off, as in PipeCD; our own dialect
    refuses them before they get here.
    """
    if isinstance(value, rollout_stages.Replicas):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a number of pods or a percentage such as 10%")
    text = value.strip() if isinstance(value, str) else str(int(value))
    is_percentage = text.endswith("%")
    digits = text.removesuffix("%")
    if not _INTEGER.fullmatch(digits) or len(digits) > 20:
        raise ValueError(
            f"{text[:40]!r} is neither a number of pods nor a percentage: write 2 or 10%"
        )
    number = int(digits)
    if number < 0:
        raise ValueError("must not be negative")
    if is_percentage and number > MAXIMUM_REPLICAS_PERCENTAGE:
        raise ValueError(f"must not be above {MAXIMUM_REPLICAS_PERCENTAGE}%")
    if number > _MAXIMUM_REPLICAS:
        raise ValueError(f"must not be above {_MAXIMUM_REPLICAS}")
    return rollout_stages.Replicas(number, is_percentage)


def percentage(value: object) -> int:
    """Read ``10``, ``"10"`` or ``"10%"``, from 0 to 100, without decimals (PipeCD: percentage)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a percentage such as 10 or 10%")
    text = str(value).strip().removesuffix("%")
    if not _INTEGER.fullmatch(text) or len(text) > 20:
        raise ValueError(f"{str(value)[:40]!r} is not a whole percentage: write 10 or 10%")
    number = int(text)
    if not 0 <= number <= 100:
        raise ValueError(f"must be between 0 and 100, not {number}")
    return number


def relative_path(value: str) -> str:
    """Check a path inside the repository and return it without detours."""
    if "://" in value:
        raise ValueError("must be a file in the repository, not an address")
    if value.startswith(("/", "~")) or "\\" in value or re.match(r"[A-Za-z]:", value):
        raise ValueError("must be relative to the application's directory, with forward slashes")
    if "\x00" in value:
        raise ValueError("must not contain NUL")
    return posixpath.normpath(value) if value else value


def leaves(directory: str, path: str) -> bool:
    """Say whether `path`, seen from `directory` of the repository, is outside of the repository."""
    joined = posixpath.normpath(posixpath.join(directory or ".", path))
    return joined == ".." or joined.startswith(("../", "/"))


def annotation_prefix(value: str) -> str:
    """Check what is before the slash of an annotation's name (Kubernetes: a DNS subdomain)."""
    if len(value) > 253 or not _DNS_SUBDOMAIN.fullmatch(value):
        raise ValueError("must be a DNS name without a slash, such as nginx.ingress.kubernetes.io")
    return value


def dns_label(value: str) -> str:
    """Check a namespace or a name suffix: lower case letters, digits, dashes, at most 63."""
    if value and (len(value) > 63 or not _DNS_LABEL.fullmatch(value)):
        raise ValueError(
            "must be lower case letters, digits and dashes, start and end with a letter or digit,"
            " at most 63 characters"
        )
    return value


def label_value(value: str) -> str:
    """Check a Kubernetes label value."""
    if value and (len(value) > 63 or not _LABEL_VALUE.fullmatch(value)):
        raise ValueError(
            "must be letters, digits, dashes, dots and underscores, start and end with a letter or"
            " digit, at most 63 characters"
        )
    return value


def label_key(value: str) -> str:
    """Check a Kubernetes label key, ``name`` or ``prefix/name``."""
    prefix, slash, name = value.rpartition("/")
    good_prefix = len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix) is not None
    good_name = len(name) <= 63 and _LABEL_VALUE.fullmatch(name) is not None
    if value and not (good_name and (good_prefix or not slash)):
        raise ValueError("must be a label key such as example.com/variant")
    return value


def cluster_name(value: str) -> str:
    """Check a cluster's name: any text without spaces and commas (contexts have odd names)."""
    if len(value) > 253 or not _CLUSTER_NAME.fullmatch(value):
        raise ValueError("must be a name without spaces and commas, at most 253 characters")
    return value


def share(value: object) -> rollouts.Share:
    """Read a number of clusters, ``2``, or a share of them, ``25%``."""
    if isinstance(value, rollouts.Share):
        return value
    text = str(value).strip()
    if isinstance(value, bool | float) or not _SHARE.fullmatch(text):
        raise ValueError("must be a number of clusters such as 2, or a share such as 25%")
    found = rollouts.Share(int(text.removesuffix("%")), text.endswith("%"))
    if found.is_percentage and found.number > 100:
        raise ValueError("must not be above 100%")
    return found


def one_or_many(value: object) -> object:
    """Return a list, for one text a list of that."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError("must be a path or a list of paths")
    return value


def _number_or_text(title: str, pattern: str, **bounds: int) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0, **bounds}
    return {"anyOf": [number, {"type": "string", "pattern": pattern}], "title": title}


#: The schemas of what is read here.
ONE_OR_MANY: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}},
    ],
}
DAYS: dict[str, Any] = {
    "type": "string",
    "pattern": r"^([0-9]{1,4}d)?([0-9.]+(ns|us|µs|ms|s|m|h))*$",
    "title": "Duration",
}
DURATION: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": r"^\+?([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$"},
        {"type": "integer", "minimum": 0, "description": "nanoseconds"},
    ],
    "title": "Duration",
}
REPLICAS = _number_or_text("Replicas", "^[0-9]+%?$")
PERCENTAGE = _number_or_text("Percentage", "^[0-9]+%?$", maximum=100)
SHARE = _number_or_text("Share", "^[0-9]{1,3}%?$")
