"""Rules for paths of files inside volumes, in the words of kube-apiserver."""

from kube_sandbox.apimachinery.meta import causes

Causes = list[causes.Cause]


def without_backsteps(path: str, place: str) -> Causes:
    """Refuse a place with ``..`` in it."""
    if ".." in place.split("/"):
        return [causes.invalid(path, place, "must not contain '..'")]
    return []


def descending(path: str, place: str) -> Causes:
    """Refuse a place that is absolute or leads out of the volume."""
    faults: Causes = []
    if place.startswith("/"):
        faults.append(causes.invalid(path, place, "must be a relative path"))
    return faults + without_backsteps(path, place)


def local_file(path: str, place: str) -> Causes:
    """Refuse the place of a file that is absolute, leads out, or begins with two dots."""
    faults = descending(path, place)
    if place.startswith("..") and not place.startswith("../") and place != "..":
        faults.append(causes.invalid(path, place, "must not start with '..'"))
    return faults
