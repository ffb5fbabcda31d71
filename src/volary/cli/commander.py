"""Who gives the commands that are typed here."""

import os
import pwd
from collections.abc import Mapping


def name(environment: Mapping[str, str], user: int | None = None) -> str:
    """Return the user's name: of the environment, else as the system knows it, else the number.

    A cron job, a container and many a CI runner set no ``USER``, and a container's user
    often has no name at all.

    Args:
        environment: Variables; ``LOGNAME`` counts where ``USER`` is empty (POSIX).
        user: Number of the user; None: of this process.
    """
    said = environment.get("USER") or environment.get("LOGNAME")
    if said:
        return said
    number = os.getuid() if user is None else user
    try:
        return pwd.getpwuid(number).pw_name or str(number)
    except KeyError:
        return str(number)
