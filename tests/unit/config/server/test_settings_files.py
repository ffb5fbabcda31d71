from datetime import timedelta

import pytest

from volary.config.server import settings_files
from volary.config.text import git_addresses
from volary.model import applications, server_settings

SHORTEST = """
apiVersion: volary.dev/v1
kind: Controller
fleet: fleet.yaml
repositories:
  - {name: shop, url: https://git.example/shop.git}
"""
EVERYTHING = """
apiVersion: volary.dev/v1
kind: Controller
fleet: ../fleet.yaml
store: sqlite:///var/volary.db
dataDirectory: /var/lib/volary
listen: "[::1]:9000"
tls: {certificate: tls.crt, key: /etc/tls.key}
repositories:
  - name: shop
    url: git@git.example:team/shop.git
    branch: release/1.0
    paths: [apps/, ./other]
    interval: 30s
    credentials: {sshKeyFile: id, knownHostsFile: known}
    webhook: {provider: gitlab, secretFile: hook}
  - {name: open, url: repositories/open.git, paths: [.]}
  - name: basic
    url: https://git.example/basic
    credentials: {username: robot, passwordFile: password}
applications:
  - {repository: shop, path: apps/web, targets: {names: [us]}}
  - {repository: open, path: .}
supersede: cancel
retention: {runs: 5, days: 7}
auth:
  oidc: {issuer: https://id.example, audience: volary, jwksFile: keys.json, algorithms: [ES256]}
roles:
  - {group: team, role: deployer, applications: {matchLabels: {team: shop}}}
  - {subject: "token:ann", role: admin}
notifications:
  routes:
    - {name: all, receiver: chat, groups: [DEPLOYMENT], ignoreLabels: {env: test}}
  receivers:
    - name: chat
      slack: {oauthTokenFile: slack, channelID: C1, mentionedAccounts: [ann]}
    - {name: hook, webhook: {url: "https://hook.example", signatureValueFile: signature}}
"""


def test_a_fleet_and_a_repository_are_enough() -> None:
    found = settings_files.parse(SHORTEST, file="c.yaml", directory="/etc/volary").require()

    assert found == server_settings.Settings(
        fleet="/etc/volary/fleet.yaml",
        data_directory="/etc/volary/volary-data",
        store="sqlite:/etc/volary/volary-data/volary.db",
        repositories=(server_settings.Repository("shop", "https://git.example/shop.git"),),
    )


@pytest.mark.parametrize(("word", "required"), [("required", True), ("preferred", False)])
def test_renderers_may_run_where_they_cannot_be_isolated_only_if_that_is_written(
    word: str, required: bool
) -> None:
    text = f"{SHORTEST}rendererIsolation: {word}\n"

    assert settings_files.parse(text, file="c.yaml").require().isolates_renderers == required


def test_everything_lands_in_the_model_with_paths_seen_from_the_file() -> None:
    found = settings_files.parse(EVERYTHING, file="c.yaml", directory="/etc/volary").require()

    assert found == server_settings.Settings(
        fleet="/etc/fleet.yaml",
        data_directory="/var/lib/volary",
        store="sqlite:/etc/volary/var/volary.db",
        host="::1",
        port=9000,
        tls=server_settings.TlsFiles("/etc/volary/tls.crt", "/etc/tls.key"),
        repositories=(
            server_settings.Repository(
                "shop",
                "git@git.example:team/shop.git",
                "release/1.0",
                ("apps", "other"),
                timedelta(seconds=30),
                server_settings.Credentials(
                    ssh_key_file="/etc/volary/id", known_hosts_file="/etc/volary/known"
                ),
                server_settings.RepositoryWebhook(
                    server_settings.WebhookProvider.GITLAB, "/etc/volary/hook"
                ),
            ),
            server_settings.Repository("open", "/etc/volary/repositories/open.git", paths=("",)),
            server_settings.Repository(
                "basic",
                "https://git.example/basic",
                credentials=server_settings.Credentials(
                    username="robot", password_file="/etc/volary/password"
                ),
            ),
        ),
        applications=(
            server_settings.ListedApplication(
                "shop", "apps/web", applications.TargetSelector(names=("us",))
            ),
            server_settings.ListedApplication("open", ""),
        ),
        supersede=server_settings.Supersede.CANCEL,
        retention=server_settings.Retention(5, 7),
        auth=server_settings.Auth(
            server_settings.Oidc(
                "https://id.example",
                "volary",
                jwks_file="/etc/volary/keys.json",
                algorithms=("ES256",),
            ),
        ),
        roles=(
            server_settings.RoleBinding(
                server_settings.Role.DEPLOYER,
                group="team",
                applications=server_settings.Subjects({"team": "shop"}),
            ),
            server_settings.RoleBinding(server_settings.Role.ADMIN, subject="token:ann"),
        ),
        notifications=server_settings.Notifications(
            (
                server_settings.Route(
                    "all", "chat", groups=("DEPLOYMENT",), ignore_labels={"env": "test"}
                ),
            ),
            (
                server_settings.Receiver(
                    "chat",
                    slack=server_settings.Slack(
                        oauth_token_file="/etc/volary/slack",
                        channel_id="C1",
                        mentioned_accounts=("ann",),
                    ),
                ),
                server_settings.Receiver(
                    "hook",
                    webhook=server_settings.OutgoingWebhook(
                        "https://hook.example", signature_value_file="/etc/volary/signature"
                    ),
                ),
            ),
        ),
    )


