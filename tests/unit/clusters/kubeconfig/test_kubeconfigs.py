"""Kubeconfigs that cannot be used end in one clear sentence; merging follows kubectl."""

import base64
import os
from pathlib import Path

import pytest

from volary.clusters.kubeconfig import connections, kubeconfigs
from volary.model import errors
from volary.model.fleet import fleets

BASIC = """\
apiVersion: v1
kind: Config
current-context: here
clusters:
- name: c
  cluster: {SERVER}
users:
- name: u
  user: {USER}
contexts:
- name: here
  context: {cluster: c, user: u, namespace: shop}
"""


def resolved(
    *, user: str = "{}", server: str = "{server: 'https://one.example/'}", context: str = ""
) -> connections.Connection:
    text = BASIC.replace("{USER}", user).replace("{SERVER}", server)
    found = kubeconfigs.parse(text, file="/home/me/kube/config")
    return kubeconfigs.resolve(found, context, name="us")


def refusal(**parts: str) -> str:
    with pytest.raises(errors.UserError) as caught:
        resolved(**parts)
    return str(caught.value)


def test_a_refusal_names_the_place_in_the_file() -> None:
    with pytest.raises(errors.UserError) as caught:
        kubeconfigs.parse("current-context: [a]", file="kube/config")
    (problem,) = caught.value.problems
    assert problem.where == errors.Location("kube/config", path="current-context")

    with pytest.raises(errors.UserError) as caught:
        resolved(user="{token: 7}")
    (problem,) = caught.value.problems
    assert problem.where == errors.Location("/home/me/kube/config", path="users[u].token")


def test_the_current_context_is_taken() -> None:
    assert resolved() == connections.Connection("us", "https://one.example", namespace="shop")


def test_a_named_context_that_is_missing_lists_those_that_are_there() -> None:
    assert "its contexts are: here" in refusal(context="there")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("{token: abc}", connections.Token("abc")),
        ("{tokenFile: t}", connections.TokenFile("/home/me/kube/t")),
        ("{tokenFile: /t, token: abc}", connections.TokenFile("/t", fallback="abc")),
        ("{username: u, password: p}", connections.Basic("u", "p")),
        ("{password: p}", connections.Basic("", "p")),
        ("{}", connections.Anonymous()),
        (
            "{token: abc, exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}}",
            connections.Token("abc"),
        ),
        (
            "{exec: {command: ./x, args: [a, 'b c'], env: [{name: NAME, value: v}], "
            "installHint: get it, interactiveMode: Never,"
            " apiVersion: client.authentication.k8s.io/v1}}",
            connections.Exec(
                "client.authentication.k8s.io/v1",
                "/home/me/kube/./x",
                ("a", "b c"),
                {"NAME": "v"},
                "get it",
            ),
        ),
    ],
)
def test_credentials(user: str, expected: connections.Credentials) -> None:
    assert resolved(user=user).credentials == expected


def test_impersonation() -> None:
    connection = resolved(
        user="{as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {scopes: [x, z]}}"
    )

    assert connection.impersonation == connections.Impersonation(
        "jane", "7", ("a", "b"), {"scopes": ("x", "z")}
    )


