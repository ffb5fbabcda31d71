"""Approvals that nobody can give: whom applications name, held against a server's settings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from volary.cli.lint import manifest_checks
from volary.controller import system_clock
from volary.model import applications, errors, identities, phrases, server_settings
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.server import permissions
from volary.server.authentication import logins, tokens

_TOKEN, _PERSON = identities.TOKEN_PREFIX, identities.PERSON_PREFIX


@dataclass(frozen=True, slots=True)
class _People:
    """Who can be let in by a server."""

    settings: server_settings.Settings
    #: The valid tokens by full name; None: they are not on this machine.
    tokens: Mapping[str, tokens.Token] | None
    #: Everybody on loopback is let in, as `local`.
    is_open: bool

    def may_approve(self, name: str, labels: Mapping[str, str]) -> bool:
        """Say whether somebody of this name can be let in, and may approve."""
        if name == logins.LOCAL.name:
            return self.is_open
        groups = [binding.group for binding in self.settings.roles if binding.group]
        if not identities.says_source(name):
            name = f"{_PERSON}{name}"
        if name.startswith(_PERSON):
            # Who is in a group the issuer knows.
            bound = permissions.grants_of(self.settings.roles, name, groups)
            return self.settings.auth.oidc is not None and self._may_approve(bound, labels)
        if self.tokens is None:
            return True
        token = self.tokens.get(name.removeprefix(_TOKEN))
        if token is None:
            return False
        own = permissions.Grant(token.role, tuple(sorted(token.match_labels.items())))
        bound = permissions.grants_of(self.settings.roles, name)
        return self._may_approve((own, *bound), labels)

    def _may_approve(self, grants: Iterable[permissions.Grant], labels: Mapping[str, str]) -> bool:
        """Say whether grants may suffice; which project an application is of is not known here,
        nor whom projects give roles to.
        """
        anywhere = tuple(replace(grant, projects=()) for grant in grants)
        subject = permissions.Subject(labels)
        has_projects = bool(self.settings.projects.files or self.settings.projects.repository)
        person = permissions.Person("", anywhere)
        return has_projects or person.may(permissions.Permission.APPROVE, subject)

    def hint(self) -> str:
        """Return how somebody comes to be an approver of this server."""
        if self.settings.auth.oidc is not None:
            return (
                "bind the role approver to them in the settings' roles, or name somebody else:"
                f" {_PERSON}NAME as the issuer has it, or {_TOKEN}NAME"
            )
        return (
            "without auth.oidc those who approve are tokens: volary token create NAME --role"
            f" approver, then name {_TOKEN}NAME"
        )


def check(
    loaded: manifest_checks.LoadedFiles, settings: server_settings.Settings
) -> Iterator[errors.Problem]:
    """Yield the approvers that nobody can be who is let in by a server of these settings.

    Tokens are those of its data directory; where that is not here, any token may be meant.

    Raises:
        errors.UserError: The tokens cannot be read.
    """
    people = _people(settings)
    for file, one in loaded.items():
        if one.application is None:
            continue
        labels = one.application.labels
        for where, options in _approvals(one.application):
            nobody = [name for name in options.approvers if not people.may_approve(name, labels)]
            if nobody:
                message = (
                    f"{where}: nobody on this server may approve as {phrases.join_names(nobody)}"
                )
                yield errors.Problem(message, errors.Location(file), people.hint())


def _people(settings: server_settings.Settings) -> _People:
    directory, clock = Path(settings.data_directory), system_clock.SystemClock()
    kept, now = tokens.TokenFile(directory), clock.now()
    known = {token.full_name: token for token in kept.all() if token.is_valid(now)}
    is_here = (directory / tokens.FILE_NAME).exists()
    is_open = logins.open_authenticator(settings, kept, clock).is_open
    return _People(settings, known if is_here else None, is_open)


def _approvals(
    application: applications.Application,
) -> Iterator[tuple[str, waiting_stages.ApprovalOptions]]:
    for stage in application.pipeline:
        if isinstance(stage.options, waiting_stages.ApprovalOptions):
            yield stage.name, stage.options
    for wave in application.waves.waves:
        if wave.gate.approval is not None:
            yield f"the gate of wave {wave.name}", wave.gate.approval
