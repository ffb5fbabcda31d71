import pytest

from volary.manifests.loading import documents
from volary.manifests.workloads import images


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "img.example/team/helloworld:v1.0.0",
            ("img.example", "team/helloworld", "helloworld", "v1.0.0", ""),
        ),
        ("helloworld", ("", "helloworld", "helloworld", "", "")),
        ("localhost:5000/x:1", ("localhost:5000", "x", "x", "1", "")),
        ("localhost/x", ("localhost", "x", "x", "", "")),
        ("img@sha256:abc", ("", "img", "img", "", "sha256:abc")),
        ("r.io/a/b:v2@sha256:abc", ("r.io", "a/b", "b", "v2", "sha256:abc")),
        ("team/app:1", ("", "team/app", "app", "1", "")),
    ],
)
def test_references_are_taken_apart(text: str, expected: tuple[str, ...]) -> None:
    found = images.parse(text)

    assert (found.registry, found.repository, found.name, found.tag, found.digest) == expected


def test_the_version_is_the_tag_else_a_short_digest() -> None:
    assert str(images.parse("r.io:80/a/shop:v1@sha256:" + "f" * 64)) == "shop:v1"
    assert str(images.parse("shop@sha256:" + "f" * 64)) == "shop:sha256:ffffffffffff"


def test_images_of_init_containers_and_cron_jobs_are_found() -> None:
    text = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          initContainers: [{image: "i:1"}]
          containers: [{image: "c:1"}, {image: 5}, {image: "i:1"}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
"""
    found = documents.parse(text, file="")

    # What somebody debugs with is no version of the application.
    found[0].body["spec"]["jobTemplate"]["spec"]["template"]["spec"]["ephemeralContainers"] = [
        {"name": "debug", "image": "shell:1"}
    ]
    assert images.find(found[0]) == ["i:1", "c:1", "i:1"]
    assert images.find_all(found) == ["i:1", "c:1"]
