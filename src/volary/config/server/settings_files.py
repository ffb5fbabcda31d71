"""The settings file of ``volary server``: its fields, and what is wrong with them."""

import ipaddress
import re
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.fleet import provider_sections
from volary.config.placement import wave_rules
from volary.config.server import browser_logins, engine_checks, notification_routes
from volary.config.text import git_addresses, yaml
from volary.model import addresses, identities, options, server_settings
from volary.model.fleet import cluster_health
from volary.model.placement import failover_rules

#: The field is called like its module.
HealthRules = cluster_health.HealthRules


class ControllerFile(base_sections.Section, of=server_settings.Settings):
    """The settings of `volary server`."""

    api_version: Literal["volary.dev/v1"] = Field(description="Version of the format.")
    kind: Literal["Controller"] = Field(description="What the file describes.")
    fleet: base_sections.Text
    store: str = options.option(
        "`sqlite:FILE` or `postgresql://…`; empty: SQLite in the data directory.", ""
    )
    data_directory: base_sections.Text
    listen: base_sections.Text = options.option("Address and port of the server.", "127.0.0.1:8080")
    url: str
    advertise: str
    repositories: list[server_settings.Repository]
    applications: list[server_settings.ListedApplication]
    projects: server_settings.ProjectFiles
    supersede: server_settings.Supersede
    scripts: Literal["allow", "deny"] = options.option(
        "Whether scripts of applications (`SCRIPT_RUN`) are run, with this process' user and "
        "network. Who may push to a watched repository then runs programs here.",
        "deny",
    )
    local_webhooks: Literal["allow", "deny"] = options.option(
        "Whether webhooks and external probes (`witness`) of applications may reach this machine "
        "itself (loopback).",
        "deny",
    )
    renderer_isolation: Literal["required", "preferred"] = options.option(
        "Whether kustomize and helm run only where they can be kept from the network, or also"
        " where this machine cannot do so. Who may push to a watched repository decides what they"
        " read.",
        "required",
    )
    failover: failover_rules.FailoverLimits
    cluster_health: HealthRules
    engine: server_settings.Engine
    agents: server_settings.Agents
    limits: server_settings.Limits
    authentication: server_settings.Authentication
    auth: server_settings.Auth
    roles: list[server_settings.RoleBinding]
    notifications: server_settings.Notifications
    secrets: server_settings.Secrets
    tracing: server_settings.Tracing | None
    analysis_providers: list[provider_sections.ProviderEntry] = options.option(
        "Systems that are asked for measurements, beside those of the fleet file; of two with one "
        "name this one counts.",
        [],
    )


_CLUSTER_HEALTH: yaml.Path = ("clusterHealth",)
_SHORTEST_INTERVAL = timedelta(seconds=1)
_FAILOVER: yaml.Path = ("failover",)
_STORES = ("sqlite:", "postgresql://", "postgres://")


def parse(
    text: str, *, file: str, directory: str = ""
) -> readings.Loaded[server_settings.Settings]:
    """Read a settings file.

    Args:
        text: The file's text.
        file: Its name as the user knows it, for problems.
        directory: Where it is; relative paths start there.
    """
    form = "a settings file has one document, an object with kind: Controller"
    return readings.load(text, file, form, lambda reading: _convert(reading, directory))


