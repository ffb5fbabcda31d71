"""Real programs that render, and what they reach when nobody looked at their input before."""

import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import listener
import process_time
from volary import subprocesses
from volary.isolation import isolated_programs, launcher, probing
from volary.model import applications, errors
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]
REFUSED = Path(__file__).parents[3] / "cases/kustomize/refused"
FETCHING = sorted(
    case.name
    for case in REFUSED.iterdir()
    if any("PORT" in file.read_text() for file in case.rglob("*.yaml"))
)
LIMITS = isolated_programs.Limits(time=timedelta(seconds=process_time.HANG))
#: Cases whose fetching the kustomize of today does; the others end before.
REACHING = ("inline_generator_fetches", "generator_file_fetches", "remote_resources")


@pytest.fixture
async def server() -> AsyncIterator[listener.Listener]:
    async with listener.listening() as made:
        yield made


async def build(
    case: str, port: int, directory: Path, isolation: probing.Isolation
) -> subprocesses.ProcessResult:
    """Run kustomize on a case without looking at it, with the address of a server in it."""
    shutil.copytree(REFUSED / case, directory / case)
    for file in (directory / case).rglob("*.yaml"):
        file.write_text(file.read_text().replace("PORT", str(port)))
    kubectl = programs.find()["kubectl"]
    return await isolated_programs.run(
        [kubectl, "kustomize", str(directory / case / "app")],
        environment=subprocesses.private_environment(kubectl, directory),
        directory=directory,
        limits=LIMITS,
        required=False,
        isolation=isolation,
    )


@pytest.mark.parametrize("case", FETCHING)
async def test_kustomize_reaches_no_server_even_unchecked(
    case: str, server: listener.Listener, tmp_path: Path
) -> None:
    isolation = probing.probe()
    assert isolation.has_no_network, isolation.sentence

    finished = await build(case, server.port, tmp_path, isolation)

    assert listener.SECRET not in finished.text("kustomize") + finished.complaint
    assert server.connections == 0


@pytest.mark.parametrize("case", REACHING)
async def test_it_would_reach_it_otherwise(
    case: str, server: listener.Listener, tmp_path: Path
) -> None:
    """What the test above is worth: the same program, the same case, and the server is asked."""
    await build(case, server.port, tmp_path, probing.Isolation(launcher.NONE))

    assert server.connections > 0


HELM = f"""#!{sys.executable}
import sys, urllib.request
sys.stdout.write(urllib.request.urlopen("URL", timeout=60).read().decode())
"""


async def test_a_program_in_the_place_of_helm_reaches_no_server(
    directory_tree: Tree, server: listener.Listener, tmp_path: Path
) -> None:
    helm = tmp_path / "helm"
    helm.write_text(HELM.replace("URL", server.url))
    helm.chmod(0o755)
    files = directory_tree({"app/volary.yaml": "", "chart/Chart.yaml": "name: shop\n"})
    given = applications.Input(helm_chart=applications.HelmChart("../chart"))
    described = applications.Application("shop", input=given)
    settings = programs.Settings(tools={"helm": str(helm)}, limits=LIMITS, requires_isolation=True)

    with pytest.raises(errors.UserError, match="helm failed") as caught:
        await renderers.Renderer(settings).render(files, described, directory="app", target="us")

    assert listener.SECRET not in str(caught.value)
    assert server.connections == 0


def maps(count: int) -> str:
    one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{}}}\n"
    return "---\n".join(one.format(number) for number in range(count))


async def test_a_program_in_go_uses_no_more_memory_than_it_may(directory_tree: Tree) -> None:
    """Enough to begin with, and not enough for what it is given."""
    limits = replace(LIMITS, memory=192 << 20)
    bounded = renderers.Renderer(programs.Settings(limits=limits))
    many = "".join(f"  key{number}: value\n" for number in range(200_000))
    files = directory_tree(
        {
            "few/kustomization.yaml": "resources: [a.yaml]",
            "few/a.yaml": maps(3),
            "many/kustomization.yaml": "resources: [a.yaml]",
            "many/a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{many}",
        }
    )

    await bounded.render(files, APPLICATION, directory="few", target="us")
    with pytest.raises(errors.UserError, match="kubectl needed more than 192 MiB of memory"):
        await bounded.render(files, APPLICATION, directory="many", target="us")


async def test_a_rendering_that_writes_too_much_is_refused(directory_tree: Tree) -> None:
    limits = replace(LIMITS, output=1 << 20)
    bounded = renderers.Renderer(programs.Settings(limits=limits))
    text = "x" * 100_000
    generators = ", ".join(f"{{name: a{number}, files: [text]}}" for number in range(20))
    files = directory_tree(
        {"kustomization.yaml": f"configMapGenerator: [{generators}]", "text": text}
    )

    with pytest.raises(errors.UserError, match="kubectl wrote more than 1 MiB"):
        await bounded.render(files, APPLICATION, directory="", target="us")


APPLICATION = applications.Application("shop")
