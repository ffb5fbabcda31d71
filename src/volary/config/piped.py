"""Reads PipeCD's piped file for its deploy targets; everything else in it is not ours."""

import posixpath
from collections.abc import Mapping

from volary.config import shape, values, yaml
from volary.model import fleet

#: Of two plugins with the same target the first one counts.
_PLUGINS = ("kubernetes_multicluster", "kubernetes")


def convert(reading: shape.Reading, directory: str) -> fleet.Fleet:
    """Return the deploy targets of the Kubernetes plugins as clusters; problems are noted.

    An empty ``kubeConfigPath`` is kubectl's own default, as in PipeCD.
    """
    plugins = _items(reading, ("spec", "plugins"))
    found: dict[str, fleet.Cluster] = {}
    for wanted in _PLUGINS:
        for path, plugin in plugins:
            if plugin.get("name") == wanted:
                for cluster in _targets(reading, path, directory):
                    found.setdefault(cluster.name, cluster)
    if not found and not reading.has_errors:
        hint = f"list deployTargets of the plugin {_PLUGINS[0]}"
        reading.error(("spec", "plugins"), "no deploy target of a Kubernetes plugin", hint)
    return fleet.Fleet(tuple(found.values()))


def resolve(path: str, directory: str) -> str:
    """Return a kubeconfig path seen from the file's directory; ``~`` and absolute ones as is."""
    if not directory or path.startswith("~"):
        return path
    return posixpath.normpath(posixpath.join(directory, path))


def _targets(reading: shape.Reading, plugin: yaml.Path, directory: str) -> list[fleet.Cluster]:
    clusters: list[fleet.Cluster] = []
    for path, entry in _items(reading, (*plugin, "deployTargets")):
        name = _text(reading, entry, (*path, "name"))
        labels = entry.get("labels") or {}
        config = entry.get("config") or {}
        if not isinstance(labels, Mapping) or not isinstance(config, Mapping):
            reading.error(path, "labels and config must be objects")
            continue
        if not name:
            reading.error((*path, "name"), "is required")
            continue
        if any(each.name == name for each in clusters):
            reading.error((*path, "name"), f"the deploy target {name} is listed twice")
        _check_name(reading, name, (*path, "name"))
        kubeconfig = _text(reading, config, (*path, "config", "kubeConfigPath"))
        clusters.append(
            fleet.Cluster(
                name=name,
                labels={str(key): str(value) for key, value in labels.items()},
                kubeconfig=(resolve(kubeconfig, directory),) if kubeconfig else (),
            )
        )
    return clusters


def _items(reading: shape.Reading, path: yaml.Path) -> list[tuple[yaml.Path, Mapping[str, object]]]:
    value = reading.written(path)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        reading.error(path, "must be a list of objects")
        return []
    return [((*path, i), each) for i, each in enumerate(value)]


def _text(reading: shape.Reading, entry: Mapping[str, object], path: yaml.Path) -> str:
    value = entry.get(str(path[-1]))
    if value is None or isinstance(value, str):
        return value or ""
    reading.error(path, "must be text", "put it in quotes")
    return ""


def _check_name(reading: shape.Reading, name: str, path: yaml.Path) -> None:
    try:
        values.cluster_name(name)
    except ValueError as error:
        reading.error(path, str(error))
