"""The mistakes that `make mutants` makes, and whose tests it runs for them."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants_tool", ROOT / "tools/mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _mutated(mutants: ModuleType, source: str) -> set[str]:
    return {mutation.apply(source) for mutation in mutants.mutations(source)}


@pytest.mark.parametrize(
    ("source", "mistakes"),
    [
        ("x = a and b and c", {"x = (b and c)", "x = (a and c)", "x = (a and b)"}),
        ("x = a or b", {"x = (b)", "x = (a)"}),
        ("x = not a", {"x = (a)"}),
        ("x = a == b", {"x = (a != b)"}),
        ("x = a < b <= c", {"x = (a <= b <= c)", "x = (a < b < c)"}),
        ("x = a is b", {"x = (a is not b)"}),
        ("if a:\n    b = c", {"if (not a):\n    b = c"}),
        ("x = [a for a in b if a]", {"x = [a for a in b if (not a)]"}),
        ("x = 3", {"x = (4)"}),
        ("x = True", {"x = (False)"}),
        ("if_(a)", {"pass"}),
        ("raise a", {"pass"}),
        ("x = f(a, b=c)", {"x = f(a)".replace("f(a)", "(f(a))")}),
        ("x += a", {"pass"}),
        ('x = "é"; y = 1', {'x = "é"; y = (2)'}),
    ],
)
def test_mistakes(mutants: ModuleType, source: str, mistakes: set[str]) -> None:
    assert _mutated(mutants, source) == mistakes


@pytest.mark.parametrize(
    "source",
    [
        '"""What it is."""',
        "x: Literal[1] = a",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "_LOG.info(1)",
        "x = f'{1}'",
        "if TYPE_CHECKING:\n    import a",
        "x = zip(a, b, strict=True)",
    ],
)
def test_what_nothing_depends_on_is_left_alone(mutants: ModuleType, source: str) -> None:
    assert _mutated(mutants, source) == set()


def test_a_mutation_names_its_line(mutants: ModuleType) -> None:
    (mutation,) = mutants.mutations("a = b\nc = (\n    d == e\n)")

    assert (mutation.line, mutation.what) == (3, "swapped comparison: d == e")


def test_the_same_seed_draws_the_same_sample(mutants: ModuleType) -> None:
    first = mutants.sample(ROOT, "planner", 5, 7)

    assert first == mutants.sample(ROOT, "planner", 5, 7)
    assert len(set(first)) == 5
    assert first != mutants.sample(ROOT, "planner", 5, 8)


def test_tests_come_by_their_distance_and_scenarios_last(
    mutants: ModuleType, tmp_path: Path
) -> None:
    for path, text in {
        "src/volary/planner/low.py": "",
        "src/volary/planner/high.py": "from volary.planner import low",
        "src/volary/planner/other.py": "",
        "tests/unit/planner/test_high.py": "from volary.planner import high",
        "tests/unit/planner/test_low.py": "import volary.planner.low",
        "tests/unit/planner/test_other.py": "from volary.planner import other",
        "tests/scenarios/test_strategies.py": "",
        "tests/scenarios/test_waves.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    chosen = mutants.Tests(tmp_path).of("volary.planner.low", "planner")

    assert [path.name for path in chosen] == ["test_low.py", "test_high.py", "test_strategies.py"]


def test_the_summary_counts_what_was_decided(mutants: ModuleType) -> None:
    mutation = mutants.Mutation(3, 0, 1, "pass", "dropped statement: f()")
    mutant = mutants.Mutant("engine", Path("a.py"), mutation)
    results = [(mutant, "killed by b"), (mutant, "survived"), (mutant, "undecided within 1 s")]

    assert mutants.summary(results, 5, 2).splitlines() == [
        "",
        "seed 5, 2 not tried: no time left",
        "engine        1 of   2 killed  50%, 1 undecided",
        "survived: a.py:3: dropped statement: f()",
        "undecided within 1 s: a.py:3: dropped statement: f()",
    ]
