"""What this machine can keep a program from: tried once, by the launcher itself."""

import functools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from volary.isolation import launcher
from volary.model import errors

#: What runs the launcher: nothing of the environment, of the user, or of installed packages.
COMMAND = (sys.executable, "-I", "-S", str(Path(launcher.__file__).resolve()))
#: Seconds; it takes a tenth of one.
_LONGEST_PROBE = 60
#: Since this version the kernel counts processes for each user namespace by itself.
_COUNTS_PROCESSES = (5, 14)


@dataclass(frozen=True, slots=True)
class Isolation:
    """What programs can be kept from here."""

    #: How they are without a network of their own: one of the launcher's ways.
    network: str = launcher.NONE
    #: Why it is none; empty: it is one.
    network_refusal: str = ""
    #: Whether the kernel refuses them connections and reaching into other processes.
    filter: bool = False
    #: Why not; empty: it does.
    filter_refusal: str = ""
    #: Why the server's own files cannot be hidden from them in a namespace; empty: they can.
    hiding_refusal: str = ""
    #: Whether anything can be given up at all, limits included.
    launcher: bool = True

    @property
    def has_no_network(self) -> bool:
        """Whether programs cannot reach anything."""
        return self.network != launcher.NONE or self.filter

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.network != launcher.NONE and self.filter and self.hides

    @property
    def hides(self) -> bool:
        """Whether files can be hidden from programs."""
        return self.network != launcher.NONE and not self.hiding_refusal

    @property
    def counts_processes(self) -> bool:
        """Whether a limit of processes is of the program alone; root has none anyway."""
        return (
            self.network == launcher.AS_USER
            and os.geteuid() != 0
            and _version(platform.release()) >= _COUNTS_PROCESSES
        )

    @property
    def sentence(self) -> str:
        """How renderers run here, for people."""
        if self.hides or not self.has_no_network:
            return self._connections
        why = f" ({self.hiding_refusal})" if self.hiding_refusal else ""
        return f"{self._connections}; the server's own files are not hidden from them{why}"

    @property
    def _connections(self) -> str:
        namespace = self.network != launcher.NONE
        if namespace and self.filter:
            return "renderers run in a network namespace of their own, their system calls filtered"
        if namespace:
            return (
                "renderers run in a network namespace of their own; their system calls are not"
                f" filtered ({self.filter_refusal})"
            )
        if self.filter:
            return (
                "renderers run without connections: their system calls are filtered; there is no"
                f" network namespace ({self.network_refusal})"
            )
        return (
            "renderers cannot be kept from the network here: no network namespace"
            f" ({self.network_refusal}), no filter of system calls ({self.filter_refusal})"
        )


def probe() -> Isolation:
    """Return what this machine allows. Blocks for a moment the first time.

    Raises:
        UserError: There was no answer in time; the next call asks again.
    """
    said = answers()
    if "launcher" in said:
        return without_launcher(said["launcher"])
    ways = (launcher.AS_USER, launcher.AS_ROOT)
    network = next((way for way in ways if not said[way]), launcher.NONE)
    return Isolation(
        network,
        said[launcher.AS_USER] if network == launcher.NONE else "",
        filter=not said["filter"],
        filter_refusal=said["filter"],
        hiding_refusal="" if network == launcher.NONE else said["hiding"],
    )


@functools.cache
def answers() -> Mapping[str, str]:
    """Return why each way is not open here, empty where it is; or why the launcher does not run.

    Raises:
        UserError: There was no answer in time; the next call asks again.
    """
    try:
        ended = subprocess.run(
            [*COMMAND, "probe"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST_PROBE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise errors.user_error(
            f"what this machine allows programs was not found out within {_LONGEST_PROBE} seconds"
        ) from error
    except OSError as error:
        return {"launcher": f"{sys.executable or 'Python'}: {error.strerror}"}
    try:
        said: dict[str, str] = json.loads(ended.stdout)
    except ValueError:
        complaint = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return {"launcher": complaint or f"the launcher ended with {ended.returncode}"}
    return said


def without_launcher(why: str) -> Isolation:
    """Return what there is where the launcher does not run."""
    return Isolation(network_refusal=why, filter_refusal=why, launcher=False)


def _version(release: str) -> tuple[int, ...]:
    major, _, rest = release.partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0,)
