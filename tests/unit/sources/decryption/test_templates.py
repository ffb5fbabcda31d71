"""Templates of PipeCD's targets: values and functions are carried out, all else is an error."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.sources.decryption import templates

VALUES = {
    "encryptedSecrets": {"password": 'p"w\nx', "user": "ana", "empty": ""},
    "attachment": {"config": "a: {{ .encryptedSecrets.user }}\n"},
}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("no braces", "no braces"),
        ("a: {{ .encryptedSecrets.user }}", "a: ana"),
        ("{{.encryptedSecrets.user}}{{ $.encryptedSecrets.user }}", "anaana"),
        ("a  {{- .encryptedSecrets.user -}}  b", "aanab"),
        ("a {{/* .nothing */}}b{{- /* x */ -}} c", "a bc"),
        ('{{ index .encryptedSecrets "user" | b64enc }}', "YW5h"),
        ("{{ .encryptedSecrets.user | b64enc | b64dec | upper | quote }}", '"ANA"'),
        ("{{ .encryptedSecrets.password | quote }}", '"p\\"w\\nx"'),
        ("{{ quote .encryptedSecrets.user }} {{ squote .encryptedSecrets.user }}", "\"ana\" 'ana'"),
        ("k: |\n{{ .encryptedSecrets.password | indent 2 }}", 'k: |\n  p"w\n  x'),
        ("k:{{ .encryptedSecrets.user | nindent 2 }}", "k:\n  ana"),
        ("{{ .attachment.config }}", "a: {{ .encryptedSecrets.user }}\n"),
        ("{{ .encryptedSecrets.empty | default `no` }}", "no"),
        ("{{ (print .encryptedSecrets.user `-` 1) | replace `-` `:` }}", "ana:1"),
        ("{{ trimSuffix `a` .encryptedSecrets.user | trimPrefix `a` }}", "n"),
        ("{{ `{{ .Values.kept }}` }}", "{{ .Values.kept }}"),
        ('{{ "{{" }} .x }}', "{{ .x }}"),
        ("{{ true }}{{ 7 }}", "true7"),
        (
            "{{ toJson .encryptedSecrets.user }}",
            '"ana"',
        ),
        ("{{ .encryptedSecrets.password | urlquery }}", "p%22w%0Ax"),
    ],
)
def test_what_is_carried_out(text: str, rendered: str) -> None:
    assert templates.render(text, VALUES) == rendered


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("a\n{{ .encryptedSecrets.nobody }}", "there are: password, user, empty", 2),
        ("{{ index .encryptedSecrets `x-y` }}", "index x-y does not exist", 1),
        ("{{ .Values.replicas }}", ".Values does not exist", 1),
        ("{{ if .encryptedSecrets.user }}", "if is not carried out; there are: b64dec", 1),
        ("{{ range .encryptedSecrets }}", "range is not carried out", 1),
        ("{{ include `x` . }}", "cannot be read at '.'", 1),
        ("{{ .encryptedSecrets }}", "is a table of values", 1),
        ("{{ .encryptedSecrets.user.name }}", ".encryptedSecrets.user.name does not exist", 1),
        ("{{ }}", "is empty", 1),
        ("a\n\n{{ .encryptedSecrets.user", "is not closed", 3),
        ("{{ b64dec .encryptedSecrets.user }}", "b64dec cannot be applied", 1),
        ("{{ b64enc }}", "b64enc cannot be applied", 1),
        ("{{ indent 2000 `a` }}", "indent cannot be applied", 1),
        ("{{ indent `x` `a` }}", "indent cannot be applied", 1),
        ("{{ (upper `a` }}", "parenthesis", 1),
        ("{{ upper `a`) }}", "parenthesis", 1),
        ("{{ `a` `b` }}", "is not a value", 1),
        ("{{ `a` | `b` }}", "is not a value", 1),
        ("\n{{/* a */ b }}", "has more than a comment", 2),
        ("{{/* a }}", "is not closed", 1),
        ('{{ "a }}', "a string that is not closed", 1),
        ("{{ `a }}", "a string that is not closed", 1),
        ("{{ " + "(" * 30 + "upper `a`" + ")" * 30 + " }}", "nested too deep", 1),
    ],
)
def test_all_else_is_an_error_with_its_line(text: str, said: str, line: int) -> None:
    with pytest.raises(templates.TemplateError) as raised:
        templates.render(text, VALUES)

    assert said in str(raised.value)
    assert raised.value.line == line
    assert 'p"w' not in str(raised.value)


@given(text=st.text(alphabet='{}-| ()`".$abz/*\n1'))
def test_any_text_is_rendered_or_refused(text: str) -> None:
    with contextlib.suppress(templates.TemplateError):
        assert "encryptedSecrets" not in templates.render(text, VALUES)


def test_the_number_of_actions_is_bounded() -> None:
    with pytest.raises(templates.TemplateError, match="more than 10000 actions"):
        templates.render("{{ 1 }}" * 10_001, {})


def test_a_secret_that_is_used_as_a_key_is_not_told() -> None:
    with pytest.raises(templates.TemplateError) as raised:
        templates.render(
            "{{ index .encryptedSecrets .encryptedSecrets.password }}",
            {"encryptedSecrets": {"password": "hunter2-hunter2"}},
        )

    assert "index has a key that does not exist; there are: password" in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "action",
    [
        '"x" ' + '| replace "" "aaaaaaaaaaaaaaaa" ' * 20,
        '"\\n\\n\\n\\n\\n\\n\\n\\n" ' + "| indent 1000 | replace ` ` `\n` " * 20,
        "print " + ("(`x` " + '| replace "x" "xxxxxxxxxxxxxxxx" ' * 5 + ") ") * 20,
        '"x" ' + '| replace "x" "xxxxxxxxxxxxxxxx" ' * 5 + " | quote " * 100,
    ],
    ids=["replace", "indent", "print", "quote"],
)
def test_a_few_functions_do_not_fill_the_memory(action: str) -> None:
    grown = f"{{{{ {action} }}}}"

    with pytest.raises(templates.TemplateError, match="becomes longer than 16 Mi characters"):
        templates.render(grown * 40, {})
