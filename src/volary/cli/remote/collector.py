"""The garbage collector of a process that runs for months and keeps much.

Python looks at all objects again and again, also at those that stay: modules, settings, what is
known of a thousand clusters. With hundreds of MiB that is a fifth of the work, and each look is
a pause for everybody.
"""

import gc

#: New objects before the youngest are looked at, and how many such looks before older ones are.
_THRESHOLDS = (25_000, 20, 20)


def relax() -> None:
    """Leave what is there by now alone for good, and look less often at what comes.

    Memory of objects that refer to each other is given back somewhat later; all other memory
    is given back at once, as ever.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