BROKEN = """
apiVersion: volary.dev/v1
kind: Controller
fleet: fleet.yaml
store: mysql://root:hunter2@db/volary
listen: "8080"
repositories:
  - name: a b
    url: https://robot:hunter2@git.example/shop.git
    branch: "-x"
    interval: 1ms
    paths: [../x]
  - name: shop
    url: ssh://git@git.example/shop.git
  - name: shop
    url: https://git.example/one
    credentials: {sshKeyFile: id, knownHostsFile: known}
  - name: files
    url: /srv/git/one
    credentials: {tokenFile: t}
  - name: half
    url: https://git.example/one
    credentials: {username: robot}
applications:
  - {repository: shp, path: ../apps}
  - {repository: shop, path: a, targets: {names: [us], matchLabels: {a: b}}}
  - {repository: shop, path: a/.}
auth:
  oidc: {issuer: http://id, audience: v, jwksFile: a, jwksUrl: https://b, algorithms: []}
roles:
  - {role: viewer}
  - {role: admin, subject: a, group: b}
notifications:
  routes:
    - {name: x, receiver: caht, events: [DEPLOYMENT_SUCEEDED, PIPED_STARTED], groups: [PIPED]}
  receivers:
    - {name: chat, slack: {hookURLFile: a, channelID: C}}
    - {name: chat, webhook: {url: hook.example}}
    - {name: none}
"""


