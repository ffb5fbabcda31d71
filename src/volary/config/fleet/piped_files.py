"""Reads PipeCD's piped file for its deploy targets and analysis providers.

Everything else in it is not ours.
"""

import functools
from collections.abc import Mapping

from volary.config.decoding import file_paths, readings, values
from volary.config.fleet import provider_readers, provider_sections
from volary.config.text import yaml
from volary.model import metric_providers
from volary.model.fleet import fleets

#: Of two plugins with the same target the first one counts.
_PLUGINS = ("kubernetes_multicluster", "kubernetes")
_ANALYSIS = "analysis"
#: Fields of the providers of both that mean the same here (PipeCD: 8.1).
_FIELDS = {
    "PROMETHEUS": ("address", "usernameFile", "passwordFile"),
    "DATADOG": ("address", "apiKeyFile", "applicationKeyFile"),
}


def convert(reading: readings.Reading, directory: str) -> fleets.Fleet:
    """Return the deploy targets of the Kubernetes plugins as clusters; problems are noted.

    An empty ``kubeConfigPath`` is kubectl's own default, as in PipeCD.
    """
    plugins = _items(reading, ("spec", "plugins"))
    clusters: dict[str, fleets.Cluster] = {}
    for wanted in _PLUGINS:
        for path, plugin in plugins:
            if plugin.get("name") == wanted:
                for cluster in _targets(reading, path, directory):
                    clusters.setdefault(cluster.name, cluster)
    if not clusters and not reading.has_errors:
        hint = f"list deployTargets of the plugin {_PLUGINS[0]}"
        reading.error(("spec", "plugins"), "no deploy target of a Kubernetes plugin", hint)
    return fleets.Fleet(tuple(clusters.values()), _providers(reading, plugins, directory))


def _providers(
    reading: readings.Reading,
    plugins: list[tuple[yaml.Path, Mapping[str, object]]],
    directory: str,
) -> tuple[metric_providers.Provider, ...]:
    """Return the analysis providers; those that cannot be asked are left out with a warning."""
    places = [
        (*path, "config", "analysisProviders")
        for path, plugin in plugins
        if plugin.get("name") == _ANALYSIS
    ]
    providers: dict[str, metric_providers.Provider] = {}
    for place in (*places, ("spec", "analysisProviders")):
        for path, entry in _items(reading, place):
            made = _provider(reading, entry, path, directory)
            if made is not None:
                providers.setdefault(made.name, made)
    return tuple(providers.values())


def _provider(
    reading: readings.Reading, entry: Mapping[str, object], path: yaml.Path, directory: str
) -> metric_providers.Provider | None:
    name = _text(reading, entry, (*path, "name"))
    kind = _text(reading, entry, (*path, "type"))
    config = entry.get("config") or {}
    if not name or kind not in _FIELDS or not isinstance(config, Mapping):
        known = " and ".join(_FIELDS)
        reading.warn(path, f"the provider {name[:80]} is left out: {known} are asked")
        return None
    data = sorted(key for key in config if str(key).endswith("Data"))
    if data:
        hint = f"write {data[0].removesuffix('Data')}File, with the path of a file"
        message = f"the provider {name} is left out: secrets are read from files only"
        reading.warn((*path, "config", data[0]), message, hint)
        return None
    known_fields = {key: config[key] for key in _FIELDS[kind] if key in config}
    read = reading.read(
        provider_sections.ProviderEntry,
        # PipeCD asks for all points of the interval.
        {"name": name, "type": kind, "config": {**known_fields, "points": "all"}},
        path,
    )
    return provider_readers.convert_one(reading, read, directory, path) if read else None


def _targets(reading: readings.Reading, plugin: yaml.Path, directory: str) -> list[fleets.Cluster]:
    clusters: list[fleets.Cluster] = []
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
        if any(cluster.name == name for cluster in clusters):
            reading.error((*path, "name"), f"the deploy target {name} is listed twice")
        reading.accepts((*path, "name"), functools.partial(values.cluster_name, name))
        kubeconfig = _text(reading, config, (*path, "config", "kubeConfigPath"))
        clusters.append(
            fleets.Cluster(
                name=name,
                labels={str(key): str(value) for key, value in labels.items()},
                kubeconfig=(file_paths.resolve(kubeconfig, directory),) if kubeconfig else (),
            )
        )
    return clusters


def _items(
    reading: readings.Reading, path: yaml.Path
) -> list[tuple[yaml.Path, Mapping[str, object]]]:
    value = reading.written(path)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(element, Mapping) for element in value):
        reading.error(path, "must be a list of objects")
        return []
    return [((*path, i), element) for i, element in enumerate(value)]


def _text(reading: readings.Reading, entry: Mapping[str, object], path: yaml.Path) -> str:
    value = entry.get(str(path[-1]))
    if value is None or isinstance(value, str):
        return value or ""
    reading.error(path, "must be text", "put it in quotes")
    return ""
