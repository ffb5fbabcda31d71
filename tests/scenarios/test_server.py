"""`volary server` in a process of its own, driven by Git and by the commands against it."""

import asyncio
import json
import re
import signal
from pathlib import Path

import aiohttp

import command_world
import kubectl
import process_time
import team_world


async def test_git_drives_and_people_steer(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        first = await people.volary("status", "simple", "--wait")
        watched = await people.volary("watch", "simple", "-o", "json")
        said = await people.volary("logs", "simple", "-f", "--cluster", "eu")
        refused = await people.volary("approve", "simple", "--comment", "fine")
        nobody = await people.volary("describe", "nothing")
        again = await people.volary("sync", "simple", "--strategy", "quick", "--watch")
        whole = await people.volary("get", "app", "simple", "-o", "wide")
        direct = await world.volary("get", "app", ".", "--fleet", world.fleet)
        runs = json.loads((await people.volary("get", "runs", "-o", "json")).out)
        world.running.clusters["eu"].faults.change({"denied": ["patch deployments.apps"]})
        denied = await people.volary("sync", "simple", "--strategy", "pipeline", "--watch")
        world.running.clusters["eu"].faults.clear()
        why = await people.volary("explain", "simple")
        stranger = await world.volary("get", "apps", VOLARY_SERVER=people.url)
        people.process.interrupt(signal.SIGTERM)
        stopped = await people.process.ended()

    assert (first.code, "succeeded" in first.out) == (0, True), first
    assert watched.events[0]["event"] == "run-started"
    assert watched.events[-1]["status"] == "succeeded"
    assert "eu  1-K8S_SYNC" in said.out
    assert "us  1-K8S_SYNC" not in said.out
    assert (refused.code, "cannot be approved" in refused.err) == (2, True), refused
    assert (nobody.code, "there is no run nothing" in nobody.err) == (2, True), nobody
    assert again.code == 0, again
    for each in (whole, direct):
        assert "simple:     healthy: healthy in 2 clusters" in each.out, each
        assert "pods:       4 of 4 ready in 2 clusters" in each.out
    assert "server:     synced" in whole.out
    assert re.search(
        r"^eu +\w+ +healthy +2/2 +[0-9a-f]{7} +primary simple:v1 ", whole.out, re.MULTILINE
    )
    assert (denied.code, "failed: " in denied.out) == (1, True), denied
    assert "patch" in denied.out
    assert runs[0]["by"] == "token:ana"
    assert "token:ana" in why.out
    assert (stranger.code, "credentials are needed" in stranger.err) == (2, True), stranger
    assert stopped.code == 0, stopped


async def test_a_script_waits_for_what_git_says(tmp_path: Path) -> None:
    """Never for the run before: right after a push, also of a commit that cannot be released."""
    async with (
        command_world.world(tmp_path, "us") as world,
        team_world.team(tmp_path, world, interval="1h") as people,
    ):
        await people.known()
        good = world.edit("deployment.yaml", "simple:v1", "simple:v2")
        second = await people.volary("status", "simple", "--wait")
        world.edit("app.pipecd.yaml", "K8S_CANARY_ROLLOUT", "K8S_NO_SUCH")
        broken = await people.volary("status", "simple", "--wait")
        before = await people.volary("status", "simple", "--commit", good[:10])
        world.edit("app.pipecd.yaml", "K8S_NO_SUCH", "K8S_CANARY_ROLLOUT")
        world.edit("deployment.yaml", "replicas: 2", "replicas: 3")
        world.running.clusters["us"].faults.change({"denied": ["patch deployments.apps"]})
        refused = await people.volary("status", "simple", "--wait")
        world.running.clusters["us"].faults.clear()
        runs = json.loads((await people.volary("get", "runs", "-o", "json")).out)
        nowhere = await people.volary("status", "simple", "--commit", "0123456")
        newest = world.edit("deployment.yaml", "simple:v2", "simple:v3")
        synced = await people.volary("sync", "simple", "--strategy", "quick", "--watch")
        last = json.loads((await people.volary("status", "simple", "--wait", "-o", "json")).out)
        image = world.images("us")

    assert (second.code, "succeeded" in second.out) == (0, True), second
    assert (broken.code, "failed: " in broken.out) == (1, True), broken
    assert "K8S_NO_SUCH" in broken.out
    assert (before.code, "succeeded" in before.out) == (0, True), before
    assert (refused.code, "patch" in refused.out) == (1, True), refused
    assert [run["status"] for run in runs] == ["failed", "failed", "succeeded", "succeeded"]
    assert (nowhere.code, "simple has no commit 0123456" in nowhere.err) == (2, True), nowhere
    assert synced.code == 0, synced
    assert (last["commit"], last["status"]) == (newest, "succeeded")
    assert image.startswith("example/simple:v3 ")


async def test_the_cause_stays_on_the_screen_and_what_to_type_works(tmp_path: Path) -> None:
    """A second commit waits behind a canary that hangs on one of two clusters."""
    first, always = "  pipeline:\n", "  planner: {alwaysUsePipeline: true}\n  pipeline:\n"
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        world.running.clusters["eu"].faults.change({"images": {"*:v2": "never-ready"}})
        world.edit("app.pipecd.yaml", first, always)
        await people.pushed(world.edit("deployment.yaml", "simple:v1", "simple:v2"))
        cause = "eu: simple-canary: 0 of 1 pods available"
        async with asyncio.timeout(process_time.HANG):
            while cause not in (await people.volary("get", "runs")).out:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        world.edit("deployment.yaml", "simple:v2", "simple:v3")
        await people.request_refresh()
        async with asyncio.timeout(process_time.HANG):
            apps = await people.volary("get", "apps")
            while "has to end first" not in apps.out:
                await asyncio.sleep(0.1)
                apps = await people.volary("get", "apps")
        looks = [
            apps,
            await people.volary("get", "app", "simple"),
            await people.volary("get", "runs"),
            await people.volary("describe", "simple"),
            await people.volary("explain", "simple"),
            await people.volary("status", "simple"),
        ]
        refused = await people.volary("retry", "simple")
        (typed,) = re.findall(r"possible now: .*volary (skip .*)$", refused.err, re.MULTILINE)
        skipped = await people.volary(*typed.split())
        ended = await people.volary("status", "simple", "--wait")
        late = await people.volary("retry", typed.split()[1])

    for look in looks:
        assert cause in look.out, look
        assert "type" in look.out + look.err, look
    assert refused.code == 2, refused
    assert skipped.code == 0, skipped
    assert ended.code == 0, ended
    assert re.search("hint: possible now: volary sync simple", late.err), late


async def test_a_refused_mass_deletion_is_no_green_run_without_a_word(tmp_path: Path) -> None:
    plugin = "kubernetes_multicluster:\n"
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{}}}\n"
    many = {f"c{number}.yaml": settings.format(number) for number in range(9)}
    async with command_world.world(tmp_path, "us") as world:
        world.write(many)
        world.edit("app.pipecd.yaml", plugin, f"{plugin}      quickSync: {{prune: true}}\n")
        async with team_world.team(tmp_path, world, interval="1h") as people:
            await people.known()
            for name in many:
                (world.directory / name).unlink()
            world.write({}, message="Remove them")
            ended = await people.volary("sync", "simple", "--strategy", "quick", "--watch")
            apps = await people.volary("get", "apps")
            run = json.loads(
                (await people.volary("describe", ended.out.split()[0], "-o", "json")).out
            )

    refusal = "nothing is pruned: 9 of 12 objects would be deleted, 6 are allowed at once"
    assert ended.code == 0, ended
    assert f"succeeded_with_exceptions: every stage is done on us, but us: {refusal}" in ended.out
    assert "out_of_sync" in apps.out, apps
    assert refusal in apps.out
    assert run["targets"][0]["exception"].startswith(refusal)