def _convert(reading: readings.Reading, directory: str) -> server_settings.Settings | None:
    read = reading.read(ControllerFile, reading.document.value, ())
    if read is None:
        return None
    data = file_paths.resolve(read.data_directory, directory)
    host, port = _listen(reading, read.listen)
    repositories = tuple(
        _repository(
            reading, file_paths.resolved(repository, directory), directory, ("repositories", i)
        )
        for i, repository in enumerate(read.repositories)
    )
    if not repositories:
        reading.error(("repositories",), "no repository is watched")
    _check_repositories(reading, repositories)
    _check_limits(reading, read.limits)
    engine_checks.check(reading, read.engine)
    _check_advertised(reading, read.advertise)
    _check_auth(reading, read.auth.oidc)
    browser_logins.check(reading, read.url, read.auth)
    if read.authentication is server_settings.Authentication.NONE:
        _check_open(reading, host, read.auth.oidc)
    for i, role in enumerate(read.roles):
        _check_role(reading, role, ("roles", i))
    _check_cluster_health(reading, read.cluster_health)
    notification_routes.check(reading, read.notifications)
    check_secrets(reading, read.secrets, ("secrets",))
    _check_tracing(reading, read.tracing)
    projects = _projects(reading, file_paths.resolved(read.projects, directory), repositories)
    written = base_sections.value_of(
        server_settings.Settings,
        read,
        fleet=file_paths.resolve(read.fleet, directory),
        data_directory=data,
        store=_store(reading, read.store, directory) or f"sqlite:{data}/volary.db",
        host=host,
        port=port,
        repositories=repositories,
        applications=_applications(reading, read),
        projects=projects,
        scripts=read.scripts == "allow",
        local_webhooks=read.local_webhooks == "allow",
        isolates_renderers=read.renderer_isolation == "required",
        failover=_complete_limits(reading, read.failover),
        providers=provider_sections.convert(reading, read.analysis_providers, directory),
    )
    return replace(
        written,
        tls=file_paths.resolved(written.tls, directory),
        auth=file_paths.resolved(written.auth, directory),
        engine=file_paths.resolved(written.engine, directory),
        agents=file_paths.resolved(written.agents, directory),
        notifications=file_paths.resolved(written.notifications, directory),
        secrets=file_paths.resolved(written.secrets, directory),
        tracing=file_paths.resolved(written.tracing, directory),
    )


