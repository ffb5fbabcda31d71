"""When Python's garbage collector looks for objects that refer to each other.

What is imported stays until the process ends, and is most of what a command makes. With Python's
own thresholds it is looked through some hundred times before a command has begun its work: a fifth
of the time that starting takes. All memory but that of such circles is given back at once, as ever.
"""

import gc

#: New objects before they are looked through, while nothing but modules is being made: more than
#: all of them have.
_STARTING = 400_000
#: New objects before the youngest are looked through, and how many such passes before older ones
#: are.
_WORKING = (25_000, 20, 20)


def wait_for_imports() -> None:
    """Leave objects alone until a command has what it needs; to be called as the first thing."""
    gc.set_threshold(_STARTING)


def leave_alone_what_is_there() -> None:
    """Never look at what is there by now, and seldom at what comes: the work begins."""
    gc.freeze()
    gc.set_threshold(*_WORKING)
