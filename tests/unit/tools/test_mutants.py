"""The mistakes that `make mutants` makes, and whose tests it runs for them."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import mutations
import pytest
import test_map

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


def _mutated(source: str) -> set[str]:
    return {mutation.apply(source) for mutation in mutations.find(source)}


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
def test_mistakes(source: str, mistakes: set[str]) -> None:
    assert _mutated(source) == mistakes


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
def test_what_nothing_depends_on_is_left_alone(source: str) -> None:
    assert _mutated(source) == set()


def test_a_mutation_names_its_line() -> None:
    (mutation,) = mutations.find("a = b\nc = (\n    d == e\n)")

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
    mutation = mutations.Mutation(3, 0, 1, "pass", "dropped statement: f()")
    mutant = mutants.Mutant("engine", Path("a.py"), mutation)
    results = [(mutant, "killed by b"), (mutant, "survived"), (mutant, "undecided within 1 s")]

    assert mutants.summary(results, 5, 2).splitlines() == [
        "",
        "seed 5, 2 not tried: no time left",
        "engine        1 of   2 killed  50%, 1 undecided",
        "survived: a.py:3: dropped statement: f()",
        "undecided within 1 s: a.py:3: dropped statement: f()",
    ]


@pytest.mark.parametrize(
    ("line", "function"),
    [(1, ""), (2, "outer"), (4, "outer"), (6, ""), (8, "Class.method"), (9, "Class.method")],
)
def test_a_line_is_of_the_outermost_function(line: int, function: str) -> None:
    source = "A = 1\ndef outer():\n    def inner():\n        return 1\n    return inner\nB = 2\n"
    source += "class Class:\n    def method(self):\n        return [one for one in ()]\n"
    assert mutations.function_at(source, line) == function


def test_tests_that_execute_a_function(tmp_path: Path) -> None:
    recorded = {
        "functions": ["src/volary/a.py:f", "src/volary/a.py:g"],
        "tests": {
            "t/one.py::slow": [5.0, [0]],
            "t/one.py::quick": [0.1, [0, 1]],
            "t/two.py::long": [9.0, [0]],
        },
    }
    (tmp_path / "gw0.json").write_text(json.dumps(recorded))
    tests = test_map.read(tmp_path)
    assert tests.of("src/volary/a.py:g", 60) == ["t/one.py::quick"]
    # Of every file the quickest, and no more than there is time for.
    assert tests.of("src/volary/a.py:f", 10) == ["t/one.py::quick", "t/two.py::long"]
    assert tests.of("src/volary/a.py:unknown", 10) == []


def test_a_run_records_what_it_executes(tmp_path: Path) -> None:
    (tmp_path / "src/volary").mkdir(parents=True)
    (tmp_path / "src/volary/__init__.py").touch()
    (tmp_path / "src/volary/thing.py").write_text(
        "class Thing:\n    def use(self):\n        return [one for one in (1, 2)]\n"
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
    )
    (tmp_path / "test_thing.py").write_text(
        "from volary import thing\n"
        "def test_use():\n    assert thing.Thing().use()\n"
        "def test_nothing():\n    pass\n"
    )
    sources = os.pathsep.join([str(tmp_path / "src"), str(ROOT / "tools")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "test_map", "--test-map", "map"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": sources}, check=True)
    tests = test_map.read(tmp_path / "map")
    assert tests.of("src/volary/thing.py:Thing.use", 60) == ["test_thing.py::test_use"]


def test_mutants_are_tried_in_forks_of_one_session(tmp_path: Path) -> None:
    (tmp_path / "product.py").write_text(
        "class Thing:\n    def size(self):\n        return 1\n\n    def name(self):\n"
        "        return 'thing'\n"
    )
    (tmp_path / "test_thing.py").write_text(
        "import product\n"
        "def test_size():\n    assert product.Thing().size() == 1\n"
        "def test_nothing():\n    product.Thing().name()\n"
    )
    settings = "[pytest]\nasyncio_default_fixture_loop_scope = function\npythonpath = .\n"
    (tmp_path / "pytest.ini").write_text(settings)
    (tmp_path / "trial.py").write_text(
        "import pathlib\n"
        "import forked_mutants\n"
        "path = pathlib.Path('product.py')\n"
        "source = path.read_text()\n"
        "def candidate(function, before, after):\n"
        "    mistaken = source.replace(before, after)\n"
        "    tests = ['test_thing.py']\n"
        "    return forked_mutants.Candidate('product', function, path, mistaken, tests)\n"
        "candidates = [\n"
        "    candidate('Thing.size', '1', '2'),\n"
        "    candidate('Thing.name', 'thing', 'other'),\n"
        "    candidate('Thing.absent', '1', '2'),\n"
        "]\n"
        "report = lambda number, test: print('result', number, test)\n"
        "forked_mutants.run(forked_mutants.Session(candidates, 2, 60, report), '.')\n"
    )
    tools = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    command = [sys.executable, "trial.py"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=tools, check=True, capture_output=True, text=True
    )
    results = {line for line in ended.stdout.splitlines() if line.startswith("result")}
    # What is not there to be exchanged is not decided.
    assert results == {"result 0 test_thing.py::test_size", "result 1 None"}
