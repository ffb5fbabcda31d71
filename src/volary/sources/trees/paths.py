"""Joining paths without leaving the tree. Pure."""


class OutsideError(ValueError):
    """A path is absolute, climbs above the root, or cannot be a path at all."""


def join(directory: str, path: str) -> str:
    """Return `path`, as written in `directory`, relative to the root; empty: the root.

    Raises:
        OutsideError: It is absolute, climbs above the root, or holds a NUL byte.
    """
    if path.startswith("/") or "\0" in path:
        raise OutsideError(path)
    parts = directory.split("/") if directory else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                raise OutsideError(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def is_below(path: str, directory: str) -> bool:
    """Say whether `path` is `directory` or inside it; both relative to the root."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def parent(path: str) -> str:
    """Return the directory that holds `path`; empty: the root."""
    return path.rpartition("/")[0]
