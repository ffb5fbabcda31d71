"""Takes pictures of the screens of a release that is going on: `web/shots`.

    PYTHONPATH=tests:sandbox/tests python tools/web_shots.py [FOLDER]

A server of its own, on sandbox clusters and a repository; one release is done, the next one waits
for an approval. With the chromium of this machine, in both colour schemes and two widths.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import browser_world
import command_world
import process_time
import team_world

_APPROVAL = "      - name: WAIT_APPROVAL\n        with: {approvers: ['token:ana']}\n"
_STAGE = "      - name: K8S_PRIMARY_ROLLOUT"
#: Width and whether it is dark, by what the file is called after.
_FORMS = {"wide": (1280, False), "wide-dark": (1280, True), "narrow": (390, False)}
#: Milliseconds without a request after which a screen shows what it has; streams stay open.
_SETTLE = 1500


def screens(run: str) -> dict[str, str]:
    """Return the paths of the screens by their names."""
    return {
        "overview": "/",
        "run": f"/runs/{run}",
        "cell": f"/runs/{run}?stage=1-K8S_CANARY_ROLLOUT&cluster=eu&tab=objects",
        "application": "/applications/simple",
        "history": "/applications/simple?tab=history",
        "plan": "/applications/simple/plan",
        "fleet": "/fleet",
        "activity": "/activity",
        "insights": "/insights",
    }


async def take(folder: Path) -> list[Path]:
    """Take all pictures; returns their files."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="volary-shots-") as base:
        async with (
            command_world.world(Path(base), "us", "eu", "asia") as world,
            team_world.team(Path(base), world) as people,
            browser_world.launched() as chromium,
        ):
            await people.known()
            run = await _release(world, people)
            return [
                file
                for form, (width, dark) in _FORMS.items()
                for file in await _pictures(chromium, people, run, folder, form, width, dark)
            ]


async def _release(world: command_world.World, people: team_world.Team) -> str:
    """Push a version whose run waits for an approval; returns the run."""
    for file in sorted(world.directory.rglob("*.yaml")):
        text = file.read_text().replace("simple:v1", "simple:v2")
        file.write_text(text.replace(_STAGE, _APPROVAL + _STAGE))
    commit = command_world.commit(world.directory, "Release simple v2")
    await people.pushed(str(commit))
    async with asyncio.timeout(process_time.HANG):
        while True:
            run = json.loads((await people.volary("get", "runs", "-o", "json")).out)[0]
            if run["status"] not in ("pending", "planned", "running"):
                return str(run["id"])
            await asyncio.sleep(0.2)


async def _pictures(
    chromium: browser_world.Chromium,
    people: team_world.Team,
    run: str,
    folder: Path,
    form: str,
    width: int,
    dark: bool,
) -> list[Path]:
    files = []
    async with chromium.tab(people.url, width=width, dark=dark) as tab:
        await tab.open()
        await tab.log_in(people.token)
        for name, path in screens(run).items():
            await tab.open(path)
            await tab.page.get_by_role("main").wait_for()
            await tab.page.wait_for_timeout(_SETTLE)
            file = folder / f"{name}-{form}.png"
            await tab.page.screenshot(path=file)
            files.append(file)
    return files


def main(arguments: Sequence[str]) -> int:
    """Take them into the folder that is named; returns the exit code."""
    folder = Path(arguments[0] if arguments else Path(__file__).parents[1] / "web" / "shots")
    if not (browser_world.BUILD / "index.html").is_file():
        sys.stderr.write("error: the web UI was not built\n\nhint: make web\n")
        return 2
    if not browser_world.program():
        sys.stderr.write(
            "error: there is no chromium\n\nhint: apt-get install chromium, or name it:"
            " VOLARY_CHROMIUM\n"
        )
        return 2
    for file in asyncio.run(take(folder)):
        sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
