"""The system's certificates are read when somebody is first verified by them.

aiohttp reads them twice while it is imported and libgit2 once: a twelfth of what a command needs to
start. Most commands speak with clusters, whose authorities stand in the kubeconfig, and read
repositories that are there already.
"""

import contextlib
import importlib
import ssl
import sys
from collections.abc import Iterator


def read_late() -> None:
    """Import aiohttp, whose contexts then read certificates before their first connection.

    For packages that are among the first to import it. Once it has been imported, its contexts
    have read them: nothing happens.
    """
    if "aiohttp" in sys.modules:
        return
    with unread() as contexts:
        importlib.import_module("aiohttp")
    for context in contexts:
        if context.verify_mode is not ssl.CERT_NONE:
            _read_before_connecting(context)


@contextlib.contextmanager
def unread() -> Iterator[list[ssl.SSLContext]]:
    """Have what is imported in the body read no certificates, except singly from a directory.

    Yields the contexts that would have read them.
    """
    contexts: list[ssl.SSLContext] = []
    read, locate = ssl.SSLContext.set_default_verify_paths, ssl.get_default_verify_paths

    def locate_directory() -> ssl.DefaultVerifyPaths:
        found = locate()
        return found._replace(cafile=None) if found.capath else found  # type: ignore[arg-type]

    def note(context: ssl.SSLContext) -> None:
        contexts.append(context)

    ssl.SSLContext.set_default_verify_paths = note  # type: ignore[assignment,method-assign]
    ssl.get_default_verify_paths = locate_directory
    try:
        yield contexts
    finally:
        ssl.SSLContext.set_default_verify_paths = read  # type: ignore[method-assign]
        ssl.get_default_verify_paths = locate


def _read_before_connecting(context: ssl.SSLContext) -> None:
    """Have a context read the system's certificates once asyncio asks it for a connection."""
    connect = context.wrap_bio

    def read_and_connect(*arguments: object, **keywords: object) -> ssl.SSLObject:
        context.set_default_verify_paths()
        # Not before: whoever connects meanwhile reads them too, and never finds them half read.
        vars(context).pop("wrap_bio", None)
        return connect(*arguments, **keywords)  # type: ignore[arg-type]

    context.wrap_bio = read_and_connect  # type: ignore[method-assign]
