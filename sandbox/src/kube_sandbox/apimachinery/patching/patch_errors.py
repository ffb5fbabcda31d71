"""What goes wrong with a patch, with the status the server answers."""


class PatchError(ValueError):
    """A patch cannot be read (400) or does not fit the object (422)."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        #: 400, 413, 422 or 500. For 422 the server says no more than that it is refused.
        self.status = status
