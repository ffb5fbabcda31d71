"""Agents of a server: registering one prints what is applied to its cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import volary
from volary import secret_files
from volary.agents import agent
from volary.agents.orders import keys
from volary.cli import console, durations, exit_codes, forms
from volary.cli.remote import agent_manifests, client, output
from volary.config.agents import policy_files
from volary.config.decoding import values
from volary.controller import system_clock
from volary.model import errors, json, phrases

_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """How an agent is to be deployed."""

    namespace: str
    image: str
    #: Namespaces it may work in; empty: all.
    namespaces: Sequence[str] = ()
    #: URL of the server as the agent reaches it; empty: as this command does, or the server says.
    address: str = ""
    #: Text of the policy file; empty: one that permits to read, and the namespaces' tasks.
    policy: str = ""
    #: Certificates by which the server is verified, PEM; empty: the system's.
    authorities: str = ""


def read_wanted(
    *,
    namespace: str,
    namespaces: str = "",
    policy: str = "",
    address: str = "",
    ca_file: str = "",
    image: str = "",
) -> Wanted:
    """Return what the command line says, with the files that it names.

    Raises:
        errors.UserError: A file cannot be read, or a name is none.
    """
    listed = tuple(name.strip() for name in namespaces.split(",") if name.strip())
    for name in (namespace, *listed):
        try:
            values.dns_label(name)
        except ValueError as error:
            raise errors.user_error(f"{name} is no name of a namespace: {error}") from None
    if address:
        agent.check_address(address.rstrip("/"))
    text = secret_files.read_text(policy) + "\n" if policy else ""
    if text:
        policy_files.parse(text, file=policy).require()
    return Wanted(
        namespace,
        image or f"volary:{volary.__version__}",
        listed,
        address.rstrip("/"),
        text,
        secret_files.read_text(ca_file) + "\n" if ca_file else "",
    )


async def join(server: client.Client, cluster: str, wanted: Wanted) -> int:
    """Register the agent of a cluster, and write what is to be applied there."""
    key = keys.generate_opening()
    made = await server.post(
        "clusters", cluster, "agent", body={"sealingKey": keys.public(keys.read_opening(key))}
    )
    deployment = _deployment(server, made, key, wanted)
    console.write(agent_manifests.render(agent_manifests.everything(deployment)))
    console.tell(
        f"apply this to cluster {cluster} (kubectl apply -f -): its token is in there and is not"
        " shown again"
    )
    return exit_codes.Exit.DONE


async def rotate(server: client.Client, cluster: str, wanted: Wanted) -> int:
    """Make another token and key, and write the Secret that is to be applied."""
    key = keys.generate_opening()
    made = await server.post(
        "clusters",
        cluster,
        "agent",
        "rotate",
        body={"sealingKey": keys.public(keys.read_opening(key))},
    )
    deployment = _deployment(server, made, key, wanted)
    console.write(agent_manifests.render([agent_manifests.secret(deployment)]))
    console.tell(
        f"apply this to cluster {cluster} (kubectl apply -f -): the token before stays good until"
        " this one was used"
    )
    return exit_codes.Exit.DONE


async def remove(server: client.Client, cluster: str) -> int:
    """Take the rights of the agent of a cluster."""
    before = await server.post("clusters", cluster, "agent", "remove", body={})
    console.tell(
        f"the agent of cluster {before['name']} has no rights any more; what it runs as stays in"
        " the cluster until somebody deletes it"
    )
    return exit_codes.Exit.DONE


async def show_list(server: client.Client, form: forms.Form) -> int:
    """Show all agents."""
    items = await server.pages("agents", most=_MOST)
    if form.is_document:
        output.show(items, form)
        return exit_codes.Exit.DONE
    if items:
        titles = _TITLES + (("PROTOCOL", "PERMITS") if form is forms.Form.WIDE else ())
        console.write_lines(console.aligned([titles, *_rows(items, form)]))
    else:
        console.tell("there are no agents: volary cluster join NAME registers one")
    return exit_codes.Exit.DONE


_TITLES: tuple[str, ...] = ("NAME", "CLUSTERS", "STATUS", "VERSION", "SEEN", "REASON")


def _rows(items: Sequence[json.JsonObject], form: forms.Form) -> Iterator[tuple[str, ...]]:
    now = system_clock.SystemClock().now()
    for one in items:
        row = (
            one["name"],
            phrases.join_names(one["clusters"]),
            one["status"],
            one["version"] or "-",
            durations.age(one["seen"], now) if one["seen"] else "never",
            one["reason"] or ("its new token was not used yet" if one["rotating"] else ""),
        )
        more = (str(one["protocol"] or "-"), "; ".join(one["policy"]))
        yield row + (more if form is forms.Form.WIDE else ())


def _deployment(
    server: client.Client, made: json.JsonObject, key: bytes, wanted: Wanted
) -> agent_manifests.AgentDeployment:
    return agent_manifests.AgentDeployment(
        cluster=made["cluster"],
        namespace=wanted.namespace,
        image=wanted.image,
        address=wanted.address or next(iter(made["addresses"]), "") or server.address,
        token=made["token"],
        private_key=key.decode(),
        signing_key=made["signingKey"],
        namespaces=tuple(wanted.namespaces),
        policy=wanted.policy,
        authorities=wanted.authorities,
    )
