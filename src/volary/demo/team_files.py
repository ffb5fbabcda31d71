"""The files of the scenario with two teams: the platform team's, and those of each team."""

import textwrap
from dataclasses import dataclass

#: A key that everybody who reads this has; of no use but to the demo.
AGE_KEY = "AGE-SECRET-KEY-18SC0ZRVJ32FKH5V9NP9YRK6732MY7CMQ3LFRD5GFC456AVR4CGHS2YWJZ0"
AGE_RECIPIENT = "age1mul3rnxlcjkvl3nscar64zhj0rpkxrgy45jnu26r42vf59qtdq7s6mgxuj"
#: What is in team-a's Secret.
PASSWORD = "correct-horse-battery"

SECRET = textwrap.dedent(f"""\
    apiVersion: v1
    kind: Secret
    metadata: {{name: shop-login, namespace: team-a}}
    stringData: {{password: {PASSWORD}}}
    """)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What team-b tries, and what has to be said of it."""

    intention: str
    files: dict[str, str]
    #: The application that is refused, and words of the reason.
    application: str
    reason: str


def definitions_of(team: str) -> str:
    """Return what the platform team says about a team: its project and its workspace."""
    return textwrap.dedent(f"""\
        apiVersion: volary.dev/v1
        kind: Project
        metadata: {{name: {team}}}
        spec:
          sources:
          - {{repository: {team}}}
          destinations:
          - {{namespaces: [{team}]}}
          kinds:
            denied:
            - {{kind: ResourceQuota}}
            - {{group: rbac.authorization.k8s.io}}
          roles:
          - {{role: deployer, groups: [{team}]}}
          impersonate:
            serviceAccount: {{namespace: {team}, name: volary-deployer}}
        ---
        apiVersion: volary.dev/v1
        kind: Workspace
        metadata: {{name: {team}}}
        spec:
          project: {team}
          namespaces:
          - {{name: {team}}}
          members:
          - {{group: {team}, role: edit}}
          quota: {{hard: {{pods: 20}}}}
        """)


def application(name: str) -> str:
    """Return the file of an application that is applied to all clusters at once."""
    return f"apiVersion: volary.dev/v1\nkind: Application\nmetadata: {{name: {name}}}\nspec: {{}}\n"


def deployment(name: str, namespace: str, *, version: str) -> str:
    """Return a Deployment of two pods."""
    return textwrap.dedent(f"""\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: {name}, namespace: {namespace}}}
        spec:
          replicas: 2
          selector: {{matchLabels: {{app: {name}}}}}
          template:
            metadata: {{labels: {{app: {name}}}}}
            spec:
              containers:
              - {{name: {name}, image: 'example/{name}:{version}'}}
        """)


_BINDING = textwrap.dedent("""\
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: team-b-everything}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects:
    - {apiGroup: rbac.authorization.k8s.io, kind: Group, name: team-b}
    """)

_QUOTA = textwrap.dedent("""\
    apiVersion: v1
    kind: ResourceQuota
    metadata: {name: volary-quota, namespace: team-b}
    spec: {hard: {pods: 1000}}
    """)

ATTEMPTS = (
    Attempt(
        "to make itself the administrator of every cluster",
        {"blog/rights.yaml": _BINDING},
        "blog",
        "ClusterRoleBinding",
    ),
    Attempt(
        "to write its own version of team-a's Deployment",
        {"blog/rights.yaml": "", "blog/shop.yaml": deployment("shop", "team-a", version="evil")},
        "blog",
        "namespace team-a",
    ),
    Attempt(
        "to lift its own quota",
        {"blog/shop.yaml": "", "blog/quota.yaml": _QUOTA},
        "blog",
        "ResourceQuota",
    ),
)
#: An application of the name that team-a's has.
SAME_NAME = {
    "blog/quota.yaml": "",
    "shop/volary.yaml": application("shop"),
    "shop/deployment.yaml": deployment("shop", "team-b", version="evil"),
}
