"""Writes the tree of packages into docs/explanation/architecture.md; a test compares the two.

python tools/write_package_tree.py
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/architecture.md"
_BEGIN = "<!-- packages: written by tools/write_package_tree.py -->\n"
_END = "<!-- end of packages -->\n"
_COLUMN = 28


def page() -> str:
    """Return the page with the tree as the packages' docstrings have it."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    return before + _BEGIN + "\n" + tree() + "\n" + _END + after


def tree() -> str:
    """Return the packages two levels deep, each with the first sentence of its docstring."""
    lines = ["```text"]
    for folder in (ROOT / "src/volary", ROOT / "sandbox/src/kube_sandbox"):
        lines.append(f"{folder.relative_to(ROOT)}/")
        lines += _lines(folder, depth=1)
    return "\n".join([*lines, "```\n"])


def _lines(folder: Path, *, depth: int) -> Iterator[str]:
    for init in sorted(folder.glob("*/__init__.py")):
        name = "  " * depth + init.parent.name + "/"
        yield f"{name:<{_COLUMN}}{_first_sentence(init)}".rstrip()
        if depth < 2:
            yield from _lines(init.parent, depth=depth + 1)


def _first_sentence(init: Path) -> str:
    docstring = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
