"""The first screen, and what may be done next.

`overview` and `actions` decide and are pure; the services beside them read for them, once for all
who look. May import the representations, conversions and services beside the package, and the
commands. Start reading at `overview`.
"""
