"""What we write is what kubectl reads."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from volary.manifests.loading import serialization
from volary.model.objects import manifest

BESIDE = pathlib.Path(sys.executable).with_name("kubectl")
PROGRAM = str(BESIDE) if BESIDE.exists() else shutil.which("kubectl")

#: Strings that some reader of YAML takes for something else, or that break its lines.
WORDS = """\
on y N yes 0644 0o17 0x1f 1e3 1E3 .5 +.5 1. 1:30 12:30:45 2020-01-01 2020-01-01T00:00:00Z ~ null
NULL = << 1_000 +1 -.inf .NaN nan 0b1 0.1e 1e --- ... ? : - 0 00 08 12e03 1.5e+3 0x 0o8 _1 1_ - +
true {a} [a] a,b !x &x *x @x `x %x | #x true"""
TRICKY = [
    *WORDS.split(),
    *("", "- a", "a: b", "a #b", "> x", " a", "a ", "\ta", "a\tb", "a\nb", "a\nb\n", "\na", "a: "),
    *("a\n\nb\n\n", "a \nb", "é\u2028x", "\u0085", "\x7f", "😀", "'", '"', "\\", "x\r\ny"),
]


@pytest.mark.skipif(PROGRAM is None, reason="kubectl is not installed")
def test_kubectl_reads_every_string_as_it_was() -> None:
    data = {f"k{number}": text for number, text in enumerate(TRICKY)}
    data |= {text: "a key" for text in TRICKY if text}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    ended = subprocess.run(
        [str(PROGRAM), "label", "--local", "-f", "-", "-o", "json", "x=y"],
        input=serialization.dump([manifest.Manifest(body)]).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert json.loads(ended.stdout)["data"] == data
