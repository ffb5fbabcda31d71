"""``volary server`` and ``volary token``: commands on the machine with the settings file."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path

from volary.cli import console, exit_codes
from volary.controller import inputs
from volary.controller.persistence import redaction
from volary.model import errors, server_settings
from volary.server import hosting
from volary.server.authentication import tokens

_LOG = logging.getLogger(__name__)
#: New objects before the youngest are examined, and how many such passes before older ones are.
_COLLECTOR_THRESHOLDS = (25_000, 20, 20)


def tune_garbage_collector() -> None:
    """Leave what is there by now alone for good, and look less often at what comes.

    Memory of objects that refer to each other is given back somewhat later; all other memory
    is given back at once, as ever.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)


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


async def serve(config: str) -> int:
    """Run the controller with its server until SIGINT or SIGTERM."""
    settings = hosting.read_settings(config)
    handler = logging.StreamHandler(sys.stderr)
    secrets = redaction.SecretValues()
    handler.setFormatter(Formatter("%(asctime)s %(levelname)s %(message)s", secrets))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # A crash leaves through the log, where secrets are taken out of its trace.
    sys.excepthook = lambda *crash: _LOG.critical("ended by a bug", exc_info=crash)
    for chatty in ("alembic", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    messages = console.messages()

    def ready(url: str, is_open: bool) -> None:
        tune_garbage_collector()  # all that stays is there by now
        messages.print(f"listening on {url}", markup=False)
        if is_open:
            messages.print(
                "no credentials are configured: only requests from this machine are answered,"
                " with every permission"
            )

    serving = hosting.run(settings, clock=inputs.SystemClock(), secrets=secrets, ready=ready)
    await _until_signalled(serving)
    return exit_codes.Exit.DONE


async def _until_signalled(work: Coroutine[object, object, None]) -> None:
    """Carry out `work` until a signal says to stop; what it raises comes as it is."""
    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    if working is not None:
        for caught_signal in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(caught_signal, working.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def create_token(
    config: str, name: str, role: str, labels: tuple[str, ...], days: int | None
) -> int:
    """Make a token and show it, this once."""
    kept, now = _tokens(config), inputs.SystemClock().now()
    pairs = dict(label.partition("=")[::2] for label in labels)
    if any(not key or not value for key, value in pairs.items()):
        raise errors.user_error("a label is not of the form key=value")
    expires = now + timedelta(days=days) if days else None
    made, written = kept.create(
        name, server_settings.Role(role), now=now, match_labels=pairs, expires=expires
    )
    console.messages().print(f"token {made.name} ({made.role}); it is shown only now", markup=False)
    console.write(written)
    return exit_codes.Exit.DONE


def list_tokens(config: str) -> int:
    """Show what is known of every token; never the tokens."""
    now = inputs.SystemClock().now()
    for token in _tokens(config).all():
        state = "revoked" if token.revoked else "valid" if token.is_valid(now) else "expired"
        labels = ",".join(f"{key}={value}" for key, value in token.match_labels.items()) or "-"
        expires = tokens.utc(token.expires) if token.expires else "never"
        console.write(
            f"{token.id}  {token.name:<20} {token.role:<9} {state:<8} {labels:<20}"
            f" expires {expires}"
        )
    return exit_codes.Exit.DONE


def revoke_token(config: str, name: str) -> int:
    """Revoke a token; effective at once."""
    count = _tokens(config).revoke(name, now=inputs.SystemClock().now())
    if not count:
        raise errors.user_error(f"there is no valid token {name}", hint="volary token list")
    console.messages().print(f"revoked {name}", markup=False)
    return exit_codes.Exit.DONE


def _tokens(config: str) -> tokens.TokenFile:
    return tokens.TokenFile(Path(hosting.read_settings(config).data_directory))
