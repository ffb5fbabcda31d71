"""Which authenticator serves which kind of credentials."""

from volary.clusters import credentials, plugins, settings
from volary.model import clock as clocks


def authenticator(
    source: settings.Credentials, *, cluster: str, clock: clocks.Clock, exec_timeout: float
) -> credentials.Authenticator:
    """Return the authenticator for `source`; `exec_timeout` is in seconds."""
    match source:
        case settings.TokenFile():
            return credentials.TokenFile(source, cluster, clock)
        case settings.Exec():
            return plugins.Plugin(source, cluster, clock, timeout=exec_timeout)
        case _:
            return credentials.simple(source)
