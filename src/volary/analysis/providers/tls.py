"""How a provider's certificate is verified, and how Volary shows its own."""

import ssl
from functools import lru_cache
from pathlib import Path

from volary.model import errors, provider


def context(settings: provider.Tls) -> ssl.SSLContext:
    """Return the TLS context for a provider; made anew only when one of its files changed.

    Raises:
        errors.UserError: A file cannot be read, or is no certificate or key.
    """
    files = (settings.authority_file, settings.certificate_file, settings.key_file)
    try:
        times = tuple(Path(each).stat().st_mtime_ns for each in files if each)
        return _context(settings, times)
    except (OSError, ssl.SSLError, ValueError) as error:
        names = ", ".join(each for each in files if each)
        reason = "is not valid PEM" if isinstance(error, ssl.SSLError) else "cannot be read"
        raise errors.user_error(f"cannot be asked: one of {names} {reason}") from None


@lru_cache(maxsize=64)
def _context(settings: provider.Tls, times: tuple[int, ...]) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=settings.authority_file or None)
    if settings.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if settings.certificate_file:
        # Without a password OpenSSL would ask for one on the terminal.
        made.load_cert_chain(settings.certificate_file, settings.key_file or None, password="")
    return made
