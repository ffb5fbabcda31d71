"""Who claims an object, from the marks that tools leave on it."""

from typing import Any

import pytest

from volary.manifests.ownership import claims, tracking
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

MINE = ownership.Owner("shop", "1" * 16)
OTHER = ownership.Owner("shop", "2" * 16)


def body(
    annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": labels or {},
            "annotations": annotations or {},
            **more,
        },
    }


def written_for(owner: ownership.Owner, live: dict[str, Any]) -> dict[str, Any]:
    return tracking.track(
        manifest.Manifest(live),
        owner=owner,
        commit="c",
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    ).body


ARGO = {"argocd.argoproj.io/tracking-id": "front:apps/Deployment:shop/web"}
HELM = {"meta.helm.sh/release-name": "store", "meta.helm.sh/release-namespace": "shop"}
FLUX = {
    "kustomize.toolkit.fluxcd.io/name": "apps",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}
PIPECD = {"pipecd.dev/managed-by": "piped", "pipecd.dev/application": "a1b2"}


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (body(ARGO), "argocd:front"),
        (body(HELM, {"app.kubernetes.io/managed-by": "Helm"}), "helm:shop/store"),
        (body(labels=FLUX), "flux:Kustomization/flux-system/apps"),
        (
            body(
                labels={
                    "helm.toolkit.fluxcd.io/name": "store",
                    "helm.toolkit.fluxcd.io/namespace": "shop",
                }
            ),
            "flux:HelmRelease/shop/store",
        ),
        (body(PIPECD, PIPECD), "pipecd:a1b2"),
        (written_for(OTHER, body()), f"volary:{OTHER.id}"),
        # Flux installs by Helm: it is Flux that would undo what others write.
        (body(HELM, FLUX), "flux:Kustomization/flux-system/apps"),
    ],
)
def test_tools_claim_what_carries_their_marks(live: dict[str, Any], expected: str) -> None:
    claim = claims.claim_of(live, MINE)
    assert claim is not None
    assert claim.name == expected


@pytest.mark.parametrize(
    "live",
    [
        body(),
        # Charts say this of whatever is rendered from them.
        body(labels={"app.kubernetes.io/managed-by": "Helm"}),
        # A copy that somebody made of an object of Argo CD's.
        body({"argocd.argoproj.io/tracking-id": "front:apps/Deployment:shop/other"}),
        body({"argocd.argoproj.io/tracking-id": "front:batch/Deployment:shop/web"}),
        # kubectl applies what nobody watches.
        body({tracking.LAST_APPLIED: "{}"}),
        body(ownerReferences=[{"kind": "Shop", "name": "a", "uid": "u"}]),
        # The labels of one of ours that a controller copied to its own object.
        body(labels=tracking.owner_labels(OTHER)),
        written_for(MINE, body(ARGO | HELM, FLUX)),
    ],
)
def test_nobody_claims_the_rest(live: dict[str, Any]) -> None:
    assert claims.claim_of(live, MINE) is None


def test_what_a_controller_made_cannot_be_taken_over() -> None:
    reference = {"kind": "Shop", "name": "a", "uid": "u", "controller": True}
    claim = claims.claim_of(written_for(MINE, body(ownerReferences=[reference])), MINE)
    assert claim == claims.Claim("", "the controller of Shop a")
