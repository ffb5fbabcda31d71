"""Workers of a server: made, and who takes tasks."""

from collections.abc import Iterator, Sequence

from volary.agents import hellos
from volary.agents.orders import keys
from volary.agents.tasks import worker_identities
from volary.cli import console, exit_codes, forms
from volary.cli.remote import client, output
from volary.model import json


async def join(server: client.Client, name: str, clusters: Sequence[str]) -> int:
    """Register a worker and print its identity: the private key never leaves this machine."""
    opening = keys.generate_opening()
    public = keys.public(keys.read_opening(opening))
    made = await server.post(
        "workers", name, body={"clusters": list(clusters), "sealingKey": public}
    )
    identity = worker_identities.WorkerIdentity(
        made["worker"],
        tuple(made["clusters"]),
        tuple(made["addresses"]) or (server.address,),
        json.convert(made["temporal"], hellos.Temporal),
        made["signingKey"],
        made["token"],
        opening.decode(),
    )
    console.write(worker_identities.write(identity))
    console.tell(f"worker {name} may join; what was printed is secret, and is shown this once")
    return exit_codes.Exit.DONE


async def get(server: client.Client, form: forms.Form) -> int:
    """Show who takes tasks of each cluster."""
    queues = await server.pages("workers")
    return output.answer({"items": queues}, form, lambda: console.write_lines(_lines(queues)))


def _lines(queues: Sequence[json.JsonObject]) -> Iterator[str]:
    rows = [("CLUSTER", "TAKEN BY", "LAST SEEN", "REASON")]
    for queue in queues:
        takers = queue["takers"] or [{"name": "", "seen": ""}]
        for taker in takers:
            rows.append((queue["cluster"], taker["name"], taker["seen"], queue["reason"]))
    return console.aligned(rows)
