"""The signature of AWS against examples whose signatures AWS published."""

from datetime import UTC, datetime

import pytest

from volary.analysis.providers.dialects import aws_signature

#: Published with the algorithm: the request of the guide, and of the suite of vectors.
KEYS = aws_signature.Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
MOMENT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
FORM = "application/x-www-form-urlencoded; charset=utf-8"
HOST = {"Host": "example.amazonaws.com"}


@pytest.mark.parametrize(
    ("service", "signed", "expected"),
    [
        pytest.param(
            "iam",
            aws_signature.Signed(
                "GET",
                "/",
                (("Action", "ListUsers"), ("Version", "2010-05-08")),
                {"Host": "iam.amazonaws.com", "Content-Type": FORM},
                b"",
            ),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
            id="the guide's request",
        ),
        pytest.param(
            "service",
            aws_signature.Signed("GET", "/", (), HOST, b""),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            id="get-vanilla",
        ),
        pytest.param(
            "service",
            aws_signature.Signed(
                "GET", "/", (("Param2", "value2"), ("Param1", "value1")), HOST, b""
            ),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            id="get-vanilla-query-order-key-case",
        ),
        pytest.param(
            "service",
            aws_signature.Signed("POST", "/", (), HOST, b""),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            id="post-vanilla",
        ),
        pytest.param(
            "service",
            aws_signature.Signed(
                "POST",
                "/",
                (),
                {**HOST, "Content-Type": "application/x-www-form-urlencoded"},
                b"Param1=value1",
            ),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            id="post-x-www-form-urlencoded",
        ),
    ],
)
def test_published_signatures(service: str, signed: aws_signature.Signed, expected: str) -> None:
    found = aws_signature.headers(signed, KEYS, region="us-east-1", service=service, now=MOMENT)

    assert found["X-Amz-Date"] == "20150830T123600Z"
    assert found["Authorization"].endswith(f"Signature={expected}")
    assert f"Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/" in found["Authorization"]


def test_keys_that_are_valid_for_a_while() -> None:
    """As botocore signs the same request."""
    signed = aws_signature.Signed(
        "POST",
        "/",
        (),
        {"Host": "monitoring.eu-central-1.amazonaws.com", "Content-Type": FORM},
        b"Action=GetMetricData&x=a%2Ab",
    )
    keys = aws_signature.Keys("AK", "SK", "TOKEN")
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)

    found = aws_signature.headers(
        signed, keys, region="eu-central-1", service="monitoring", now=moment
    )

    assert found["X-Amz-Security-Token"] == "TOKEN"
    assert found["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AK/20300101/eu-central-1/monitoring/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
        "Signature=1d0707a5435dd7f02238bb70d1f609a5207eca669a2ac3c77379e2eea256eb5b"
    )
