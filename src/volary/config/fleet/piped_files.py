"""Reads PipeCD's piped file for its deploy targets and analysis providers.

Everything else in it is not ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.fleet import provider_sections
from volary.config.text import yaml
from volary.model import applications, metric_providers, options
from volary.model.fleet import fleets

#: The clusters of the first come first.
_PLUGINS = ("kubernetes_multicluster", "kubernetes")
_ANALYSIS = "analysis"
#: Fields of the providers of both that mean the same here (PipeCD: 8.1).
_FIELDS = {
    "PROMETHEUS": ("address", "usernameFile", "passwordFile"),
    "DATADOG": ("address", "apiKeyFile", "applicationKeyFile"),
}
_AS_PLUGIN = options.Refusal(
    "clusters of PipeCD v0", f"list them as deployTargets of the plugin {_PLUGINS[0]}"
)


class _TargetConfig(base_sections.Section):
    """How a deploy target is reached."""

    later: ClassVar[Mapping[str, str]] = {
        "masterURL": "another address of the API server, which kubectl is not told either",
        "kubectlVersion": "choosing a kubectl version",
        "appStateInformer": "which objects are shown",
    }

    kube_config_path: str = options.option("Empty: kubectl's own default.", "")


class _Target(base_sections.Section):
    """A deploy target."""

    name: options.ClusterName = options.option("Its name.", "", required=True)
    labels: dict[str, str] = options.option("Its labels.", {})
    config: _TargetConfig = Field(default_factory=_TargetConfig)


class _KubernetesConfig(base_sections.Section):
    """Options of a Kubernetes plugin."""

    later: ClassVar[Mapping[str, str]] = {
        "chartRepositories": "charts from a chart repository, refused in application files",
        "chartRegistries": "charts from a registry, refused in application files",
    }


class _Plugin(base_sections.Section):
    """A plugin of piped's."""

    name: str = options.option("Its name.", "")
    url: str = options.option("Where PipeCD gets it.", "")
    port: int | str = options.option("Where it listens.", 0)
    config: dict[str, object] = options.option("Its options.", {})
    deploy_targets: list[dict[str, object]] = options.option("Its deploy targets.", [])


class _PipedSpec(base_sections.Section):
    """``spec``, without what is piped's own business."""

    refused: ClassVar[Mapping[str, options.Refusal]] = {
        "platformProviders": _AS_PLUGIN,
        "cloudProviders": _AS_PLUGIN,
    }

    plugins: list[_Plugin] = options.option("Plugins.", [])
    analysis_providers: list[dict[str, object]] = options.option("Their place in PipeCD v0.", [])


class _PipedFile(base_sections.Section):
    """A file of piped's."""

    api_version: Literal["pipecd.dev/v1beta1"] = Field()
    kind: Literal["Piped"] = Field()
    spec: _PipedSpec = Field(default_factory=_PipedSpec)


def convert(reading: readings.Reading, directory: str) -> fleets.Fleet | None:
    """Return the deploy targets of the Kubernetes plugins as clusters; problems are noted.

    An empty ``kubeConfigPath`` is kubectl's own default, as in PipeCD.
    """
    reading.dialect = applications.Dialect.PIPECD
    read = reading.read(_PipedFile, _without_own_settings(reading), ())
    if read is None:
        return None
    plugins = [(("spec", "plugins", i), plugin) for i, plugin in enumerate(read.spec.plugins)]
    clusters: dict[str, fleets.Cluster] = {}
    for wanted in _PLUGINS:
        for path, plugin in plugins:
            if plugin.name == wanted:
                _add_targets(reading, clusters, plugin, path, directory)
    for path, plugin in plugins:
        if plugin.name not in _PLUGINS and plugin.deploy_targets:
            known = " and ".join(_PLUGINS)
            message = f"the deploy targets of the plugin {plugin.name[:80]} are left out"
            reading.warn((*path, "deployTargets"), message, f"those of {known} are read")
    if not clusters and not reading.has_errors:
        hint = f"list deployTargets of the plugin {_PLUGINS[0]}"
        reading.error(("spec", "plugins"), "no deploy target of a Kubernetes plugin", hint)
    return fleets.Fleet(tuple(clusters.values()), _providers(reading, read.spec, directory))


def _without_own_settings(reading: readings.Reading) -> Mapping[str, object]:
    """Return the file without what only piped does, which is named in one warning."""
    value: Mapping[str, object] = reading.document.value
    spec = value.get("spec")
    if not isinstance(spec, Mapping):
        return value
    known = {*readings.aliases(_PipedSpec), *_PipedSpec.refused}
    lower = {name.lower() for name in known}
    own = [str(key) for key in spec if str(key).lower() not in lower]
    if own:
        reading.warn(
            ("spec",),
            f"settings of piped itself are left out: {', '.join(own)[:400]}",
            "a server has settings of its own for repositories and notifications",
        )
    return {**value, "spec": {key: spec[key] for key in spec if key not in own}}


def _add_targets(
    reading: readings.Reading,
    clusters: dict[str, fleets.Cluster],
    plugin: _Plugin,
    path: yaml.Path,
    directory: str,
) -> None:
    """Add a plugin's deploy targets; one that two plugins have is a cluster of both."""
    reading.read(_KubernetesConfig, plugin.config, (*path, "config"))
    for i, entry in enumerate(plugin.deploy_targets):
        at = (*path, "deployTargets", i)
        read = reading.read(_Target, entry, at)
        if read is None:
            continue
        kubeconfig = read.config.kube_config_path
        made = fleets.Cluster(
            name=read.name,
            labels=read.labels,
            kubeconfig=(file_paths.resolve(kubeconfig, directory),) if kubeconfig else (),
            plugins=(plugin.name,),
        )
        there = clusters.setdefault(made.name, made)
        if there is made:
            continue
        if plugin.name in there.plugins:
            reading.error((*at, "name"), f"the deploy target {made.name} is listed twice")
        elif there.kubeconfig != made.kubeconfig:
            message = f"the deploy target {made.name} is another cluster in {there.plugins[0]}"
            reading.error((*at, "name"), message, "give one of them another name")
        clusters[made.name] = replace(there, plugins=(*there.plugins, plugin.name))


def _providers(
    reading: readings.Reading, read: _PipedSpec, directory: str
) -> tuple[metric_providers.Provider, ...]:
    """Return the analysis providers; those that cannot be asked are left out with a warning."""
    places: list[yaml.Path] = [
        ("spec", "plugins", i, "config", "analysisProviders")
        for i, plugin in enumerate(read.plugins)
        if plugin.name == _ANALYSIS
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
    return provider_sections.convert_one(reading, read, directory, path) if read else None


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
