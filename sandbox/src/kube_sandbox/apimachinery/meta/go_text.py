"""Values as Go prints them into messages (``%v``): ``map[a:1 b:[x y]]``."""


def printed(value: object) -> str:
    """Return a JSON value in Go's notation; keys are sorted, texts have no quotes."""
    if isinstance(value, dict):
        entries = (f"{key}:{printed(value[key])}" for key in sorted(value))
        return f"map[{' '.join(entries)}]"
    if isinstance(value, list):
        return f"[{' '.join(printed(item) for item in value)}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
