"""Label selectors for requests: as narrow as one list or watch for many objects can be."""

from collections.abc import Iterable, Mapping

#: A longer selector would make the request's address too long for some proxies.
_MOST_VALUES = 40


def exact(labels: Mapping[str, str]) -> str:
    """Return the selector for objects that carry all of `labels`."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def parse_exact(selector: str) -> dict[str, str]:
    """Return the labels of a selector that `exact` made."""
    return dict(term.split("=", 1) for term in selector.split(",") if term)


def covering(label_sets: Iterable[Mapping[str, str]]) -> str:
    """Return the narrowest selector of common keys that finds every one of `label_sets`.

    ``app=a,variant=canary`` and ``app=b,variant=canary`` give ``app in (a,b),variant=canary``.
    Empty, which selects everything, when they have no key in common.
    """
    sets = list(label_sets)
    if not sets:
        return ""
    common = set(sets[0]).intersection(*sets[1:])
    terms = (_term(key, sorted({labels[key] for labels in sets})) for key in sorted(common))
    return ",".join(term for term in terms if term)


def matches(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether `labels` carry everything `selector` asks for; an empty one matches nothing."""
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _term(key: str, values: list[str]) -> str:
    if len(values) == 1:
        return f"{key}={values[0]}"
    return f"{key} in ({','.join(values)})" if len(values) <= _MOST_VALUES else ""
