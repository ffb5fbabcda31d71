"""GitOps: a commit becomes a run, newer ones wait or take over, a revert rolls it back."""

import textwrap
from pathlib import Path

import pytest

import command_world
from controller_world import ANA, SPEED, Controlled, controlled
from volary.controller.api import representations
from volary.model import server_settings
from volary.store import records

V1, V2, V3 = "example/simple:v1", "example/simple:v2", "example/simple:v3"


async def test_a_commit_is_rolled_out_and_its_revert_says_what_it_reverts(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
        controlled(world) as given,
    ):
        first = await given.until_application(lambda each: each.status == "synced")
        assert world.images("us") == f"{V1} 2/2"
        second = given.push(V1, V2, message="Deploy v2")
        await given.synced(second)
        assert [world.images(each) for each in ("us", "eu")] == [f"{V2} 2/2"] * 2
        third = given.push(V2, V1, message='Revert "Deploy v2"')
        await given.synced(third)

        runs = await given.runs()

        assert world.images("eu") == f"{V1} 2/2"
        assert [each.strategy for each in runs] == ["pipeline", "pipeline", "quick_sync"]
        assert runs[0].trigger == "reverts Deploy v2"
        assert runs[1].trigger == "deployment.yaml changed"
        assert (runs[1].running_commit, runs[1].by) == (
            first.running_commit,
            "Ana <ana@example.com>",
        )
        commits = (await given.service.commits("simple")).items
        assert [each.status for each in commits] == ["succeeded"] * 3


async def test_after_a_rollback_it_is_out_of_sync_until_git_is_rolled_out(
    tmp_path: Path,
) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
        controlled(world) as given,
    ):
        first = await given.until_application(lambda each: each.status == "synced")
        second = given.push(V1, V2)
        await given.synced(second)

        await given.service.ask_application("rollback", "simple", ANA, to="")
        back = await given.until_application(lambda each: each.status == "out_of_sync")
        shown = await given.service.statuses.get("simple")
        await given.service.sync("simple", ANA, strategy="quick")
        again = await given.synced(second)

        assert back.running_commit == first.running_commit
        both = f"{first.running_commit[:7]} runs, Git has {second[:7]}: "
        assert back.reason.startswith(f"{both}rolled back by ana")
        assert (shown.status, shown.reason) == ("out_of_sync", back.reason)
        assert again.status == "synced"


async def paused(given: Controlled) -> representations.Application:
    """Pause the run of the application once it has begun, and wait until nothing of it goes on."""
    running = await given.until_application(lambda each: each.status == "running")
    await given.until_run(running.run, lambda run: run.summary.status == "running")
    await given.ask_run("pause", running.run, ANA)
    await given.until_run(running.run, lambda run: run.summary.reason == "paused by ana")
    return running


async def test_only_the_newest_commit_waits_behind_a_run_and_the_others_say_so(
    tmp_path: Path,
) -> None:
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        second = given.push(V1, V2)
        running = await paused(given)
        older = given.push("replicas: 2", "replicas: 3", message="Three pods")
        await given.until_application(
            lambda each: each.waiting is not None and each.waiting.commit == older
        )
        newest = given.push(V2, V3)
        waiting = await given.until_application(
            lambda each: each.waiting is not None and each.waiting.commit == newest
        )
        assert waiting.waiting is not None
        assert waiting.waiting.waiting_reason == f"run {running.run} has to end first"
        shown = await given.service.statuses.get("simple")
        assert shown.waiting_reason.startswith(
            f"run {running.run} has to end first: paused by ana"
        ), "what the run waits for is the cause"
        assert shown.waiting_reason.endswith(f"; type volary resume {running.run}")
        (listed, *_) = await given.runs()
        assert listed.reason.startswith("paused by ana")
        await given.ask_run("resume", running.run, ANA)
        await given.synced(newest)

        runs = await given.runs()
        commits = {each.commit: each for each in (await given.service.commits("simple")).items}

        assert [each.commit for each in runs][:2] == [newest, second]
        assert runs[0].id == waiting.waiting.run
        assert commits[older].status == "superseded"
        assert commits[older].reason == f"superseded by {newest[:7]} before it began"
        assert world.images("us") == f"{V3} 3/3"


