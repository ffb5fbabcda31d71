"""The key by which the controller signs what agents carry out: a file, never in the database.

All servers of one store share it: each has a copy of the file that the settings name. Without one
it is made in the data directory when it is first needed.
"""

from dataclasses import dataclass
from pathlib import Path

from volary import secret_files
from volary.agents.orders import keys
from volary.model import errors, server_settings

FILE_NAME = "agents-signing-key.pem"


@dataclass(frozen=True, slots=True)
class SigningKeyFile:
    """The file of the key."""

    #: As the settings name it; empty: that of the data directory.
    named: str
    data_directory: str

    def read(self) -> keys.SigningKey:
        """Return the key; it is made first where the settings name none.

        Raises:
            errors.UserError: It cannot be read or made, others may read it, or it is none.
        """
        file = Path(self.named) if self.named else Path(self.data_directory) / FILE_NAME
        try:
            pem = self._read(file)
            return keys.read(pem)
        except keys.NoKeyError as error:
            raise errors.user_error(
                f"the signing key {file} cannot be used: {error}",
                hint="openssl genpkey -algorithm ed25519 makes one",
            ) from None
        except OSError as error:
            raise errors.user_error(
                f"the signing key {file} cannot be used: {(error.strerror or '').lower()}",
                hint="agents.signingKeyFile of the settings names it",
            ) from error

    def _read(self, file: Path) -> bytes:
        if not self.named and not file.exists():
            secret_files.write_private(file, keys.generate())
        return secret_files.read_private(file)

    def public(self) -> str:
        """Return the public key, by which agents check what is signed; see `read`."""
        return keys.public(self.read())


def of(settings: server_settings.Settings) -> SigningKeyFile:
    """Return the file of a server."""
    return SigningKeyFile(settings.agents.signing_key_file, settings.data_directory)