@pytest.mark.parametrize(
    ("user", "where", "said"),
    [
        ("{auth-provider: {name: gcp}}", "users[u].auth-provider", "auth-provider gcp was removed"),
        ("{token: 5}", "users[u].token", "token must be a text"),
        ("{token: t, username: u}", "users[u]", "has a token and a password"),
        ("{as-groups: [g]}", "users[u]", "need as"),
        ("{as: jane, as-groups: g}", "users[u].as-groups", "as-groups must be a list"),
        (
            "{as: jane, as-user-extra: {scopes: x}}",
            "users[u].as-user-extra.scopes",
            "scopes must be a list",
        ),
        ("{client-certificate-data: aGk=}", "users[u]", "need each other"),
        ("{client-key-data: '!!'}", "users[u].client-key-data", "client-key-data is not base64"),
        (
            "{client-certificate: none.crt, client-key-data: aGk=}",
            "users[u].client-certificate",
            "/home/me/kube/none.crt cannot",
        ),
        (
            "{exec: {command: x}}",
            "users[u].exec.apiVersion",
            "exec apiVersion (none) is not supported",
        ),
        (
            "{exec: {command: x, apiVersion: API/v1alpha1}}",
            "users[u].exec.apiVersion",
            "v1alpha1 is not supported",
        ),
        (
            "{exec: {apiVersion: API/v1, interactiveMode: Never}}",
            "users[u].exec.command",
            "exec names no command",
        ),
        (
            "{exec: {command: x, apiVersion: API/v1}}",
            "users[u].exec.interactiveMode",
            "interactiveMode must be one of",
        ),
        (
            "{exec: {command: x, apiVersion: API/v1, interactiveMode: Always}}",
            "users[u].exec.interactiveMode",
            "needs a terminal",
        ),
        (
            "{exec: {command: x, apiVersion: API/v1beta1, env: [{value: v}]}}",
            "users[u].exec.env",
            "has no name",
        ),
        ("{exec: text}", "users[u].exec", "exec must be an object"),
        ("[]", "users[0].user", "user must be an object"),
    ],
)
def test_users_that_cannot_be_used(user: str, where: str, said: str) -> None:
    message = refusal(user=user.replace("API/", "client.authentication.k8s.io/"))

    assert said in message
    assert message.startswith(f"/home/me/kube/config: {where}: ")


@pytest.mark.parametrize(
    ("server", "where", "said"),
    [
        ("{}", "clusters[c].server", "names no server"),
        ("{server: 'ftp://x'}", "clusters[c].server", "not an http or https URL"),
        ("{server: 'https://'}", "clusters[c].server", "not an http or https URL"),
        ("{server: 'https://x:port'}", "clusters[c].server", "not an http or https URL"),
        ("{server: 'https://me:hunter2@x'}", "clusters[c].server", "has a user name in its URL"),
        (
            "{server: 'https://x', proxy-url: 'socks5://p'}",
            "clusters[c].proxy-url",
            "proxy-url socks5://… is not",
        ),
        (
            "{server: 'https://x', insecure-skip-tls-verify: true,"
            " certificate-authority-data: aGk=}",
            "clusters[c]",
            "contradicts",
        ),
        (
            "{server: 'https://x', insecure-skip-tls-verify: 'true'}",
            "clusters[c].insecure-skip-tls-verify",
            "must be true or false",
        ),
        (
            "{server: 'https://x', certificate-authority: none.crt}",
            "clusters[c].certificate-authority",
            "no such file",
        ),
    ],
)
def test_clusters_that_cannot_be_used(server: str, where: str, said: str) -> None:
    message = refusal(server=server)

    assert said in message
    assert message.startswith(f"/home/me/kube/config: {where}: ")
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("parts", "hint"),
    [
        ({"user": "{auth-provider: {name: gcp}}"}, "use the provider's exec plugin instead"),
        ({"user": "{token: 5}"}, "put it in quotes"),
        (
            {"user": "{client-key: none, client-certificate-data: aGk=}"},
            "check the path in the kubeconfig; relative ones start at the kubeconfig's folder",
        ),
        (
            {"user": "{exec: {command: x}}"},
            "use client.authentication.k8s.io/v1 or v1beta1; perhaps the program has to be updated",
        ),
        (
            {
                "user": "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x,"
                " interactiveMode: Always}}"
            },
            "log in by hand first and set interactiveMode: IfAvailable",
        ),
        ({"server": "{server: 'https://a@x'}"}, "put username and password into the user entry"),
        ({"server": "{server: 'https://x', proxy-url: 'a://p'}"}, "use an http or https proxy"),
        ({"context": "there"}, "its contexts are: here"),
    ],
)
def test_a_refusal_says_what_to_do(parts: dict[str, str], hint: str) -> None:
    assert refusal(**parts).endswith(f"\nhint: {hint}")


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("{server: 'one.example:6443'}", "http://one.example:6443"),
        (
            "{server: 'one.example:6443', insecure-skip-tls-verify: true}",
            "https://one.example:6443",
        ),
        (
            "{server: 'one.example', certificate-authority-data: aGk=}",
            "https://one.example",
        ),
        ("{server: 'https://one.example/k8s/c-1//'}", "https://one.example/k8s/c-1"),
    ],
)
def test_the_url_of_a_server(server: str, url: str) -> None:
    assert resolved(server=server).server == url


