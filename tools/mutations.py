"""Small mistakes that can be made in the source of a module, and the functions they are in."""

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_PAIRS: tuple[tuple[type[ast.cmpop], type[ast.cmpop]], ...] = (
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
)
_COMPARISONS = {**dict(_PAIRS), **{other: one for one, other in _PAIRS}}
#: Calls and arguments that nothing promised depends on.
_UNPROMISED = re.compile(r"^(_?log|logger|logging|_LOG|gc)\.|^assert_never\b")
_UNPROMISED_ARGUMENTS = {"strict", "slots", "frozen", "stacklevel", "exc_info"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A piece of source text and what stands there instead."""

    line: int
    #: Offsets in the encoded source.
    start: int
    end: int
    text: str
    what: str

    def apply(self, source: str) -> str:
        """Return the source with the mistake in it."""
        encoded = source.encode()
        return (encoded[: self.start] + self.text.encode() + encoded[self.end :]).decode()


def find(source: str) -> list[Mutation]:
    """Return every mistake that can be made in a module, in the order of its lines."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    made = []
    for node, replacement, what in _changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        written = ast.unparse(replacement)
        text = f"({written})" if isinstance(replacement, ast.expr) else written
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        made.append(Mutation(node.lineno, start, end, text, what))
    return sorted(made, key=lambda mutation: (mutation.start, mutation.end, mutation.what))


_Node = ast.expr | ast.stmt
_Change = tuple[_Node, _Node, str]


def _changes(tree: ast.AST) -> Iterator[_Change]:
    """Return the changes of a tree's nodes, without annotations, decorators and f-strings."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            if isinstance(node, ast.keyword) and node.arg in _UNPROMISED_ARGUMENTS:
                continue
            if isinstance(node, ast.Expr) and _UNPROMISED.match(ast.unparse(node)):
                continue
            yield from _conditions(node)
            yield from _statements(node)
            yield from _expressions(node)
            yield from _changes(node)


def _conditions(node: ast.AST) -> Iterator[_Change]:
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        negated = ast.UnaryOp(ast.Not(), test)
        yield test, negated, f"negated condition: {_short(test)}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, node.operand, f"dropped not: {_short(node)}"


def _statements(node: ast.AST) -> Iterator[_Change]:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    if is_call or isinstance(node, ast.Raise | ast.AugAssign | ast.Continue | ast.Break):
        assert isinstance(node, ast.stmt)
        yield node, ast.Pass(), f"dropped statement: {_short(node)}"


def _expressions(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        for index, operand in enumerate(node.values):
            rest = [*node.values[:index], *node.values[index + 1 :]]
            changed = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            yield node, changed, f"dropped operand of {word}: {_short(operand)}"
    elif isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            if other := _COMPARISONS.get(type(operator)):
                changed_compare = copy.deepcopy(node)
                changed_compare.ops[index] = other()
                yield node, changed_compare, f"swapped comparison: {_short(node)}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield node, ast.Constant(value), f"changed constant: {node.value} to {value}"
    elif isinstance(node, ast.Call):
        for index, keyword in enumerate(node.keywords):
            if keyword.arg in _UNPROMISED_ARGUMENTS:
                continue
            keywords = [*node.keywords[:index], *node.keywords[index + 1 :]]
            changed_call = ast.Call(node.func, node.args, keywords)
            yield node, changed_call, f"dropped argument: {keyword.arg} of {_short(node.func)}"


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:67] + "…"


def function_at(source: str, line: int) -> str:
    """Return the name of the outermost function at a line, `Class.method`; nothing outside."""
    names: list[str] = []
    body: Sequence[ast.stmt] = ast.parse(source).body
    while True:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                assert node.end_lineno is not None
                if node.lineno <= line <= node.end_lineno:
                    names.append(node.name)
                    if not isinstance(node, ast.ClassDef):
                        return ".".join(names)
                    body = node.body
                    break
        else:
            return ""