async def test_a_person_decides(tmp_path: Path) -> None:
    first = "  pipeline:\n    stages:\n"
    always = "  planner:\n    alwaysUsePipeline: true\n"
    gate = "      - name: WAIT_APPROVAL\n        with:\n          approvers: ['token:ana']\n"
    async with (
        command_world.world(tmp_path, "us") as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        head = world.edit("app.pipecd.yaml", first, always + first + gate, message="Ask first")
        await people.pushed(head)
        waiting = await people.volary("status", "simple", "--wait")
        why = await people.volary("explain", "simple")
        approved = await people.type_what_is_said("approve", "--comment", "looks good")
        done = await people.volary("status", "simple", "--wait")
        described = await people.volary("describe", "simple", "-o", "yaml")

    assert waiting.code == 3, waiting
    assert "waits:" in why.out
    assert approved.code == 0, approved
    assert done.code == 0, done
    assert head in described.out


async def test_every_command_reaches_the_run(tmp_path: Path) -> None:
    """From a push that fails on one cluster to everything a person can make of it."""
    first = "  pipeline:\n    stages:\n"
    hold = "  planner:\n    alwaysUsePipeline: true\n    holdOnFailure: true\n"
    gate = "      - name: WAIT_APPROVAL\n        with:\n          approvers: ['token:ana']\n"
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        (began, *_) = json.loads((await people.volary("get", "runs", "-o", "json")).out)
        await people.pushed(
            world.edit("app.pipecd.yaml", first, hold + first + gate, message="Ask first")
        )
        codes = [(await people.volary("status", "simple", "--wait")).code]
        for words in (("pause", "simple", "--reason", "lunch"), ("resume", "simple")):
            codes.append((await people.volary(*words)).code)
        codes.append((await people.type_what_is_said("reject", "--comment", "not today")).code)
        held = await people.volary("status", "simple", "--wait")
        kept = await people.volary("cancel", "simple", "--keep")
        cancelled = await people.volary("status", "simple", "--wait")

        await people.pushed(
            world.edit("deployment.yaml", "simple:v1", "simple:v2", message="Deploy v2")
        )
        await people.volary("status", "simple", "--wait")
        world.running.clusters["eu"].faults.change({"denied": ["patch deployments.apps"]})
        unsaid = await people.volary("approve", "simple")
        (typed,) = re.findall(r"hint: volary (approve .*)$", unsaid.err, re.MULTILINE)
        await people.volary(*typed.split())
        failed = await people.volary("status", "simple", "--wait")
        retried = await people.type_what_is_said("retry", "--cluster", "eu")
        again = await people.volary("status", "simple", "--wait")
        skipped = await people.volary("skip", "simple", "--cluster", "eu", "--reason", "it burns")
        ended = await people.volary("status", "simple", "--wait")
        world.running.clusters["eu"].faults.clear()
        back = await people.volary("rollback", "simple", "--to", began["commit"])
        late = await people.volary("retry", back.out.strip())
        clusters = await people.volary("get", "clusters", "-o", "wide")
        logged_in = await people.log_in()
        as_ana = await world.volary("get", "apps", "--server", people.url)

    assert codes == [3, 0, 0, 0]
    assert unsaid.code == 2, unsaid
    assert "--stage 1-WAIT_APPROVAL --seen" in typed
    assert (held.code, kept.code, cancelled.code) == (3, 0, 1), (held, kept, cancelled)
    assert "cancelled" in cancelled.out
    assert (failed.code, retried.code, again.code) == (3, 0, 3), (failed, retried, again)
    assert (skipped.code, ended.code) == (0, 0), (skipped, ended)
    assert "succeeded_with_exceptions" in ended.out
    assert "it burns" in ended.out
    assert (back.code, late.code) == (0, 2), (back, late)
    assert "ready" in clusters.out
    assert (logged_in, as_ana.code, "simple" in as_ana.out) == (0, 0, True), as_ana


async def test_a_secret_is_never_seen(tmp_path: Path) -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: simple\n"
        f'  annotations: {{"example.org/key": "{team_world.CANARY}"}}\n'
        f"stringData: {{password: {team_world.CANARY}}}\n"
    )
    async with (
        command_world.world(tmp_path, "us") as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        world.write({"secret.yaml": secret}, message="Use a secret")
        await people.request_refresh()
        await process_time.until(lambda: world.find("us", "Secret", "simple") is not None)
        await people.known()
        async with asyncio.timeout(process_time.HANG):
            tree = ("get", "app", "simple", "--tree")
            while "Secret default/simple" not in (await people.volary(*tree)).out:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        seen = await _everything(people)
        secret_object = "/applications/simple/clusters/us/object?kind=Secret&name=simple"
        async with (
            aiohttp.ClientSession(headers={"authorization": f"Bearer {people.token}"}) as session,
            session.get(f"{people.url}/api/v1{secret_object}&namespace=default") as answer,
        ):
            seen["object"] = await answer.text()
        seen["tree"] = await people.read("/applications/simple/tree/stream", "tree")
        people.process.interrupt(signal.SIGTERM)
        seen["log"] = (await people.process.ended()).err
        kept = b"".join(each.read_bytes() for each in people.data.glob("volary.db*"))

        assert world.find("us", "Secret", "simple") is not None

    assert len(seen) > 15
    assert '"password":"*****"' in seen["object"]
    assert '"kind":"Secret"' in seen["tree"]
    assert [where for where, text in seen.items() if team_world.CANARY in text] == []
    assert team_world.CANARY.encode() not in kept


async def _everything(people: team_world.Team) -> dict[str, str]:
    """Return what every path that can be read shows, and what refusals say."""
    headers = {"authorization": f"Bearer {people.token}"}
    async with aiohttp.ClientSession(people.url, headers=headers) as session:
        seen = await team_world.everything_shown(session)
        for path, body in (
            ("plan", {}),
            ("sync", {"commit": f"{team_world.CANARY}"[:3], "strategy": "no"}),
            ("sync", {team_world.CANARY: 1}),
        ):
            async with session.post(f"/api/v1/applications/simple/{path}", json=body) as answer:
                seen[f"POST {path} {len(body)}"] = await answer.text()
        wrong = {"authorization": f"Bearer {team_world.CANARY}"}
        async with session.get("/api/v1/runs", headers=wrong) as answer:
            seen["wrong token"] = await answer.text()
    return seen


async def test_the_tree_of_an_application_is_shown_and_followed(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", tls=True) as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        tree = ("get", "app", "simple", "--tree")
        async with asyncio.timeout(process_time.HANG):
            while "Pod × 4" not in (summed := await people.volary(*tree)).out:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        one = await people.volary("get", "app", "simple", "--cluster", "eu")
        document = await people.volary("get", "app", "simple", "--tree", "-o", "json")
        nowhere = await people.volary("get", "app", "simple", "--tree", "--cluster", "asia")
        senseless = await people.volary("get", "apps", "--tree")

        following = ("get", "app", "simple", "--watch", "-o", "json")
        environment = {"VOLARY_SERVER": people.url, "VOLARY_TOKEN": people.token}
        async with world.start(*following, **environment) as watching:
            first = json.loads(await watching.process.stdout.readline())
            pods = [
                pod["metadata"]["name"]
                for pod in world.running.clusters["us"].view.list("Pod", "default")
            ]
            await kubectl.run(world.running.clusters["us"], "delete", "pod", pods[0])
            async with asyncio.timeout(process_time.HANG):
                while not (change := json.loads(await watching.process.stdout.readline()))[
                    "removed"
                ]:
                    pass

            said = await people.read(
                "/applications/simple/clusters/us/logs/stream?namespace=default&pod=" + pods[1],
                "end",
            )
            whole = await people.read("/applications/simple/tree/stream", "tree")
            foreign = await people.read("/applications/simple/tree/stream?after=7", "tree")

    assert '"text":' in said, said
    assert '"cluster":"us"' not in whole
    assert whole.count("\nid: ") == foreign.count("\nid: ") == 1
    assert "READY" in summed.out, summed
    assert "4/4" in summed.out, summed
    assert "└─ ReplicaSet simple-" in one.out, one
    assert "Pod × " not in one.out, one
    assert [cluster["name"] for cluster in json.loads(document.out)["clusters"]] == ["us", "eu"]
    assert "there is no cluster that simple is on, called asia" in nowhere.err, nowhere
    assert "--watch belong to `get app NAME`" in senseless.err, senseless
    assert first["event"] == "tree"
    assert change["cluster"]["name"] == "us"
