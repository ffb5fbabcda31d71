"""Every parser reads broken input as it should, and the fuzzer notices when one does not."""

from collections.abc import Callable, Iterable

import pytest

from fuzzing import __main__ as command
from fuzzing import parsers, trials
from volary.model import errors

#: `make fuzz` reads more.
SEEDS = range(1, 26)


@pytest.mark.parametrize("parser", parsers.all_parsers(), ids=lambda parser: parser.name)
def test_broken_input_is_refused_and_nothing_else_happens(parser: trials.Parser) -> None:
    faults = {seed: trials.attempt(parser, parser.make(seed)) for seed in SEEDS}

    assert {seed: fault for seed, fault in faults.items() if fault} == {}


@pytest.mark.parametrize("parser", parsers.all_parsers(), ids=lambda parser: parser.name)
def test_each_example_is_read(parser: trials.Parser) -> None:
    """Examples that are all refused would test nothing but the first line of a parser."""
    faults = {example: trials.attempt(parser, example) for example in parser.seeds}

    assert {example: fault for example, fault in faults.items() if fault} == {}


def test_a_seed_makes_the_same_input_again() -> None:
    first = {parser.name: parser.make(7) for parser in parsers.all_parsers()}

    assert {parser.name: parser.make(7) for parser in parsers.all_parsers()} == first
    assert len(set(first.values())) > len(first) // 2


def crashes(data: bytes) -> Iterable[str]:
    raise KeyError("spec")


def refuses(data: bytes) -> Iterable[str]:
    raise errors.user_error("there is no spec")


def tells(data: bytes) -> Iterable[str]:
    raise errors.user_error(f"{data.decode()} is no token")


def tells_its_cause(data: bytes) -> Iterable[str]:
    try:
        int(data)
    except ValueError as error:
        raise errors.user_error("this is no token") from error
    return ()


def never_ends(data: bytes) -> Iterable[str]:
    while True:
        data = data[:1]


def says_half_of_a_pair(data: bytes) -> Iterable[str]:
    return ["\ud800"]


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (crashes, "KeyError: 'spec'"),
        (refuses, ""),
        (tells, "a secret in a message"),
        (tells_its_cause, "a secret in a message"),
        (never_ends, "more than 0.2 s of processor time"),
        (says_half_of_a_pair, "a message that cannot be sent"),
    ],
)
def test_a_fault_is_noticed(read: Callable[[bytes], Iterable[str]], fault: str) -> None:
    parser = trials.Parser("planted", [trials.CANARY.encode()], read, has_secret=True)

    found = trials.attempt(parser, parser.seeds[0], most=0.2)

    assert found.startswith(fault)
    assert bool(found) == bool(fault)


def test_a_fault_is_printed_with_how_to_read_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = trials.Parser("planted", [b"kind: Application"], crashes)
    monkeypatch.setattr(parsers, "all_parsers", lambda: (planted,))

    assert command.main(["--inputs", "2", "--first", "7"]) == 1
    printed = capsys.readouterr().out
    assert command.main(["--show", "planted:8"]) == 1

    assert "python -m fuzzing --show planted:7" in printed
    assert "2 inputs of 1 parsers from seed 7 on: planted: 2" in printed
    assert repr(planted.make(8)) in capsys.readouterr().out