def _listen(reading: readings.Reading, text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdigit() and int(port) < 65536 if len(port) < 6 else False
    if not colon or not is_port or not host:
        hint = "write 127.0.0.1:8080, or 0.0.0.0:8080 for every address"
        reading.error(("listen",), "must be an address and a port", hint)
        return "127.0.0.1", 8080
    if ":" in host and not _is_address(host):
        reading.error(("listen",), "is not an address", "write [::1]:8080")
    return host, int(port)


def _check_advertised(reading: readings.Reading, address: str) -> None:
    if address and (problem := browser_logins.problem_of(address)):
        hint = "write https://10.0.0.7:8443, without a path"
        reading.error(("advertise",), problem, hint)


def _check_tracing(reading: readings.Reading, tracing: server_settings.Tracing | None) -> None:
    if tracing is None:
        return
    try:
        address = urlsplit(tracing.endpoint)
        host, _ = address.hostname or "", address.port
    except ValueError:
        address, host = urlsplit(""), ""
    at = ("tracing", "endpoint")
    if address.scheme not in ("http", "https") or not host or address.query:
        reading.error(at, "is not an address of http or https", "write http://127.0.0.1:4318")
    elif address.username or address.password:
        reading.error(at, "has a password in it", "write it into a file, and name that: tokenFile")
    elif tracing.token_file and address.scheme == "http" and not addresses.is_loopback(host):
        reading.error(at, "would get the token in the clear", "use https")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _store(reading: readings.Reading, text: str, directory: str) -> str:
    """Check the address; messages do not repeat it, for it may hold a password."""
    if not text:
        return ""
    if not text.startswith(_STORES):
        hint = "write sqlite:FILE or postgresql://USER@HOST/NAME"
        reading.error(("store",), "is not the address of a database", hint)
        return text
    if text.startswith("sqlite:"):
        # Also in the longer form, sqlite:///FILE or sqlite:////ABSOLUTE.
        path = text.removeprefix("sqlite:").removeprefix("///")
        return f"sqlite:{file_paths.resolve(path, directory)}"
    return text


def _repository(
    reading: readings.Reading, read: server_settings.Repository, directory: str, at: yaml.Path
) -> server_settings.Repository:
    url, kind = read.url, None
    try:
        kind = git_addresses.transport(url)
        url = git_addresses.resolve(url, directory)
    except ValueError as error:
        reading.error((*at, "url"), str(error))
    if not all(char.isascii() and (char.isalnum() or char in "-_.") for char in read.name):
        message = "must be letters, digits, dashes, dots and underscores"
        reading.error((*at, "name"), message)
    reading.accepts((*at, "branch"), lambda: git_addresses.branch(read.branch))
    if read.interval < _SHORTEST_INTERVAL:
        reading.error((*at, "interval"), "must be at least one second", "write 1m")
    for i, path in enumerate(read.paths):
        if path == ".." or path.startswith("../"):
            reading.error((*at, "paths", i), f"{path} leaves the repository")
    if read.credentials is not None and not _is_complete(read.credentials):
        hint = "write tokenFile; username and passwordFile; or sshKeyFile and knownHostsFile"
        reading.error((*at, "credentials"), "is not one complete form of credentials", hint)
    elif kind is not None:
        _check_credentials(reading, kind, read.credentials, at)
    paths = tuple("" if path == "." else path for path in read.paths)
    return replace(read, url=url, paths=paths)


_FORMS = (
    {"token_file"},
    {"username", "password_file"},
    {"ssh_key_file", "known_hosts_file"},
)


def _is_complete(given: server_settings.Credentials) -> bool:
    return {name for name, value in asdict(given).items() if value} in _FORMS


def _check_credentials(
    reading: readings.Reading,
    kind: git_addresses.Transport,
    given: server_settings.Credentials | None,
    at: yaml.Path,
) -> None:
    has_key = given is not None and bool(given.ssh_key_file)
    if kind is git_addresses.Transport.SSH and not has_key:
        hint = "write sshKeyFile and knownHostsFile under credentials"
        reading.error((*at, "url"), "ssh needs a key and the host keys to believe", hint)
    elif kind is git_addresses.Transport.HTTPS and has_key:
        hint = "write tokenFile, or username and passwordFile"
        reading.error((*at, "credentials"), "a key is for ssh, and the address is https", hint)
    elif kind is git_addresses.Transport.FILE and given is not None:
        reading.error((*at, "credentials"), "a repository of this machine takes no credentials")


def _check_repositories(
    reading: readings.Reading, repositories: tuple[server_settings.Repository, ...]
) -> None:
    by_name: set[str] = set()
    by_url: dict[str, server_settings.Repository] = {}
    for i, repository in enumerate(repositories):
        if repository.name in by_name:
            message = f"the repository {repository.name} is listed twice"
            reading.error(("repositories", i, "name"), message)
        by_name.add(repository.name)
        first = by_url.setdefault(repository.url, repository)
        if first.credentials != repository.credentials:
            message = f"has other credentials than {first.name}, which has the same url"
            hint = "one mirror serves both; give them the same credentials"
            reading.error(("repositories", i, "credentials"), message, hint)


def _applications(
    reading: readings.Reading, read: ControllerFile
) -> tuple[server_settings.ListedApplication, ...]:
    names = [repository.name for repository in read.repositories]
    listed_applications: dict[tuple[str, str], server_settings.ListedApplication] = {}
    for i, entry in enumerate(read.applications):
        at: yaml.Path = ("applications", i)
        if entry.repository not in names:
            hint = readings.did_you_mean(entry.repository, names)
            reading.error((*at, "repository"), f"no repository {entry.repository} is listed", hint)
        path = "" if entry.path == "." else entry.path
        if path == ".." or path.startswith("../"):
            reading.error((*at, "path"), f"{path} leaves the repository")
        if (entry.repository, path) in listed_applications:
            reading.error((*at, "path"), f"{path or '.'} is listed twice")
        if entry.targets is not None:
            wave_rules.check_targets(reading, entry.targets, (*at, "targets"))
        listed_applications[entry.repository, path] = replace(entry, path=path)
    return tuple(listed_applications.values())


def _projects(
    reading: readings.Reading,
    read: server_settings.ProjectFiles,
    repositories: tuple[server_settings.Repository, ...],
) -> server_settings.ProjectFiles:
    """Return where projects are written; problems are noted."""
    for i, file in enumerate(read.files):
        at: yaml.Path = ("projects", "files", i)
        if not file:
            reading.error(at, "must not be empty")
        elif file in read.files[:i]:
            reading.error(at, f"{file} is listed twice")
    path = "" if read.path == "." else read.path
    if path == ".." or path.startswith("../"):
        reading.error(("projects", "path"), f"{path} leaves the repository")
    names = [repository.name for repository in repositories]
    if read.repository and read.repository not in names:
        hint = readings.did_you_mean(read.repository, names)
        message = f"no repository {read.repository} is listed"
        reading.error(("projects", "repository"), message, hint)
    if path and not read.repository:
        hint = "name the repository, or list files"
        reading.error(("projects", "path"), "path belongs to repository", hint)
    if reading.written(("projects",)) is not None and not (read.files or read.repository):
        hint = "name files or a repository; without projects leave it out"
        reading.error(("projects",), "says nowhere where projects are", hint)
    return replace(read, path=path)


def _check_limits(reading: readings.Reading, limits: server_settings.Limits) -> None:
    for i, network in enumerate(limits.proxies):
        try:
            ipaddress.ip_network(network)
        except ValueError:
            message = f"{network} is no network"
            reading.error(("limits", "proxies", i), message, "write 10.0.0.0/8 or 10.1.2.3")


def _check_auth(reading: readings.Reading, oidc: server_settings.Oidc | None) -> None:
    if oidc is None:
        return
    at = ("auth", "oidc")
    if oidc.jwks_file and oidc.jwks_url:
        reading.error((*at, "jwksUrl"), "jwksFile and jwksUrl are both given", "keep one of them")
    for name, url in (("issuer", oidc.issuer), ("jwksUrl", oidc.jwks_url)):
        if url and not url.startswith("https://"):
            reading.error((*at, name), "must be an https address")
    if not oidc.algorithms:
        reading.error((*at, "algorithms"), "no signature would be believed", "write RS256")


def _check_open(reading: readings.Reading, host: str, oidc: server_settings.Oidc | None) -> None:
    """Note what must not stand beside `authentication: none`."""
    at = ("authentication",)
    if not addresses.is_loopback(host):
        message = f"without authentication nothing but this machine is answered, not {host}"
        reading.error(at, message, "leave it out, or listen on 127.0.0.1")
    if oidc is not None:
        reading.error(at, "is none, and auth.oidc asks for tokens", "keep one of them")


def _check_role(
    reading: readings.Reading, role: server_settings.RoleBinding, at: yaml.Path
) -> None:
    if bool(role.subject) == bool(role.group):
        reading.error(at, "needs a subject or a group, one of them")
    elif role.subject:
        check_subject(reading, role.subject, (*at, "subject"))


def check_subject(reading: readings.Reading, subject: str, at: yaml.Path) -> None:
    """Note a subject of a role that does not say what it is."""
    if not subject.startswith((identities.PERSON_PREFIX, identities.TOKEN_PREFIX)):
        message = f"{subject} does not say whether it is a person or an API token"
        hint = f"write oidc:{subject} or token:{subject}"
        reading.error(at, message, hint)


#: Variables that make sops, or what it loads, run programs or take keys from elsewhere.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_PROGRAMS = frozenset(
    {"SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_CMD", "SOPS_GPG_EXEC", "SOPS_KEYSERVICE"}
    | {"PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH"}
)


