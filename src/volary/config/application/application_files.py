"""Reads an application file, in PipeCD's dialect or our own, into the model.

`parse` never raises for what a user wrote: everything comes back as problems, all
at once, each with file, line, path and mostly a hint.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from volary.config.application import (
    application_sections,
    assembly,
    cluster_strategies,
    consistency,
)
from volary.config.decoding import readings, values
from volary.config.dialects import drafts
from volary.config.dialects.flagger import recognition as flagger
from volary.config.dialects.karmada import recognition as karmada
from volary.config.placement import spread_and_failover, wave_rules
from volary.config.stages import analysis_templates, pipelines, stage_entries
from volary.config.text import yaml
from volary.model import applications, errors, routing_options
from volary.model.pipeline.stage_kinds import stage_kind
from volary.model.placement import overrides

#: PipeCD's old kinds that are not about Kubernetes.
_FOREIGN_KINDS = ("TerraformApp", "LambdaApp", "CloudRunApp", "ECSApp")
_FILE_NAMES = re.compile(r".+\.pipecd\.yaml|volary\.yaml")
_CANARY_NAMES = re.compile(r"(.*canary.*|flagger.*)\.ya?ml", re.IGNORECASE)
_YAML_NAMES = re.compile(r".+\.ya?ml", re.IGNORECASE)
_CANARY = re.compile(r"^kind\s*:\s*[\"']?Canary\b", re.MULTILINE)
_FLAGGER = re.compile(r"^apiVersion\s*:\s*[\"']?flagger\.app/", re.MULTILINE)
#: PipeCD's plugins for Kubernetes: of one cluster, and of several.
_SINGLE, _MULTI = "kubernetes", "kubernetes_multicluster"
_Documents = Sequence[yaml.Document]
_Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file says and what is wrong with it."""

    #: None when there is an error.
    application: applications.Application | None
    #: Errors and warnings in the order of the file.
    problems: tuple[errors.Problem, ...] = ()
    #: The document, to find the lines of problems that show later; None when unreadable.
    document: yaml.Document | None = None
    #: Where the Kubernetes part is: ``spec`` or ``spec.plugins.<name>``.
    base: yaml.Path = ("spec",)

    def require(self) -> applications.Application:
        """Return the application.

        Raises:
            UserError: There are errors; carries all of them.
        """
        if self.application is None:
            raise errors.UserError(*errors.mistakes(self.problems))
        return self.application

    def located(self, error: errors.UserError, path: yaml.Path) -> errors.UserError:
        """Return an error whose problems without a place are at `path` of this file."""
        if self.document is None:
            return error
        here = self.document.where(path)
        return errors.UserError(
            *(replace(e, where=here) if e.where == errors.NOWHERE else e for e in error.problems)
        )


def is_file_name(path: str) -> bool:
    """Say whether a file is an application file, by its name."""
    return _FILE_NAMES.fullmatch(posixpath.basename(path)) is not None


def default_name(path: str) -> str:
    """Return the name an application gets from the place of its file: its directory's name."""
    return posixpath.basename(posixpath.dirname(path)) or "application"


def is_yaml_name(path: str) -> bool:
    """Say whether a file may hold a Canary or what belongs to it."""
    return _YAML_NAMES.fullmatch(posixpath.basename(path)) is not None


def may_be_canary(path: str) -> bool:
    """Say whether a file is looked into for a Canary when applications are searched for.

    Anything else would mean to read every file of a repository.
    """
    return _CANARY_NAMES.fullmatch(posixpath.basename(path)) is not None


def is_canary(text: str) -> bool:
    """Say whether a file's text has one of Flagger's Canaries in it, by a quick check of its
    text."""
    return _CANARY.search(text) is not None and _FLAGGER.search(text) is not None


def parse(
    text: str,
    *,
    file: str,
    default_name: str,
    directory: str | None = None,
    neighbours: Mapping[str, str] = MappingProxyType({}),
) -> Loaded:
    """Read an application file.

    Args:
        text: The file's text.
        file: Its name as the user knows it, for problems.
        default_name: Name of an application that gives itself none, usually its directory's.
        directory: The application's directory in the repository; with it, paths that
            leave the repository are found here, and not only when they are opened.
        neighbours: The text of files it refers to, by path: in the directory `.pipe` of the
            repository, and in its own for a Canary, or where Karmada's policies are.
    """
    try:
        documents = karmada.expand_lists(yaml.load_all(text, file))
    except errors.UserError as error:
        return Loaded(None, error.problems)
    beside = {
        path: text
        for path, text in neighbours.items()
        if not analysis_templates.is_template_path(path)
    }
    here = posixpath.dirname(file)
    if any(flagger.is_flaggers(document) for document in documents):
        loaded = _flagger(documents, beside, directory)
    elif any(karmada.is_policy(document) for document in documents):
        return _karmada(documents, beside, here, default_name)
    elif len(documents) != 1:
        count = f"has {len(documents)} documents" if documents else "is empty"
        message = f"the file {count}; an application file has one document"
        return Loaded(None, (errors.Problem(message, errors.Location(file)),))
    else:
        reading = readings.Reading(documents[0], templates=analysis_templates.load(neighbours))
        loaded = _parse(reading, default_name, directory)
        if reading.is_pipecd:
            return loaded
    return _with_policies(loaded, documents, beside, here)


