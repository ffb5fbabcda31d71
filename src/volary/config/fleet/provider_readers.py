"""Reads an entry of `analysisProviders` into the model, and says what is wrong with it."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib import parse

from pydantic import alias_generators

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.fleet import provider_configs
from volary.config.text import json_paths, yaml
from volary.model import metric_providers

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LONGEST_SHARE = timedelta(minutes=5)
_OWN_ADDRESSES = {
    metric_providers.ProviderType.DATADOG: "https://api.datadoghq.com",
    metric_providers.ProviderType.NEW_RELIC: "https://api.newrelic.com",
    metric_providers.ProviderType.STACKDRIVER: "https://monitoring.googleapis.com",
}
_INSIGHTS = "https://insights-api.newrelic.com"
#: Headers that hold secrets wherever they are used.
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key"})
#: Where secrets are when nothing is said of them.
_VARIABLES = {"access_key": "AWS_ACCESS_KEY_ID", "secret_key": "AWS_SECRET_ACCESS_KEY"}
_REGION = re.compile(r"[a-z0-9-]+")
#: Those whose token is sent in a way of their own.
_OWN_TOKENS = (
    metric_providers.ProviderType.INFLUXDB,
    metric_providers.ProviderType.DYNATRACE,
    metric_providers.ProviderType.SPLUNK,
)
_OWN_KEYS = (
    metric_providers.ProviderType.DATADOG,
    metric_providers.ProviderType.CLOUDWATCH,
    metric_providers.ProviderType.NEW_RELIC,
)
_NO_PASSWORDS = (metric_providers.ProviderType.STACKDRIVER, metric_providers.ProviderType.SPLUNK)
#: Names of indices: what leads elsewhere, or is another request, is none.
_INDEX = re.compile(r"[^\s/\\?#%_][^\s/\\?#%]*")
_PROJECT = re.compile(r"[a-z0-9.:-]+")


class Place:
    """A `config` in its file."""

    def __init__(self, reading: readings.Reading, directory: str, at: yaml.Path) -> None:
        self.reading, self.directory, self.at = reading, directory, at

    def error(self, path: yaml.Path, message: str, hint: str = "") -> None:
        """Note what is wrong at `path` of it."""
        self.reading.error((*self.at, *path), message, hint)

    def file(self, path: str) -> str:
        """Return where a file is that is written there."""
        return file_paths.resolve(path, self.directory) if path else ""

    def secret(
        self,
        config: provider_configs.Connection,
        name: str,
        *,
        default: str = "",
        required: bool = False,
    ) -> metric_providers.Secret:
        """Return where a secret is, by its name as in ``api_key``."""
        file: str = getattr(config, f"{name}_file")
        variable: str = getattr(config, f"{name}_env")
        written = alias_generators.to_camel(name)
        if file and variable:
            message = f"{written}File and {written}Env are both given"
            self.error((f"{written}Env",), message, "keep one")
        if not file and not variable:
            if required and not default:
                self.error((f"{written}File",), "is required", f"or write {written}Env")
            return metric_providers.Secret(variable=default)
        return metric_providers.Secret(self.file(file), "" if file else variable)


def convert(
    place: Place,
    name: str,
    kind: metric_providers.ProviderType,
    written: Mapping[str, object],
    clusters: Sequence[str] | None = None,
) -> metric_providers.Provider | None:
    """Return a provider; None when its `config` cannot be read, which is noted.

    Args:
        place: Where its `config` is.
        name: What metrics call it by.
        kind: What it speaks.
        written: Its `config`.
        clusters: Names of the fleet's; None: they are not known here.
    """
    config = place.reading.read(provider_configs.CONFIGS[kind], written, place.at)
    if config is None:
        return None
    options = _options(place, config)
    access = _access(place, kind, config)
    known = config.addresses if clusters is None else clusters
    for cluster in config.addresses:
        if cluster not in known:
            hint = readings.did_you_mean(cluster, known)
            place.error(("addresses", cluster), f"the fleet has no cluster {cluster}", hint)
    if not timedelta(0) <= config.share <= _LONGEST_SHARE:
        place.error(("share",), "must be at most 5m")
    return metric_providers.Provider(
        name=name,
        type=kind,
        access=access,
        options=options,
        points=config.points,
        concurrency=config.max_concurrency,
        share=config.share,
    )


def _access(
    place: Place, kind: metric_providers.ProviderType, config: provider_configs.Connection
) -> metric_providers.Access:
    address = config.address or _own_address(kind, config)
    if isinstance(config, provider_configs.SplunkConfig):
        _check_realm(place, config)
    if not address:
        place.error(("address",), "is required", "write http://prometheus.monitoring:9090")
    written: dict[yaml.Path, str] = {("address",): config.address}
    written |= {
        ("addresses", name): cluster_address for name, cluster_address in config.addresses.items()
    }
    for path, text in written.items():
        if wrong := _wrong_address(text):
            place.error(path, wrong)
    token = place.secret(config, "token")
    username, password = place.secret(config, "username"), place.secret(config, "password")
    _check_credentials(place, kind, config, (token, username, password))
    return metric_providers.Access(
        address=address.rstrip("/"),
        addresses={
            name: cluster_address.rstrip("/") for name, cluster_address in config.addresses.items()
        },
        username=username,
        literal_username=config.username,
        password=password,
        token=metric_providers.Secret() if kind in _OWN_TOKENS else token,
        headers=_headers(place, config),
        secret_headers=_secret_headers(place, config),
        tls=_tls(place, config.tls),
    )


def _own_address(kind: metric_providers.ProviderType, config: provider_configs.Connection) -> str:
    if isinstance(config, provider_configs.CloudWatchConfig):
        ending = ".cn" if config.region.startswith("cn-") else ""
        return f"https://monitoring.{config.region}.amazonaws.com{ending}"
    if isinstance(config, provider_configs.NewRelicConfig) and config.api == "insights":
        return _INSIGHTS
    if isinstance(config, provider_configs.SplunkConfig) and config.realm:
        return f"https://stream.{config.realm}.signalfx.com"
    return _OWN_ADDRESSES.get(kind, "")


def _check_realm(place: Place, config: provider_configs.SplunkConfig) -> None:
    if config.realm and config.address:
        place.error(("realm",), "address and realm are both given", "keep one")
    if config.realm and not _REGION.fullmatch(config.realm):
        place.error(("realm",), "is not the name of a realm", "write us1")


def _wrong_address(text: str) -> str:
    """Return what is wrong with an address; it is not repeated, for it may hold a password."""
    if not text:
        return ""
    try:
        url = parse.urlsplit(text.replace(metric_providers.CLUSTER, "cluster"))
        port = url.port
    except ValueError:
        return "is not an address"
    if url.scheme not in ("http", "https") or not url.hostname or port == 0:
        return "must be an address with https:// or http://"
    if "@" in url.netloc:
        return "must not have a user or password in it; write username and passwordFile"
    if url.query or url.fragment or any(character.isspace() for character in text):
        return "must end with its path"
    return ""


def _check_credentials(
    place: Place,
    kind: metric_providers.ProviderType,
    config: provider_configs.Connection,
    secrets: tuple[metric_providers.Secret, metric_providers.Secret, metric_providers.Secret],
) -> None:
    token, username, password = secrets
    if config.username and username:
        place.error(("username",), "is given twice", "keep username, usernameFile or usernameEnv")
    if bool(config.username or username) != bool(password):
        place.error(("passwordFile",), "a user name and a password go together")
    if token and password:
        place.error(("tokenFile",), "a token and a password are both given", "keep one")
    if kind in _OWN_KEYS and (token or password):
        name = "tokenFile" if token else "passwordFile"
        place.error((name,), f"{kind.value} is asked with keys, and nothing else")
    if kind in _NO_PASSWORDS and password:
        place.error(("passwordFile",), f"{kind.value} is not asked with a password")
    key = _alternative_key(config)
    if key and (token or password):
        place.error((key,), "another proof is given too", "keep one")


def _alternative_key(config: provider_configs.Connection) -> str:
    """Return the field with a key that is given in place of a token; empty: none is."""
    names: tuple[str, ...] = ()
    if isinstance(config, provider_configs.ElasticsearchConfig):
        names = ("api_key_file", "api_key_env")
    elif isinstance(config, provider_configs.StackdriverConfig):
        names = ("service_account_key_file", "service_account_key_env")
    return next((alias_generators.to_camel(name) for name in names if getattr(config, name)), "")


def _headers(place: Place, config: provider_configs.Connection) -> Mapping[str, str]:
    headers = dict(config.headers)
    for name, value in config.headers.items():
        path = ("headers", name)
        if name.lower() in _SECRET_HEADERS:
            place.error(path, "holds a secret", "write headerFiles or headerEnv, or tokenFile")
        elif not _HEADER.fullmatch(name) or any(ord(character) < ord(" ") for character in value):
            place.error(path, "is not a header")
    if isinstance(config, provider_configs.TenantConnection) and config.tenant:
        if not _HEADER.fullmatch(config.tenant_header):
            place.error(("tenantHeader",), "is not the name of a header")
        if any(ord(character) < ord(" ") for character in config.tenant):
            place.error(("tenant",), "is not the name of a tenant")
        headers[config.tenant_header] = config.tenant
    return headers


def _secret_headers(
    place: Place, config: provider_configs.Connection
) -> Mapping[str, metric_providers.Secret]:
    headers: dict[str, metric_providers.Secret] = {}
    for field, given in (("headerFiles", config.header_files), ("headerEnv", config.header_env)):
        for name, where in given.items():
            path = (field, name)
            if not _HEADER.fullmatch(name):
                place.error(path, "is not the name of a header")
            elif not where:
                place.error(path, "must not be empty")
            elif name in headers or name in config.headers:
                place.error(path, f"the header {name} is given twice", "keep one")
            is_file = field == "headerFiles"
            headers[name] = metric_providers.Secret(
                place.file(where) if is_file else "", "" if is_file else where
            )
    return headers


def _tls(place: Place, read: metric_providers.ProviderTls) -> metric_providers.ProviderTls:
    if bool(read.cert_file) != bool(read.key_file):
        place.error(("tls", "certFile"), "certFile and keyFile go together")
    if read.insecure_skip_verify and read.ca_file:
        message = "no certificate is checked, so caFile has no effect"
        place.error(("tls", "insecureSkipVerify"), message, "keep caFile")
    return file_paths.resolved(read, place.directory)


def _options(place: Place, config: provider_configs.Connection) -> metric_providers.Options:
    """Return what only a provider of this type has."""
    given: dict[str, Any] = {
        field.name: place.secret(
            config,
            field.name,
            default=_VARIABLES.get(field.name, ""),
            required=field.default is dataclasses.MISSING,
        )
        for field in dataclasses.fields(config.definition)
        if field.type is metric_providers.Secret
    }
    if isinstance(config, provider_configs.NewRelicConfig):
        given["insights"] = config.api == "insights"
    options: metric_providers.Options = base_sections.value_of(config.definition, config, **given)
    _check_options(place, options)
    return options


def _check_options(place: Place, options: metric_providers.Options) -> None:
    match options:
        case metric_providers.PrometheusOptions():
            _check_prometheus(place, options)
        case metric_providers.CloudWatchOptions() if not _REGION.fullmatch(options.region):
            place.error(("region",), "is not the name of a region", "write eu-central-1")
        case metric_providers.ElasticsearchOptions():
            if not all(map(_INDEX.fullmatch, options.index.split(","))):
                message = "is not the name of an index, data stream or alias"
                place.error(("index",), message, "write logs-shop-*")
        case metric_providers.StackdriverOptions():
            if not _PROJECT.fullmatch(options.project):
                place.error(("project",), "is not the id of a project", "write shop-123456")
            if wrong := _wrong_address(options.metadata_address):
                place.error(("metadataAddress",), wrong)
        case metric_providers.HttpOptions():
            try:
                json_paths.parse(options.json_path)
            except ValueError as error:
                place.error(("jsonPath",), str(error), "write $.data.value")


def _check_prometheus(place: Place, options: metric_providers.PrometheusOptions) -> None:
    for name, label in (
        ("clusterLabel", options.cluster_label),
        ("namespaceLabel", options.namespace_label),
        ("podLabel", options.pod_label),
    ):
        if label and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", label):
            place.error((name,), "is not the name of a label")
    if options.scrape_interval <= timedelta(0):
        place.error(("scrapeInterval",), "must be more than 0")