def check_secrets(
    reading: readings.Reading, read: server_settings.Secrets, path: yaml.Path
) -> None:
    """Note what is wrong with the keys that open secrets, which are at a path."""
    for i, name in enumerate(read.sops.environment):
        at: yaml.Path = (*path, "sops", "environment", i)
        if not _VARIABLE.fullmatch(name):
            hint = "write the name of a variable; its value stays in the environment"
            reading.error(at, "is not the name of a variable", hint)
        elif name in _PROGRAMS:
            hint = "name the key itself: SOPS_AGE_KEY, or ageKeyFile and gnupgHome beside it"
            reading.error(at, f"{name} names no key", hint)


def _check_cluster_health(reading: readings.Reading, rules: cluster_health.HealthRules) -> None:
    for key, value in (("interval", rules.interval), ("timeout", rules.timeout)):
        if value < _SHORTEST_INTERVAL:
            reading.error((*_CLUSTER_HEALTH, key), "must be at least one second", "write 10s")
    for place, rule in enumerate(rules.taints):
        wave_rules.check_selector(
            reading, rule.targets, (*_CLUSTER_HEALTH, "taints", place, "targets")
        )


def _complete_limits(
    reading: readings.Reading, read: failover_rules.FailoverLimits
) -> failover_rules.FailoverLimits:
    """Return the limits with what was left out; problems are noted.

    What is not written is never more than what is: who writes `movesPerMinute: 0` means both.
    """
    slow_share, slow_moves = read.slow_at_percent, read.slow_moves_per_minute
    if reading.written((*_FAILOVER, "slowAtPercent")) is None:
        slow_share = min(slow_share, read.stop_at_percent)
    if reading.written((*_FAILOVER, "slowMovesPerMinute")) is None:
        slow_moves = min(slow_moves, read.moves_per_minute)
    if slow_share > read.stop_at_percent:
        message = f"nothing is moved from {read.stop_at_percent} % on, so it never goes slower"
        reading.error((*_FAILOVER, "slowAtPercent"), message, "write a smaller share")
    if slow_moves > read.moves_per_minute:
        message = "it would go faster when more is lost"
        reading.error((*_FAILOVER, "slowMovesPerMinute"), message, "write fewer moves")
    return replace(read, slow_at_percent=slow_share, slow_moves_per_minute=slow_moves)