def _karmada(documents: _Documents, beside: _Texts, directory: str, name: str) -> Loaded:
    """Read an application that Karmada's policies alone describe."""
    if broken := karmada.unreadable(beside):
        return Loaded(None, broken)
    from volary.config.dialects.karmada import translation  # few applications have policies

    translated = translation.translate((*documents, *readable(beside)), directory, name)
    return _translated(translated, applications.Dialect.KARMADA, name, None)


def _with_policies(loaded: Loaded, documents: _Documents, beside: _Texts, directory: str) -> Loaded:
    """Return what is loaded with what Karmada's policies beside it say.

    Where both say where to go, or how replicas are spread, the application file counts; its
    overrides come after those of the policies, and so have the last word.
    """
    if broken := karmada.unreadable(beside):
        return replace(loaded, application=None, problems=(*loaded.problems, *broken))
    documents = (*documents, *readable(beside))
    if loaded.document is None or not any(map(karmada.is_policy, documents)):
        return loaded
    from volary.config.dialects.karmada import translation  # few applications have policies

    own = translation.own_sections(loaded.document)
    translated = translation.translate(documents, directory, "policies", own)
    read = _parse(readings.Reading(translated.draft.document()), "", None)
    problems = _sorted((*loaded.problems, *translated.problems, *read.problems))
    application, added = loaded.application, read.application
    if application is None or added is None or translated.has_errors:
        return replace(loaded, application=None, problems=problems)
    spread = (application if own.has_replicas else added).differences.replicas
    rules = (*added.differences.rules, *application.differences.rules)
    targets = added.targets
    if own.has_targets:
        # Of the policies only those count that they hold back.
        exclude = tuple(dict.fromkeys((*application.targets.exclude, *targets.exclude)))
        targets = replace(application.targets, exclude=exclude)
    application = replace(
        application, targets=targets, differences=overrides.Differences(rules, spread)
    )
    application = spread_and_failover.with_policies(application, added)
    document = translation.merged(loaded.document, translated.draft.document(), own)
    return replace(loaded, application=application, problems=problems, document=document)


def _flagger(
    documents: Sequence[yaml.Document], neighbours: Mapping[str, str], directory: str | None
) -> Loaded:
    """Read a Canary by way of the file of our own that says the same."""
    from volary.config.dialects.flagger import translation  # few applications are a Canary

    translated = translation.translate(documents, readable(neighbours))
    if translated.has_errors:
        return Loaded(None, _sorted(translated.problems), documents[0])
    return _translated(translated, applications.Dialect.FLAGGER, "", directory)


def _translated(
    translated: drafts.Translation,
    dialect: applications.Dialect,
    default_name: str,
    directory: str | None,
) -> Loaded:
    """Read the file of our own that another project's are translated into."""
    loaded = _parse(readings.Reading(translated.draft.document()), default_name, directory)
    application = None if translated.has_errors else loaded.application
    if application is not None:
        application = replace(application, dialect=dialect)
    problems = _sorted((*translated.problems, *loaded.problems))
    return replace(loaded, application=application, problems=problems)


def readable(neighbours: Mapping[str, str]) -> list[yaml.Document]:
    """Return the documents of files that can be read; rendering says what is wrong with others."""
    documents: list[yaml.Document] = []
    for file, text in neighbours.items():
        try:
            documents += yaml.load_all(text, file)
        except errors.UserError:
            continue
    return karmada.expand_lists(documents)


def _sorted(problems: Iterable[errors.Problem]) -> tuple[errors.Problem, ...]:
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.where.line))


def _parse(reading: readings.Reading, default_name: str, directory: str | None) -> Loaded:
    dialect = _dialect(reading)
    if dialect is None:
        return Loaded(None, tuple(reading.problems), reading.document)
    reading.dialect = dialect
    reading.arguments = _arguments(reading)
    if dialect is applications.Dialect.PIPECD:
        application, base = _pipecd(reading, default_name, directory)
    else:
        application, base = _volary(reading, default_name, directory)
    if application is None:
        _check_stages_alone(reading, base)
    problems = _sorted(reading.problems)
    return Loaded(None if reading.has_errors else application, problems, reading.document, base)


def _arguments(reading: readings.Reading) -> Mapping[str, str]:
    """Return what all analyses of the file have in common; needed before the stages are read."""
    here: yaml.Path = ("plugins",) if reading.is_pipecd else ()
    written = reading.written(("spec", *here, "analysis", "appCustomArgs"))
    if not isinstance(written, dict):
        return {}
    return {str(name): value for name, value in written.items() if isinstance(value, str)}


