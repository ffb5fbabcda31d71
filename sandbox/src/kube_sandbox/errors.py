"""The error of a sandbox that somebody has to react to."""


class UserError(Exception):
    """What was asked for cannot be had; the message is worded for whoever asked, with a hint."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        #: One sentence, no full stop.
        self.message = message
        #: What to do; empty when nothing better than the message can be said.
        self.hint = hint
