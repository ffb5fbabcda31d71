"""What Volary's own records of an application are called in a cluster.

Its inventory is a ConfigMap, adopted objects as they were are a Secret (`clusters.inventory`).
Nothing that is deployed may be called so: it could say what belongs to an application, and so what
is deleted.
"""

INVENTORY = "volary-inventory-"
SNAPSHOT = "volary-snapshot-"

_BEGINNINGS = {"ConfigMap": INVENTORY, "Secret": SNAPSHOT}


def is_record(group: str, kind: str, name: str) -> bool:
    """Say whether an object of Volary's own is called so."""
    beginning = "" if group else _BEGINNINGS.get(kind, "")
    return bool(beginning) and name.startswith(beginning)