def _check_stages_alone(reading: readings.Reading, base: yaml.Path) -> None:
    """Find the problems of stages although something else in the file is wrong."""
    routing_at = (*base, "trafficRouting")
    router = reading.read(
        routing_options.TrafficRouting, reading.written(routing_at) or {}, routing_at
    )
    if router is None:
        return
    for at in cluster_strategies.written(reading):
        written = reading.written(at)
        for i, item in enumerate(written if isinstance(written, list) else ()):
            entry = reading.read(stage_entries.StageEntry, item, (*at, i))
            if entry is not None:
                pipelines.convert_one(reading, entry, router.method, (*at, i))


def _dialect(reading: readings.Reading) -> applications.Dialect | None:
    value = reading.document.value
    if not isinstance(value, dict):
        reading.error((), "an application file must be an object")
        return None
    version, kind = value.get("apiVersion"), value.get("kind")
    known = [applications.Dialect.PIPECD.value, applications.Dialect.VOLARY.value]
    if version not in known:
        message = f"unsupported version: {version}" if version else "apiVersion is required"
        reading.error(("apiVersion",), message, f"write {' or '.join(known)}")
        return None
    dialect = applications.Dialect(version)
    if not kind:
        reading.error(("kind",), "kind is required", "write kind: Application")
        return None
    if dialect is applications.Dialect.PIPECD and kind == "KubernetesApp":
        message = "the kind KubernetesApp is deprecated and read as Application"
        reading.warn(("kind",), message, "write kind: Application")
    elif kind in _FOREIGN_KINDS:
        reading.error(("kind",), f"{kind} is not about Kubernetes", "leave it to PipeCD")
        return None
    elif kind != "Application":
        message = f"invalid application kind, got: {kind}"
        reading.error(("kind",), message, "write kind: Application")
        return None
    return dialect


def _pipecd(
    reading: readings.Reading, default_name: str, directory: str | None
) -> tuple[applications.Application | None, yaml.Path]:
    read = reading.read(application_sections.PipecdFile, reading.document.value, ())
    written = reading.written(("spec", "plugins"))
    names = {name.lower() for name in written} if isinstance(written, dict) else set()
    plugin = _plugin(names, read)
    base = ("spec", "plugins", plugin or _MULTI)
    if read is None:
        return None, base
    plugins = read.spec.plugins
    if {_SINGLE, _MULTI} <= names:
        hint = "keep kubernetes_multicluster"
        reading.error(("spec", "plugins"), "both Kubernetes plugins are configured", hint)
    kubernetes = (
        plugins.kubernetes_multicluster or plugins.kubernetes or application_sections.Kubernetes()
    )
    name = read.spec.name or default_name
    _check_name(reading, name, ("spec", "name"))
    built = assembly.assemble(
        reading,
        name,
        read.spec.labels,
        read.spec,
        kubernetes,
        applications.TargetSelector(plugin=plugin),
    )
    _check_stages_of_plugin(reading, read.spec.pipeline, plugin)
    consistency.check(reading, built, kubernetes, base, directory)
    return built, base


def _plugin(names: Set[str], read: application_sections.PipecdFile | None) -> str:
    """Return whose deploy targets the application goes to; empty: nothing says it (PipeCD: 5.4).

    PipeCD asks the names of stages first. Its multi-cluster plugin once had `K8S_*` too, so here
    the options come first.
    """
    for plugin in (_MULTI, _SINGLE):
        if plugin in names:
            return plugin
    if read is None:
        return ""
    stages = [entry.name for entry in read.spec.pipeline.stages]
    if any(stage_kind.canonical(name) != name for name in stages):
        return _MULTI
    is_single = read.kind == "KubernetesApp" or any(name.startswith("K8S_") for name in stages)
    return _SINGLE if is_single else ""


def _check_stages_of_plugin(
    reading: readings.Reading, read: stage_entries.Pipeline, plugin: str
) -> None:
    """Note stages that PipeCD would carry out on the clusters of the other plugin."""
    for i, entry in enumerate(read.stages):
        name = stage_kind.canonical(entry.name)
        if plugin == _SINGLE and name != entry.name:
            message = f"{entry.name} is a stage of {_MULTI}, and the options are those of {_SINGLE}"
            hint = f"write {name}, or spec.plugins.{_MULTI}"
            reading.error((*cluster_strategies.STAGES, i, "name"), message, hint)


def _volary(
    reading: readings.Reading, default_name: str, directory: str | None
) -> tuple[applications.Application | None, yaml.Path]:
    base = ("spec",)
    read = reading.read(application_sections.VolaryFile, reading.document.value, ())
    if read is None:
        return None, base
    name = read.metadata.name or default_name
    _check_name(reading, name, ("metadata", "name"))
    wave_rules.check_targets(reading, read.spec.targets, ("spec", "targets"))
    built = assembly.assemble(
        reading, name, read.metadata.labels, read.spec, read.spec, read.spec.targets
    )
    consistency.check(reading, built, read.spec, base, directory)
    return built, base


def _check_name(reading: readings.Reading, name: str, path: yaml.Path) -> None:
    try:
        values.label_value(name)
    except ValueError as error:
        reading.error(path, f"the name {name!r} cannot be a label: it {error}")
    if not name:
        reading.error(path, "the application has no name")