def test_every_problem_is_found_at_once_with_its_line() -> None:
    loaded = settings_files.parse(BROKEN, file="c.yaml")

    assert loaded.value is None
    assert [(each.where.line, each.message) for each in loaded.problems] == [
        (5, "is not the address of a database"),
        (6, "must be an address and a port"),
        (8, "must be letters, digits, dashes, dots and underscores"),
        (9, "must not hold credentials; name a file with them under credentials"),
        (10, "must be the name of a branch, such as main"),
        (11, "must be at least one second"),
        (12, "../x leaves the repository"),
        (14, "ssh needs a key and the host keys to believe"),
        (15, "the repository shop is listed twice"),
        (17, "a key is for ssh, and the address is https"),
        (20, "a repository of this machine takes no credentials"),
        (23, "is not one complete form of credentials"),
        (23, "has other credentials than shop, which has the same url"),
        (25, "no repository shp is listed"),
        (25, "../apps leaves the repository"),
        (26, "names and matchLabels are both given"),
        (27, "a is listed twice"),
        (29, "jwksFile and jwksUrl are both given"),
        (29, "must be an https address"),
        (29, "no signature would be believed"),
        (31, "needs a subject or a group, one of them"),
        (32, "needs a subject or a group, one of them"),
        (35, "no receiver caht is listed"),
        (35, "DEPLOYMENT_SUCEEDED is never sent"),
        (35, "PIPED_STARTED is never sent"),
        (35, "PIPED is never sent"),
        (37, "is not one complete way to send"),
        (38, "the receiver chat is listed twice"),
        (38, "must be an address with https://"),
        (39, "needs one way to send, one of slack, webhook, msteams, discord, rocket, gchat"),
    ]
    assert "hunter2" not in str(loaded.problems)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("supersede: kill", "must be 'queue' or 'cancel', not 'kill'"),
        ("retention: {runs: 0}", "must be 1 or more, not 0"),
        ("auth: {oidc: {issuer: https://i, audience: a, algorithms: [HS256]}}", "must be 'RS256'"),
        ("limits: {proxies: [10.0.0.0/8, 10.0.0.1/8]}", "10.0.0.1/8 is no network"),
        ("limits: {connections: 0}", "must be 16 or more, not 0"),
        ("engine: {temporal: {address: localhost}}", "must be a host and a port"),
        (
            "engine: {temporal: {address: temporal.example:7233}}",
            "is missing, and the service is not of here",
        ),
        (
            "engine: {temporal: {address: 127.0.0.1:7233, apiKeyFile: key}}",
            "would be sent for everybody to read",
        ),
        (
            "engine: {temporal: {address: t.example:7233, tls: {keyFile: key}}}",
            "a certificate and its key belong together",
        ),
        (
            "engine: {temporal: {address: localhost:7233, heartbeat: 1s}}",
            "must be between 5 seconds and 10 minutes",
        ),
        (
            "engine: {temporal: {address: 'localhost:1', apiKey: x}}",
            "apiKey does not belong here: secrets do not belong",
        ),
        ("webhooks: []", "unknown field webhooks"),
        ("authentication: off", "must be 'required' or 'none'"),
        (
            "authentication: none\nlisten: 0.0.0.0:80",
            "without authentication nothing but this machine is answered, not 0.0.0.0",
        ),
        (
            "authentication: none\nlisten: 127.0.0.1.example:80",
            "without authentication nothing but this machine is answered, not 127.0.0.1.example",
        ),
        (
            "authentication: none\nauth: {oidc: {issuer: https://i, audience: a}}",
            "is none, and auth.oidc asks for tokens",
        ),
        (
            "roles: [{role: admin, subject: ana}]",
            "ana does not say whether it is a person or an API token",
        ),
        ("failover: {slowAtPercent: 60}", "nothing is moved from 55 % on, so it never goes slower"),
        ("secrets: {sops: {environment: [hunter-2]}}", "is not the name of a variable"),
        ("secrets: {sops: {environment: [SOPS_AGE_KEY_CMD]}}", "SOPS_AGE_KEY_CMD names no key"),
        ("secrets: {sops: {ageKey: a}}", "ageKey does not belong here: secrets do not belong"),
        ("secrets: {keyPair: {privateKeyData: a}}", "privateKeyData does not belong here"),
        ("failover: {slowMovesPerMinute: 60}", "it would go faster when more is lost"),
        ("tracing: {endpoint: collector}", "is not an address of http or https"),
        ("tracing: {endpoint: 'http://[::1:4318'}", "is not an address of http or https"),
        ("tracing: {endpoint: 'https://me:hunter2@collector'}", "has a password in it"),
        (
            "tracing: {endpoint: 'http://collector:4318', tokenFile: t}",
            "would get the token in the clear",
        ),
        ("tracing: {endpoint: 'http://collector', token: t}", "token does not belong here"),
        ("tracing: {endpoint: 'http://collector', sampled: 101}", ""),
    ],
)
def test_wrong_values_are_refused(line: str, message: str) -> None:
    loaded = settings_files.parse(SHORTEST + line, file="c.yaml")

    [found] = loaded.problems
    assert found.message.startswith(message)
    assert found.where.line == 7


@pytest.mark.parametrize(
    ("line", "slow"),
    [
        ("failover: {movesPerMinute: 0}", (25, 0)),
        ("failover: {stopAtPercent: 20}", (20, 6)),
        ("failover: {}", (25, 6)),
    ],
)
def test_limits_that_are_not_written_follow_those_that_are(line: str, slow: object) -> None:
    limits = settings_files.parse(SHORTEST + line, file="c.yaml").require().failover

    assert (limits.slow_at_percent, limits.slow_moves_per_minute) == slow


def test_the_files_of_an_engine_are_seen_from_the_settings() -> None:
    text = f"{SHORTEST}engine: {{temporal: {{address: 't.example:7233', tls: {{caFile: ca.pem}}}}}}"

    found = settings_files.parse(text, file="c.yaml", directory="/etc/volary").require()

    tls = server_settings.TemporalTls(ca_file="/etc/volary/ca.pem")
    assert found.engine.temporal == server_settings.Temporal("t.example:7233", tls=tls)


def test_keys_are_seen_from_the_file() -> None:
    text = (
        "secrets:\n  sops: {ageKeyFile: age.txt, gnupgHome: /g, environment: [AWS_REGION]}\n"
        "  keyPair: {privateKeyFile: keys/a.pem, publicKeyFile: ~/b.pem}\n"
    )
    found = settings_files.parse(SHORTEST + text, file="c.yaml", directory="/etc/volary").require()

    assert found.secrets == server_settings.Secrets(
        server_settings.Sops("/etc/volary/age.txt", "/g", ("AWS_REGION",)),
        server_settings.KeyPair("/etc/volary/keys/a.pem", "~/b.pem"),
    )