async def test_a_revert_in_mid_run_takes_the_run_back_at_once(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
        controlled(world) as given,
    ):
        first = await given.until_application(lambda each: each.status == "synced")
        given.push(V1, V2)
        running = await paused(given)
        reverting = given.push(V2, V1, message='Revert "Change it"')

        ended = await given.ended(running.run)
        stands = await given.until_application(lambda each: each.waiting is None)
        runs = await given.runs()
        commits = {each.commit: each for each in (await given.service.commits("simple")).items}

        assert ended.status in ("rolled_back", "cancelled")
        assert f"cancelled by Git: {reverting[:7]} takes it back" in ended.reason
        assert len(runs) == 2, "the revert needs no run of its own"
        assert (stands.status, stands.running_commit) == ("synced", first.running_commit)
        assert commits[reverting].status == "reverted"
        for each in ("us", "eu"):
            assert world.images(each) == f"{V1} 2/2"
            assert world.find(each, "Deployment", "simple-canary") is None


async def test_a_newer_commit_cancels_a_run_that_has_not_touched_primary(tmp_path: Path) -> None:
    cancel = server_settings.Supersede.CANCEL
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world, supersede=cancel) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        # Its canary never becomes ready, so that primary is not touched.
        world.running.clusters["us"].faults.images.add(V2, "bad")
        given.push(V1, V2)
        await given.until_application(lambda each: each.status == "running")
        running = await given.application()
        newest = given.push(V2, V3)

        ended = await given.ended(running.run)
        await given.synced(newest)

        assert ended.status in ("rolled_back", "cancelled")
        assert f"superseded by {newest[:7]}" in ended.reason
        assert world.images("us") == f"{V3} 2/2"


async def test_a_broken_file_breaks_only_its_application_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        other = (world.directory / "app.pipecd.yaml").read_text().replace("name: simple", "name: b")
        world.write({"b/app.pipecd.yaml": other.replace("K8S_CANARY_ROLLOUT", "K8S_NO_SUCH")})
        world.write({"b/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"})
        world.write({"README.md": "Two"}, message="Another application, broken")
        async with controlled(world) as given:
            await given.until_application(lambda each: each.status == "synced")

            page = await given.service.applications(records.ApplicationFilter())
            broken = next(each for each in page.items if each.name != "simple")

            assert broken.status == "broken"
            assert "K8S_NO_SUCH" in broken.reason
            assert broken.path == "b/app.pipecd.yaml"
            logged = [record.getMessage() for record in caplog.records]
            said = [line for line in logged if "b/app.pipecd.yaml cannot be used at" in line]
            assert len(said) == 1
            assert "K8S_NO_SUCH" in said[0]


async def test_a_policy_that_is_suspended_suspends_its_application_until_it_goes_on(
    tmp_path: Path,
) -> None:
    """Nothing is broken: somebody holds it back, in Git."""
    policy = """
        apiVersion: policy.karmada.io/v1alpha1
        kind: PropagationPolicy
        metadata: {name: simple}
        spec:
          resourceSelectors:
          - {apiVersion: apps/v1, kind: Deployment}
          - {apiVersion: v1, kind: Service}
          - {apiVersion: v1, kind: ConfigMap}
    """
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        ours = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: simple}\nspec: {}\n"
        files = {"volary.yaml": ours, "policy.yaml": textwrap.dedent(policy)}
        world.write(files, message="Placed by a policy")
        async with controlled(world) as given:
            await given.until_application(lambda each: each.status == "synced")
            held = textwrap.dedent(policy) + "  suspension: {dispatching: true}\n"
            world.write({"policy.yaml": held}, message="Hold it")

            suspended = await given.until_application(lambda each: each.status != "synced")
            seen = await given.service.statuses.get("simple")
            world.write({"policy.yaml": textwrap.dedent(policy)}, message="Go on")
            again = await given.until_application(lambda each: each.status != "suspended")

    assert suspended.status == seen.status == "suspended", suspended.reason
    assert "PropagationPolicy simple is suspended" in suspended.reason
    assert again.status != "broken"


async def test_a_secret_in_a_commits_title_is_kept_nowhere_while_it_waits(tmp_path: Path) -> None:
    """Before a commit is rendered nobody knows which of its words are secrets."""
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"
        "stringData: {password: correct-horse-battery}\n"
    )
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world) as given,
    ):
        await given.until_application(lambda each: each.status == "synced")
        given.push(V1, V2)
        running = await paused(given)
        title = 'Revert "Use correct-horse-battery"'
        commit = world.write({"secret.yaml": secret}, message=title)
        await given.until_application(
            lambda each: each.waiting is not None and each.waiting.commit == commit
        )
        waiting = await given.service.store.applications.get("simple")
        commits = await given.service.store.commits.list("simple")
        await given.ask_run("resume", running.run, ANA)
        await given.synced(commit)
        (run, *_) = await given.runs()

    assert "correct-horse" not in f"{waiting} {commits}"
    assert run.subject == 'Revert "Use *****"'
    assert run.trigger == "reverts Use *****"
