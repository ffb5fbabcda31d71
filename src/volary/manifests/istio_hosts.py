"""Do two destination hosts of a mesh mean the same Service?

Short names are completed with the namespace of the object they stand in. PipeCD
compares texts, so that a full name in Git never matches the configured short one.
"""

_CLUSTER_DOMAIN = "cluster.local"


def same(one: str, other: str, namespace: str) -> bool:
    """Say whether both hosts name one Service, seen from `namespace`.

    An empty namespace was left to the cluster's context: then a short name fits any
    full name that starts with it.
    """
    if one == other:
        return True
    first, second = _split(one), _split(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    places = {first[1] or namespace, second[1] or namespace}
    return len(places - {""}) <= 1


def _split(host: str) -> tuple[str, str] | None:
    """Return name and namespace of a Service's host; None for any other host."""
    parts = host.lower().removesuffix(".").removesuffix(f".{_CLUSTER_DOMAIN}").split(".")
    match parts:
        case [name]:
            return name, ""
        case [name, namespace] | [name, namespace, "svc"]:
            return name, namespace
        case _:
            return None
