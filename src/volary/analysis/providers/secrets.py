"""Reading secrets from files and from the environment."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from volary import secret_files
from volary.model import errors, metric_providers


@dataclass(frozen=True, slots=True)
class Secrets:
    """Reads each secret when it is needed, so that a new one counts at once."""

    #: Receives every secret each time, so that it can be redacted wherever it occurs.
    learn: Callable[[str], None]

    def reveal(self, secret: metric_providers.Secret) -> str:
        """Return a secret without white space around it.

        Raises:
            errors.UserError: It is not there, or cannot be one; the text names the place only.
        """
        if secret.file:
            try:
                revealed = secret_files.read(secret.file)
            except errors.UserError as error:
                raise errors.user_error(f"has no secret: {error}") from None
        else:
            revealed = os.environ.get(secret.variable, "").strip()
            place = f"the variable {secret.variable} of the environment"
            if not revealed:
                raise errors.user_error(f"has no secret in {place}: it is empty or not there")
            if not revealed.isprintable():
                raise errors.user_error(f"has no secret in {place}: there are several lines")
        self.learn(revealed)
        return revealed

    def reveal_document(self, secret: metric_providers.Secret) -> str:
        """Return a secret of several lines, as the keys of cloud providers are.

        Raises:
            errors.UserError: It is not there, or cannot be one; the text names the place only.
        """
        if not secret.file:
            return self.reveal(secret)
        try:
            revealed = secret_files.read_text(secret.file)
        except errors.UserError as error:
            raise errors.user_error(f"has no secret: {error}") from None
        self.learn(revealed)
        return revealed