def test_a_secret_in_the_file_is_refused_and_not_repeated() -> None:
    text = SHORTEST.rstrip().removesuffix("}") + ", credentials: {token: hunter2}}"
    loaded = settings_files.parse(text, file="c.yaml")

    assert "write it into a file of its own" in str(loaded.problems)
    assert "hunter2" not in str(loaded.problems)


@pytest.mark.parametrize("text", ["", "[]", "a: b\n---\nc: d", "kind: Controller\n  x: ["])
def test_something_else_than_settings_is_a_problem(text: str) -> None:
    assert settings_files.parse(text, file="c.yaml").problems


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://git.example/a.git", "https"),
        ("ssh://git@git.example:2222/a.git", "ssh"),
        ("git@git.example:a/b.git", "ssh"),
        ("host:a.git", "ssh"),
        ("file:///srv/a.git", "file"),
        ("/srv/a.git", "file"),
        ("./a.git", "file"),
    ],
)
def test_the_transport_shows_in_the_address(url: str, expected: str) -> None:
    assert git_addresses.transport(url).value == expected


@pytest.mark.parametrize(
    "url",
    [
        "http://git.example/a.git",
        "git://git.example/a.git",
        "https://token@git.example/a.git",
        "ssh://git:x@git.example/a.git",
        "ext::sh -c touch% /tmp/x",
        "ext::sh%20-c",
        "ssh://-oProxyCommand=x/a.git",
        "https:///a.git",
        "https://git.example:port/a",
        "file://other/a.git",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"must|names"):
        git_addresses.transport(url)


def test_credentials_in_text_are_hidden() -> None:
    text = "failed: https://robot:hunter2@git.example/a and ssh://git@h/a"

    assert git_addresses.mask(text) == "failed: https://***@git.example/a and ssh://***@h/a"


def test_projects_are_beside_the_settings_or_in_a_repository_or_both() -> None:
    text = f"{SHORTEST}projects: {{files: [teams.yaml, /a.yaml], repository: shop, path: teams/}}\n"

    found = settings_files.parse(text, file="c.yaml", directory="/etc/volary").require()

    assert found.projects == server_settings.ProjectFiles(
        ("/etc/volary/teams.yaml", "/a.yaml"), "shop", "teams"
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{}", "says nowhere where projects are"),
        ("{files: []}", "says nowhere where projects are"),
        ("{path: teams, files: [a]}", "path belongs to repository"),
        ("{repository: shopp}", "did you mean shop?"),
        ("{repository: shop, path: ../teams}", "leaves the repository"),
        ("{files: [a, ./a]}", "is listed twice"),
        ("{files: ['']}", "must not be empty"),
    ],
)
def test_projects_that_are_nowhere_are_said(written: str, message: str) -> None:
    loaded = settings_files.parse(
        f"{SHORTEST}projects: {written}\n", file="c.yaml", directory="/etc"
    )

    assert message in "; ".join(map(str, loaded.problems))
    assert loaded.value is None


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://10.0.0.7:8443", ""),
        ("http://127.0.0.1:8080", ""),
        ("http://10.0.0.7:8080", "must be an https address"),
        ("10.0.0.7:8443", "is not an http or https address"),
        ("https://10.0.0.7:8443/volary", "must be a host"),
    ],
)
def test_where_others_reach_a_server_is_an_address(address: str, problem: str) -> None:
    text = (
        "apiVersion: volary.dev/v1\nkind: Controller\nfleet: fleet.yaml\n"
        f"repositories: [{{name: shop, url: 'https://git.example/a.git'}}]\nadvertise: {address}\n"
    )
    loaded = settings_files.parse(text, file="c.yaml")
    if problem:
        [found] = loaded.problems
        assert found.message.startswith(problem)
        assert "advertise" in str(found)
    else:
        assert loaded.require().advertise == address


def test_the_key_that_signs_orders_is_relative_to_the_file() -> None:
    text = f"{SHORTEST}agents: {{signingKeyFile: key.pem}}\n"
    loaded = settings_files.parse(text, file="c.yaml", directory="/etc/volary")

    assert loaded.require().agents == server_settings.Agents("/etc/volary/key.pem")
