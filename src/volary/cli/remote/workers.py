"""Workers of a server: made, and who takes tasks."""

from collections.abc import Iterator, Sequence

from volary.agents import hellos
from volary.agents.orders import keys
from volary.agents.tasks import worker_identities
from volary.cli import console, durations, exit_codes, forms
from volary.cli.remote import client, output
from volary.controller import system_clock
from volary.model import json, phrases

_MOST = 5_000


async def join(server: client.Client, name: str, clusters: Sequence[str]) -> int:
    """Register a worker and print its identity: the private key never leaves this machine."""
    await _print(server, (name,), {"clusters": list(clusters)})
    console.tell(f"worker {name} may join; what was printed is secret, and is shown this once")
    return exit_codes.Exit.DONE


async def rotate(server: client.Client, name: str) -> int:
    """Make another token and key, and print the identity that takes the place of the one before."""
    await _print(server, (name, "rotate"), {})
    console.tell(
        f"put this in the place of the identity of worker {name}: the one before stays good until"
        " this one was used"
    )
    return exit_codes.Exit.DONE


async def remove(server: client.Client, name: str) -> int:
    """Take the rights of a worker."""
    before = await server.post("workers", name, "remove", body={})
    console.tell(f"worker {before['name']} has no rights any more")
    return exit_codes.Exit.DONE


async def _print(server: client.Client, path: Sequence[str], body: json.JsonObject) -> None:
    opening = keys.generate_opening()
    public = keys.public(keys.read_opening(opening))
    made = await server.post("workers", *path, body={**body, "sealingKey": public})
    identity = worker_identities.WorkerIdentity(
        made["worker"],
        tuple(made["clusters"]),
        tuple(dict.fromkeys((*made["addresses"], server.address))),
        json.convert(made["temporal"], hellos.Temporal),
        made["signingKey"],
        made["token"],
        opening.decode(),
    )
    console.write(worker_identities.write(identity))


async def show_list(server: client.Client, form: forms.Form) -> int:
    """Show all workers."""
    workers = await server.pages("workers", most=_MOST)
    if form.is_document:
        output.show(workers, form)
    elif workers:
        titles = _TITLES + (("PROCESSES",) if form is forms.Form.WIDE else ())
        console.write_lines(console.aligned([titles, *_rows(workers, form)]))
    else:
        console.tell("there are no workers: volary worker join NAME --cluster NAME registers one")
    return exit_codes.Exit.DONE


_TITLES: tuple[str, ...] = ("NAME", "CLUSTERS", "STATUS", "ROTATED", "REASON")


def _rows(workers: Sequence[json.JsonObject], form: forms.Form) -> Iterator[tuple[str, ...]]:
    now = system_clock.SystemClock().now()
    for one in workers:
        row = (
            one["name"],
            phrases.join_names(one["clusters"]),
            one["status"],
            durations.age(one["rotated"], now),
            one["reason"] or ("its new token was not used yet" if one["rotating"] else ""),
        )
        processes = "; ".join(process["name"] for process in one["processes"])
        yield (*row, processes) if form is forms.Form.WIDE else row


async def show_queues(server: client.Client, form: forms.Form) -> int:
    """Show who takes tasks of each cluster."""
    queues = await server.pages("task-queues", most=_MOST)
    return output.answer({"items": queues}, form, lambda: console.write_lines(_lines(queues)))


def _lines(queues: Sequence[json.JsonObject]) -> Iterator[str]:
    rows = [("CLUSTER", "TAKEN BY", "LAST SEEN", "REASON")]
    for queue in queues:
        takers = queue["takers"] or [{"name": "", "seen": ""}]
        for taker in takers:
            rows.append((queue["cluster"], taker["name"], taker["seen"], queue["reason"]))
    return console.aligned(rows)