def test_the_rest_of_a_cluster_is_read_too() -> None:
    found = resolved(
        server="{server: 'https://x', tls-server-name: api, insecure-skip-tls-verify: true,"
        " proxy-url: 'http://p'}"
    )

    assert found.tls == connections.Tls(server_name="api", insecure=True)
    assert found.proxy_url == "http://p"


def test_an_exec_plugin_learns_about_the_cluster_on_request() -> None:
    program = (
        "{command: x, apiVersion: client.authentication.k8s.io/v1beta1, provideClusterInfo: true}"
    )
    found = resolved(
        user=f"{{exec: {program}}}",
        server="{server: 'https://x', tls-server-name: api, certificate-authority-data: aGk=,"
        " extensions: [{name: other, extension: 1},"
        " {name: client.authentication.k8s.io/exec, extension: {audience: a}}]}",
    )

    assert isinstance(found.credentials, connections.Exec)
    assert found.credentials.cluster_info == {
        "server": "https://x",
        "tls-server-name": "api",
        "certificate-authority-data": "aGk=",
        "config": {"audience": "a"},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is not one object"),
        ("a: b\n---\nc: d", "is not one object"),
        ("clusters: {}", None),
        ("clusters: text", "clusters must be a list"),
        ("clusters: [text]", "clusters[0] must be an object"),
        ("users: [{name: a}, {name: a}]", "the name a is given twice in users"),
        ("clusters: [{name: 1}]", "name must be a text"),
        ("a: [", "f:"),
    ],
)
def test_files_that_are_no_kubeconfig(text: str, said: str | None) -> None:
    if said is None:
        assert kubeconfigs.parse(text, file="f").clusters == {}
        return
    with pytest.raises(errors.UserError) as caught:
        kubeconfigs.parse(text, file="f")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no current-context"),
        ("current-context: x", "context x does not exist"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: gone}}]}",
            "names the cluster gone, which does not exist",
        ),
        (
            "{current-context: x, clusters: [{name: c}],"
            " contexts: [{name: x, context: {cluster: c, user: gone}}]}",
            "names the user gone, which does not exist",
        ),
        ("{current-context: x, contexts: [{name: x}]}", "names the cluster (none)"),
    ],
)
def test_what_is_pointed_to_must_exist(text: str, said: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        kubeconfigs.resolve(kubeconfigs.parse(text, file="f"), "", name="us")
    assert said in str(caught.value)


def write(path: Path, context: str, token: str) -> str:
    path.write_text(
        BASIC.replace("here", context)
        .replace("{USER}", f"{{token: {token}}}")
        .replace("{SERVER}", "{server: 'http://127.0.0.1:1'}")
    )
    return str(path)


def test_of_several_files_the_first_wins(tmp_path: Path) -> None:
    listed = [
        str(tmp_path / "missing"),
        write(tmp_path / "a", "first", "from-a"),
        write(tmp_path / "b", "second", "from-b"),
    ]
    environment = {"KUBECONFIG": os.pathsep.join(listed)}

    first = kubeconfigs.load(fleets.Cluster("us"), environment=environment)
    second = kubeconfigs.load(fleets.Cluster("us", context="second"), environment=environment)

    assert first.credentials == connections.Token("from-a")
    assert second.credentials == connections.Token("from-a")


def test_without_kubeconfig_the_home_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", "home", "from-home")

    connection = kubeconfigs.load(fleets.Cluster("us"), environment={"HOME": str(tmp_path)})

    assert connection.credentials == connections.Token("from-home")


@pytest.mark.parametrize("environment", [{}, {"KUBECONFIG": "/none/a:/none/b"}, {"HOME": "/none"}])
def test_no_kubeconfig_at_all(environment: dict[str, str]) -> None:
    with pytest.raises(errors.UserError, match="there is no kubeconfig"):
        kubeconfigs.load(fleets.Cluster("us"), environment=environment)


def test_a_named_file_must_exist() -> None:
    with pytest.raises(errors.UserError, match="kubeconfig /none/x does not exist"):
        kubeconfigs.load(fleets.Cluster("us", kubeconfig=("/none/x",)), environment={})


def test_a_shared_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    name = write(tmp_path / "a", "here", "one")
    reader = kubeconfigs.Reader()
    before = reader.read(name)

    assert reader.read(name) is before
    write(tmp_path / "a", "here", "another-token")
    assert reader.read(name).users["u"].body == {"token": "another-token"}


def service_account_in(directory: Path) -> None:
    (directory / "token").write_text("abc")
    (directory / "ca.crt").write_bytes(b"PEM")
    (directory / "namespace").write_text("delivery\n")


@pytest.mark.parametrize(
    ("host", "url"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_in_a_pod(tmp_path: Path, host: str, url: str) -> None:
    service_account_in(tmp_path)
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}

    found = kubeconfigs.service_account_connection(
        "us", environment=environment, directory=str(tmp_path)
    )

    assert found == connections.Connection(
        "us",
        url,
        namespace="delivery",
        tls=connections.Tls(authorities=b"PEM"),
        credentials=connections.TokenFile(str(tmp_path / "token")),
    )


def test_not_in_a_pod() -> None:
    with pytest.raises(errors.UserError, match="this is not a pod"):
        kubeconfigs.load(fleets.Cluster("us", in_cluster=True), environment={})


def test_a_pod_without_service_account(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}

    with pytest.raises(errors.UserError, match="service account"):
        kubeconfigs.service_account_connection(
            "us", environment=environment, directory=str(tmp_path)
        )


def test_data_may_be_wrapped_over_lines() -> None:
    data = base64.b64encode(b"x" * 90).decode()
    wrapped = f"{data[:64]}\\n{data[64:]}"

    connection = resolved(
        server=f'{{server: "https://x", certificate-authority-data: "{wrapped}"}}'
    )

    assert connection.tls.authorities == b"x" * 90


def test_nothing_secret_is_shown() -> None:
    connection = resolved(user="{token: secret-token}")

    assert "secret-token" not in repr(connection)


def test_a_context_needs_no_user() -> None:
    text = "current-context: c\ncontexts: [{name: c, context: {cluster: one}}]\n"
    text += "clusters: [{name: one, cluster: {server: 'https://one.example'}}]"

    connection = kubeconfigs.resolve(kubeconfigs.parse(text, file="f"), "", name="us")

    assert connection == connections.Connection("us", "https://one.example")


def test_a_refusal_names_every_file_that_was_read(tmp_path: Path) -> None:
    files = (
        write(tmp_path / "a", "first", "from-a"),
        write(tmp_path / "b", "second", "from-b"),
    )

    with pytest.raises(errors.UserError) as caught:
        kubeconfigs.load(fleets.Cluster("us", kubeconfig=files, context="third"), environment={})

    assert f"context third does not exist in {', '.join(files)}" in str(caught.value)


def test_a_cluster_with_an_agent_is_reached_by_a_server_only() -> None:
    with pytest.raises(errors.UserError, match="is reached through its agent"):
        kubeconfigs.load(fleets.Cluster("us", agent=True), environment={})
    connection = kubeconfigs.agent_connection("us", "/run/us")

    assert connection.place == "through its agent"
    assert connection.credentials == connections.Anonymous(), "the agent has its own"
