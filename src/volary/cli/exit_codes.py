"""Exit codes, the same for every command."""

from enum import IntEnum


class Exit(IntEnum):
    """What the shell gets to know."""

    DONE = 0
    #: `volary diff`: something is not as Git says, as `kubectl diff` has it.
    FAILED = 1
    #: Wrong usage or configuration: something the user has to change first.
    USAGE = 2
    #: A person has to decide before it goes on.
    WAITING = 3
    #: `volary plan`: a run would change something, or leave what Git no longer has.
    CHANGES = 4
    #: `volary diff`: nothing differs, but not everything could be compared.
    UNCLEAR = 5
    #: Ended by Ctrl-C, as shells report it.
    INTERRUPTED = 130
