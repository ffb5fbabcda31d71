"""`volary server`: repositories, controller and HTTP in one process, put together by hand.

All of it hangs in one task group: when one part ends with an error, the others are shut down
and the error is shown. Being cancelled is shutting down; runs go on with the next start.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from volary import secret_files
from volary.concurrency import background_tasks
from volary.config.decoding import readings
from volary.config.projects import definitions, project_files
from volary.config.server import engine_checks, settings_files
from volary.controller import composition, inputs
from volary.controller.persistence import redaction
from volary.controller.planning import opened_applications
from volary.controller.projects import project_registry
from volary.gitops import watcher, webhooks
from volary.isolation import probing
from volary.model import clocks, errors, metric_providers, phrases, server_settings
from volary.model.fleet import fleets
from volary.server import app, fleet_file, server_state, serving, tracing
from volary.server.authentication import logins, tokens
from volary.server.sharing import refresh_relay, server_registry, token_exchange
from volary.sources.git import mirrors

_LOG = logging.getLogger(__name__)


def read_settings(file: str) -> server_settings.Settings:
    """Read the settings file.

    Raises:
        errors.UserError: It cannot be read, or has errors; all of them at once.
    """
    directory = str(Path(file).absolute().parent)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = (getattr(error, "strerror", None) or "it is not text").lower()
        raise errors.user_error(f"the settings file {file} cannot be read: {cause}") from error
    return settings_files.parse(text, file=file, directory=directory).require()


def read_fleet(settings: server_settings.Settings) -> fleets.Fleet:
    """Read the fleet that the settings name, with the analysis providers of both.

    Raises:
        errors.UserError: It cannot be read, or has errors.
    """
    fleet = opened_applications.load_fleet(settings.fleet)
    for warning in (*fleet.warnings, *engine_checks.against_fleet(settings, fleet)):
        _LOG.warning("%s", warning)
    return replace(fleet, providers=metric_providers.merged(settings.providers, fleet.providers))


def read_projects(settings: server_settings.Settings) -> definitions.Definitions:
    """Read the project files beside the settings.

    Raises:
        errors.UserError: One cannot be read, or has errors; all of them at once.
    """
    loaded = load_projects(settings)
    known = loaded.require()
    for warning in loaded.problems:
        _LOG.warning("%s", warning)
    return known


def load_projects(settings: server_settings.Settings) -> readings.Loaded[definitions.Definitions]:
    """Read the project files beside the settings; all problems at once."""
    known, problems = definitions.Definitions(), list[errors.Problem]()
    for file in settings.projects.files:
        try:
            text = Path(file).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            cause = (getattr(error, "strerror", None) or "it is not text").lower()
            message = f"the project file {file} cannot be read: {cause}"
            problems.append(errors.Problem(message, hint="projects.files of the settings names it"))
            continue
        # Each is seen from its own directory, and may be about a project of another one.
        surroundings = replace(
            project_registry.surroundings(settings),
            directory=str(Path(file).absolute().parent),
            are_part=True,
        )
        written = [project_files.TextFile(file, text)]
        loaded = project_files.parse(written, surroundings, beside=known)
        problems += loaded.problems
        known = known.joined(loaded.value or definitions.Definitions())
    if settings.projects.files and not settings.projects.repository and not problems:
        problems += project_files.check_any(known, ", ".join(settings.projects.files))
        problems += project_files.check_workspaces(known)
    return readings.Loaded(None if errors.mistakes(problems) else known, tuple(problems))


def projects_notice(settings: server_settings.Settings) -> str:
    """Return what is said at the start when there are no projects; empty: there may be some."""
    if settings.projects.files or settings.projects.repository:
        return ""
    names = phrases.first_of(repository.name for repository in settings.repositories)
    return (
        f"there are no projects: whoever may push to {names} may deploy anything to every cluster,"
        " in every namespace; if several teams share this server, name project files in its"
        " settings (projects), see docs/how-to/projects.md"
    )


def secrets_of(settings: server_settings.Settings) -> tuple[str, ...]:
    """Return the values of the files that the settings name, so that nobody ever sees them.

    A file that cannot be read is left to whoever needs it, who says so.
    """
    secrets = []
    for file in _secret_files(settings):
        with contextlib.suppress(errors.UserError):
            secrets.append(secret_files.read_text(file))
    return tuple(secrets)


def _secret_files(settings: server_settings.Settings) -> Iterator[str]:
    for repository in settings.repositories:
        if given := repository.credentials:
            yield from filter(None, (given.token_file, given.password_file, given.ssh_key_file))
        if repository.webhook:
            yield repository.webhook.secret_file
    if settings.tracing and settings.tracing.token_file:
        yield settings.tracing.token_file
    if settings.auth.oidc and settings.auth.oidc.client_secret_file:
        yield settings.auth.oidc.client_secret_file
    for receiver in settings.notifications.receivers:
        yield from _secret_files_of(receiver)


def _secret_files_of(receiver: server_settings.Receiver) -> Iterator[str]:
    if receiver.slack:
        yield from filter(None, (receiver.slack.hook_url_file, receiver.slack.oauth_token_file))
    for chat in receiver.chats.values():
        yield chat.hook_url_file
    if receiver.webhook and receiver.webhook.signature_value_file:
        yield receiver.webhook.signature_value_file


class _RepositoryWatch:
    """Makes a watcher for each term of leadership, and passes webhooks on to the one there is."""

    def __init__(self, settings: server_settings.Settings, all_mirrors: mirrors.Mirrors) -> None:
        self._settings = settings
        self._mirrors = all_mirrors
        self._current: watcher.Watcher | None = None
        self.relay = refresh_relay.RefreshRelay(self._refresh)

    async def watch(self, on_change: inputs.OnSeen) -> None:
        """Watch until cancelled."""
        self._current = watcher.Watcher(self._settings, self._mirrors)
        try:
            await self._current.watch(on_change)
        finally:
            self._current = None

    def request_refresh(self, repository: str, _: webhooks.PushEvent | None = None) -> None:
        """Have the leader look at a repository soon."""
        self.relay.request(repository)

    def _refresh(self, repository: str) -> bool:
        if self._current is not None:
            self._current.request_refresh(repository)
        return self._current is not None

    @property
    def is_watching(self) -> bool:
        """Whether this process looks at the repositories."""
        return self._current is not None


async def run(
    settings: server_settings.Settings,
    *,
    clock: clocks.Clock,
    secrets: redaction.SecretValues | None = None,
    ready: Callable[[str, logins.Authenticator], None] = lambda _, __: None,
) -> None:
    """Run the controller and its API server until cancelled.

    Args:
        settings: From `read_settings`.
        clock: The one clock.
        secrets: Learns what nobody may see; whoever writes the log knows it.
        ready: Told the URL, and who decides who is let in.

    Raises:
        errors.UserError: Something in the settings has to change first.
        errors.TemporaryError: The database cannot be reached now.
    """
    with tracing.traced(settings.tracing):
        await _run(settings, clock, secrets or redaction.SecretValues(), ready)


async def _run(
    settings: server_settings.Settings,
    clock: clocks.Clock,
    secrets: redaction.SecretValues,
    ready: Callable[[str, logins.Authenticator], None],
) -> None:
    members, beside = read_fleet(settings), read_projects(settings)
    if notice := projects_notice(settings):
        _LOG.warning("%s", notice)
    data = Path(settings.data_directory)
    kept = tokens.TokenFile(data)
    if secret_files.make_private_directory(data):
        _LOG.warning("%s could be entered by others; from now on only by its owner", data)
    logins.open_authenticator(settings, kept, clock)  # refuses before anything is opened
    for keys in composition.keys_of(settings, beside):
        keys.check()
    isolation = await asyncio.to_thread(probing.probe)
    _LOG.log(*isolation_notice(isolation, required=settings.isolates_renderers))
    with serving.bound(settings.host, settings.port) as listening:
        async with mirrors.open_mirrors(data / "mirrors") as opened:
            watching = _RepositoryWatch(settings, opened)
            parts = composition.ControllerParts(
                clock=clock,
                owner=uuid.uuid4().hex,
                members=members,
                written_beside=beside,
                repositories=watcher.WatchedRepositories(
                    settings, opened, watching.request_refresh
                ),
                watch=watching.watch,
                rules=inputs.Rules(secrets=secrets_of(settings)),
                secrets=secrets,
            )
            async with composition.open_controller(settings, parts) as made:
                registered = server_registry.ServerRegistry(
                    made.service.store,
                    parts.owner,
                    server_registry.address_of(settings, listening),
                )
                await registered.register()
                application = app.build(
                    made.service,
                    settings,
                    kept,
                    clock,
                    request_refresh=watching.request_refresh,
                    servers=lambda: registered.count,
                )
                here: server_state.ServerState = application.state.server_state
                authenticator = here.authenticator
                exchange = token_exchange.TokenExchange(
                    made.service.store, kept, authenticator.uses
                )
                await exchange.try_exchanging()
                authenticator.are_tokens_current = lambda: exchange.is_current
                here.share_tokens = exchange.exchange
                # Around everything: goodbye is said last; who may not go on ends and says why.
                async with (
                    background_tasks.in_background(registered.keep_registered()),
                    asyncio.TaskGroup() as group,
                ):
                    group.create_task(made.run(), name="controller")
                    group.create_task(exchange.keep_exchanging(), name="tokens")
                    group.create_task(
                        watching.relay.keep_relaying(
                            made.service.store, lambda: watching.is_watching
                        ),
                        name="webhooks",
                    )
                    group.create_task(
                        fleet_file.keep_watching(
                            settings.fleet, lambda: read_fleet(settings), made.change_fleet
                        ),
                        name="fleet file",
                    )
                    group.create_task(keep_private(data), name="data directory")
                    group.create_task(
                        serving.serve(
                            application,
                            settings,
                            listening,
                            ready=lambda url: ready(url, authenticator),
                        ),
                        name="server",
                    )


def isolation_notice(found: probing.Isolation, *, required: bool) -> tuple[int, str]:
    """Return what is logged about the renderers on this machine, with the level."""
    if found.is_whole:
        return logging.INFO, found.sentence
    if found.has_no_network or not required:
        return logging.WARNING, found.sentence
    return (
        logging.WARNING,
        f"{found.sentence}; nothing is rendered with kustomize or helm"
        " (rendererIsolation: required)",
    )


async def keep_private(directory: Path, *, interval: float = 30.0) -> None:
    """Close the data directory again whenever others may enter it, until cancelled.

    Args:
        directory: The data directory.
        interval: Seconds between two looks.
    """
    said = ""
    while True:
        await asyncio.sleep(interval)
        try:
            if await asyncio.to_thread(secret_files.make_private_directory, directory):
                _LOG.warning("%s could be entered by others; it is closed again", directory)
            said = ""
        except errors.UserError as error:
            if said != str(error):
                said = str(error)
                _LOG.error("%s", error.problems[0].message)
