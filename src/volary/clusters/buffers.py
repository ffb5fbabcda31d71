"""How much memory each TLS connection takes.

asyncio gives every one a buffer of 256 KiB and fills it with zeros, so all of it is in use from
the beginning. A watch is a connection of its own, and nearly always silent: a thousand of them
would hold a quarter of a GiB for nothing. A record of TLS is 16 KiB at most.
"""

from asyncio import sslproto

#: Bytes: two records. What is longer takes more turns.
SIZE = 32 * 1024


def shrink() -> None:
    """Let connections of this process that are made from now on have small buffers.

    asyncio has no option for it, so this is its own constant; a version without that constant
    stays as it is.
    """
    if getattr(sslproto.SSLProtocol, "max_size", 0) > SIZE:
        sslproto.SSLProtocol.max_size = SIZE
