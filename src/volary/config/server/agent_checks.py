"""What is wrong with what agents are told."""

from urllib.parse import urlsplit

from volary.config.decoding import readings
from volary.model import addresses, server_settings


def check(reading: readings.Reading, agents: server_settings.Agents) -> None:
    """Note what is wrong with the section `agents`."""
    for i, address in enumerate(agents.addresses):
        at = ("agents", "addresses", i)
        try:
            parts = urlsplit(address)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            parts, host = urlsplit(""), ""
        if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query:
            reading.error(at, "is not the address of a server", "write https://volary.example.org")
        elif parts.scheme == "http" and not addresses.is_loopback(host):
            reading.error(at, "agents' tokens would be sent without encryption", "use https")
        if address in agents.addresses[:i]:
            reading.error(at, f"{address} is listed twice")
