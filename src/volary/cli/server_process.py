"""``volary server`` and ``volary token``: commands on the machine with the settings file."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from volary.cli import console, exit_codes, forms, garbage_collector, log_output, token_lists
from volary.config.server import browser_logins
from volary.controller import system_clock
from volary.controller.persistence import redaction
from volary.model import errors, json, server_settings
from volary.server import hosting
from volary.server.authentication import logins, token_uses, tokens
from volary.server.connections import descriptors
from volary.telemetry import log_fields

_LOG = logging.getLogger(__name__)


class Formatter(logging.Formatter):
    """Writes records that cannot steer the terminal of whoever reads the log, and hold no secret.

    Args:
        form: As `logging.Formatter` takes it.
        secrets: What nobody may see, in traces either.
    """

    def __init__(self, form: str, secrets: redaction.SecretValues) -> None:
        super().__init__(form)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line, and its trace on further ones."""
        return self._secrets.clean(super().format(record))


class JsonFormatter(Formatter):
    """Writes records as JSON, one object a line, with what they are about.

    Fields: ``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, the fields of
    `telemetry.log_fields` (``application``, ``run``, ``stage``, ``cluster``), and ``exception``
    with its trace.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line."""
        made = datetime.fromtimestamp(record.created, UTC)
        said = {
            "time": made.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **log_fields.current(),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        # Before they are encoded: a secret with a quote in it would look different afterwards.
        clean = {name: self._secrets.clean(value) for name, value in said.items()}
        return msgspec.json.encode(clean).decode()


async def serve(
    config: str,
    *,
    no_ui: bool = False,
    log_format: forms.LinesForm = "text",
    advertise: str = "",
) -> int:
    """Run the controller with its server until SIGINT or SIGTERM.

    Args:
        config: The settings file.
        no_ui: Serve no web UI, whatever the settings say.
        log_format: What its log looks like.
        advertise: Where others reach it; empty: as the settings say.

    Raises:
        errors.UserError: The settings, or the address, cannot be used.
    """
    settings = hosting.read_settings(config)
    if advertise:
        if problem := browser_logins.problem_of(advertise):
            raise errors.user_error(f"--advertise {advertise} {problem}", hint="write https://…")
        settings = replace(settings, advertise=advertise)
    if no_ui:
        settings = replace(settings, ui=False)
    descriptors.raise_limit()
    handler = log_output.LimitedHandler(sys.stderr)
    secrets = redaction.SecretValues()
    made = JsonFormatter if log_format == "json" else Formatter
    handler.setFormatter(made("%(asctime)s %(levelname)s %(message)s", secrets))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # A crash leaves through the log, where secrets are taken out of its trace.
    sys.excepthook = lambda *crash: _LOG.critical("ended by a bug", exc_info=crash)
    for chatty in ("alembic", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    messages = console.messages()

    def ready(url: str, authenticator: logins.Authenticator) -> None:
        gc.collect()
        garbage_collector.leave_alone_what_is_there()  # all that stays is there by now
        messages.print(f"listening on {url}", markup=False)
        if authenticator.is_open:
            messages.print(
                "authentication: none: whoever is on this machine may do everything, until there"
                " is a token"
            )
        elif authenticator.settings.authentication is server_settings.Authentication.NONE:
            messages.print("authentication: none is not in force: there are API tokens")
        elif authenticator.is_closed:
            messages.print(
                "nobody can log in yet: there are no credentials\n"
                f"hint: volary token create NAME --role admin --config {config}",
                markup=False,
            )

    serving = hosting.run(settings, clock=system_clock.SystemClock(), secrets=secrets, ready=ready)
    with handler.keep_telling():
        await until_signalled(serving)
    return exit_codes.Exit.DONE


async def until_signalled(work: Coroutine[object, object, None]) -> None:
    """Carry out `work` until a signal says to stop; what it raises comes as it is."""
    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    if working is not None:
        for caught_signal in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(caught_signal, working.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def create_token(config: str, wanted: token_lists.WantedToken) -> int:
    """Make a token and show it, this once."""
    kept, now = _tokens(config), system_clock.SystemClock().now()
    expires = now + timedelta(days=wanted.days) if wanted.days else None
    made, written = kept.create(
        wanted.name,
        server_settings.Role(wanted.role),
        now=now,
        match_labels=dict(wanted.labels),
        project=wanted.project,
        expires=expires,
    )
    console.tell(token_lists.created(made.full_name, made.role))
    console.write(written)
    return exit_codes.Exit.DONE


def tokens_of(config: str) -> list[json.JsonObject]:
    """Return what is known of every token, as the API shows it; never the tokens."""
    directory, now = _directory(config), system_clock.SystemClock().now()
    uses = token_uses.TokenUses(directory).all()
    return [
        {
            "id": token.id,
            "name": token.full_name,
            "role": token.role.value,
            "matchLabels": token.match_labels,
            "project": token.project,
            "status": token.state(now),
            "created": _text(token.created),
            "expires": _text(token.expires),
            "revoked": _text(token.revoked),
            "lastUsed": _text(uses.get(token.id)),
        }
        for token in tokens.TokenFile(directory).all()
    ]


def _text(moment: datetime | None) -> str | None:
    """Return a moment as the API writes it."""
    return None if moment is None else str(msgspec.to_builtins(moment.astimezone(UTC)))


def revoke_token(config: str, name: str) -> int:
    """Revoke a token; effective at once."""
    count = _tokens(config).revoke(name, now=system_clock.SystemClock().now())
    if not count:
        raise errors.user_error(f"there is no valid token {name}", hint="volary token list")
    console.messages().print(f"revoked {name}", markup=False)
    return exit_codes.Exit.DONE


def _tokens(config: str) -> tokens.TokenFile:
    return tokens.TokenFile(_directory(config))


def _directory(config: str) -> Path:
    return Path(hosting.read_settings(config).data_directory)
