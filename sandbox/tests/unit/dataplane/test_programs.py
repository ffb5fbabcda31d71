"""Programs that run beside a sandbox."""

import asyncio
import sys
from pathlib import Path

import pytest

import process_time
from kube_sandbox import errors
from kube_sandbox.dataplane import programs


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a program that is Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "serpent").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(folder))
    return "serpent"


async def start(name: str, code: str, directory: Path) -> programs.Program:
    log = directory / "log"
    return await programs.start(name, ["-c", code], log=log, directory=directory)


async def never() -> bool:
    return False


async def test_one_that_ends_says_why(python: str, tmp_path: Path) -> None:
    program = await start(python, "raise SystemExit('no such flag')", tmp_path)

    with pytest.raises(errors.UserError, match="serpent has ended: no such flag"):
        await program.until(never)

    await program.stop()


async def test_one_that_does_not_come_up_is_not_waited_for_long(
    python: str, tmp_path: Path
) -> None:
    program = await start(python, "import time; time.sleep(3600)", tmp_path)

    with pytest.raises(errors.UserError, match=r"is not ready after 0\.2 seconds"):
        await program.until(never, seconds=0.2)

    await program.stop()


async def test_one_that_will_not_end_is_ended(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_GRACE", 0.2)
    code = (
        "import pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "pathlib.Path('there').touch(); time.sleep(3600)"
    )
    program = await start(python, code, tmp_path)

    async def there() -> bool:
        return (tmp_path / "there").exists()

    await program.until(there)
    async with asyncio.timeout(process_time.HANG):
        await program.stop()


async def test_one_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.UserError, match="no-such-program is not installed"):
        await start("no-such-program", "", tmp_path)
    monkeypatch.setenv(programs.VARIABLE, "none")
    assert programs.find("sh") is None
