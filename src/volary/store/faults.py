"""The errors of this room that somebody reacts to."""

from volary.model import errors


class Overtaken(errors.PermanentError):
    """Another process took the lease over: this one must stop driving, at once."""


class VersionConflict(errors.PermanentError):
    """Somebody else changed it first: read it again before deciding anew."""
