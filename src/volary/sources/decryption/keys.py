"""Where keys come from: files and variables that whoever runs Volary names, never the repository.

Files are read, and variables looked up, when a key is needed: one that was replaced counts at once.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from volary import secret_files
from volary.model import errors, server_settings

#: What sops reads, of which `volary run` passes on whatever is set.
_OF_SOPS = (
    *("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE", "GNUPGHOME"),
    *("VAULT_ADDR", "VAULT_TOKEN", "VAULT_NAMESPACE", "VAULT_CACERT"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"),
    *("AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ROLE_ARN"),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS"),
    *("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"),
    "AZURE_FEDERATED_TOKEN_FILE",
)
#: Variables that name files with a key; a name that contains none of these is a value.
_NAMES_A_FILE = ("_FILE", "GNUPGHOME", "GOOGLE_APPLICATION_CREDENTIALS", "_CACERT")
#: Variables by which a service on the network is asked, and not a key used.
_OFFLINE = ("SOPS_AGE", "GNUPGHOME")
#: Where `volary run` finds the private key of ``encryption``.
PRIVATE_KEY_VARIABLE = "VOLARY_PRIVATE_KEY_FILE"


class InRepositoryError(errors.UserError):
    """A key is kept in the repository that it opens."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that applications may have opened with: the settings', or a project's own."""

    settings: server_settings.Secrets = field(default_factory=server_settings.Secrets)
    #: Where variables are looked up.
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    #: Directories that a key must not be in: what is pushed to may not say what opens it.
    repositories: tuple[str, ...] = ()

    def apart_from(self, *directories: str) -> "Keys":
        """Return the keys, refused where they are in one of these directories."""
        return replace(self, repositories=(*self.repositories, *directories))

    @property
    def has_sops(self) -> bool:
        """Whether there is anything for sops."""
        given = self.settings.sops
        return bool(given.age_key_file or given.gnupg_home or self._named())

    @property
    def may_ask_services(self) -> bool:
        """Whether sops may use the network, as credentials of a key service are named."""
        return any(not name.startswith(_OFFLINE) for name in self._named())

    def sops_environment(self) -> dict[str, str]:
        """Return what sops is given: the keys that are named, and nothing else.

        Raises:
            InRepositoryError: One is in a repository.
            errors.UserError: One that is named is not there.
        """
        made = {name: self.variables[name] for name in self._named()}
        given = self.settings.sops
        if given.age_key_file:
            made["SOPS_AGE_KEY_FILE"] = given.age_key_file
        if given.gnupg_home:
            made["GNUPGHOME"] = given.gnupg_home
        for name, value in made.items():
            if name.endswith(_NAMES_A_FILE):
                made[name] = self._file(value)
        if "GNUPGHOME" in made and (gpg := shutil.which("gpg")):
            made["SOPS_GPG_EXEC"] = gpg
        return made

    def private_key(self) -> str:
        """Return the private key of ``encryption``, PEM; empty without one.

        Raises:
            InRepositoryError: It is in a repository.
            errors.UserError: It cannot be read.
        """
        file = self.settings.key_pair.private_key_file
        return secret_files.read_text(self._file(file)) if file else ""

    def check(self) -> None:
        """Make sure that the files that are named are there, and in no repository.

        Raises:
            errors.UserError: One is not.
        """
        self.sops_environment()
        self.private_key()

    def secret_values(self) -> Iterator[str]:
        """Yield the keys themselves, so that nobody ever sees them; unreadable ones are left."""
        files = [self.settings.sops.age_key_file, self.settings.key_pair.private_key_file]
        for name in self._named():
            if name.endswith(_NAMES_A_FILE):
                files.append(self.variables[name])
            elif _is_secret(name):
                yield self.variables[name]
        for file in files:
            try:
                text = secret_files.read_text(file) if file else ""
            except errors.UserError:
                continue
            yield from (line for line in text.splitlines() if not line.startswith(("#", "-----")))

    def _named(self) -> tuple[str, ...]:
        return tuple(name for name in self.settings.sops.environment if self.variables.get(name))

    def _file(self, path: str) -> str:
        if "\0" in path:
            raise errors.user_error("no key can be called so: its name has a null character")
        real = os.path.realpath(Path(path).expanduser())
        for directory in self.repositories:
            if Path(real).is_relative_to(os.path.realpath(directory)):
                raise InRepositoryError(
                    errors.Problem(
                        f"the key {path} is in the repository {directory}",
                        hint="keep keys apart from what they open: who may push could replace it,"
                        " and who may read could open everything",
                    )
                )
        if not Path(real).exists():
            raise errors.user_error(f"the key {path} does not exist")
        if not Path(real).is_file() and not Path(real).is_dir():
            # A pipe would be waited for.
            raise errors.user_error(f"the key {path} is no file")
        return real


def of_user(variables: Mapping[str, str], *, apart_from: Iterable[str] = ()) -> Keys:
    """Return the keys of whoever runs a command: those that sops itself would find.

    Args:
        variables: The process' environment.
        apart_from: Repositories and directories that are rendered.
    """
    home = Path(variables.get("HOME") or Path("~").expanduser())
    config = Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
    age, gnupg = config / "sops" / "age" / "keys.txt", home / ".gnupg"
    has_age = any(name.startswith("SOPS_AGE") and variables.get(name) for name in _OF_SOPS)
    settings = server_settings.Secrets(
        server_settings.Sops(
            age_key_file=str(age) if not has_age and age.is_file() else "",
            gnupg_home=str(gnupg) if "GNUPGHOME" not in variables and gnupg.is_dir() else "",
            environment=tuple(name for name in _OF_SOPS if variables.get(name)),
        ),
        server_settings.KeyPair(variables.get(PRIVATE_KEY_VARIABLE, "")),
    )
    return Keys(settings, variables, tuple(apart_from))


def _is_secret(name: str) -> bool:
    return any(word in name for word in ("KEY", "TOKEN", "SECRET", "CREDENTIALS"))
