"""Who says that an object is theirs: pure.

Tools leave marks on what they manage, and undo what others write to it. What somebody claims is
not written without a word: its manifest has to name the claim under `TAKE_OVER`. What this
application has written before is its own, whatever marks are left on it.

Marks: Argo CD's tracking annotation (it counts on the object that it names, copies have it too),
the labels of Flux' Kustomizations and HelmReleases, the annotations that Helm puts on the objects
of a release, those of PipeCD's piped, and owner references to a controller.
"""

from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import ownership

#: Annotation of a manifest: the claim that it takes over.
TAKE_OVER = "volary.dev/take-over"

_ARGO_CD = "argocd.argoproj.io/tracking-id"
_FLUX = {
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "HelmRelease": "helm.toolkit.fluxcd.io",
}
_HELM = "meta.helm.sh"


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody's claim to an object."""

    #: As it is named to be taken over; empty: it cannot be.
    name: str
    #: Who it is, for a sentence.
    who: str

    @property
    def is_of_volary(self) -> bool:
        """Whether it is that of another application of Volary."""
        return self.name.startswith(_VOLARY)


_VOLARY = "volary:"
#: What is said of a claim to those who are not to know whose it is; it cannot be taken over.
UNNAMED = Claim("", "another application")


def claim_of(body: json.JsonObject, owner: ownership.Owner) -> Claim | None:
    """Return who else claims a live object; None: nobody does."""
    controller = next(
        (
            reference
            for reference in objects.sequence(body, "metadata", "ownerReferences")
            if objects.value(reference, "controller") is True
        ),
        None,
    )
    if controller is not None:
        kind, name = objects.text(controller, "kind"), objects.text(controller, "name")
        return Claim("", f"the controller of {kind} {name}")
    known = tracking.owner_of(body)
    if known is not None:
        if known.id == owner.id:
            return None
        if known.name.startswith(ownership.WORKSPACE_PREFIX):
            # It bounds what teams may do, so no team's manifest takes anything of it over.
            name = known.name.removeprefix(ownership.WORKSPACE_PREFIX)
            return Claim("", f"Volary's workspace {name}")
        return Claim(f"{_VOLARY}{known.id}", f"Volary's application {known.name} ({known.id})")
    return _of_argo_cd(body) or _of_flux(body) or _of_helm(body) or _of_pipecd(body)


def _of_argo_cd(body: json.JsonObject) -> Claim | None:
    application, _, rest = _annotation(body, _ARGO_CD).partition(":")
    kind, _, name = rest.partition(":")
    metadata = objects.mapping(body, "metadata")
    full_name = f"{objects.text(metadata, 'namespace')}/{objects.text(metadata, 'name')}"
    group = objects.text(body, "apiVersion").rpartition("/")[0]
    if not application or (kind, name) != (f"{group}/{objects.text(body, 'kind')}", full_name):
        return None
    return Claim(f"argocd:{application}", f"Argo CD's application {application}")


def _of_flux(body: json.JsonObject) -> Claim | None:
    labels = objects.mapping(body, "metadata", "labels")
    for kind, prefix in _FLUX.items():
        name = objects.text(labels, f"{prefix}/name")
        if name:
            place = f"{objects.text(labels, f'{prefix}/namespace')}/{name}"
            return Claim(f"flux:{kind}/{place}", f"Flux' {kind} {place}")
    return None


def _of_helm(body: json.JsonObject) -> Claim | None:
    release = _annotation(body, f"{_HELM}/release-name")
    if not release:
        return None
    place = f"{_annotation(body, f'{_HELM}/release-namespace')}/{release}"
    return Claim(f"helm:{place}", f"the Helm release {place}")


def _of_pipecd(body: json.JsonObject) -> Claim | None:
    if not tracking.is_pipecd(body):
        return None
    application = _annotation(body, tracking.PIPECD_APPLICATION)
    return Claim(f"pipecd:{application}", f"PipeCD's application {application}")


def _annotation(body: json.JsonObject, key: str) -> str:
    return objects.text(body, "metadata", "annotations", key)
