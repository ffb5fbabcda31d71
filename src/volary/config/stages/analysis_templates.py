"""`AnalysisTemplate`: entries that the analyses of a repository's applications share.

As in PipeCD the first file counts that is directly in the directory `.pipe`, by name.
"""

import posixpath
from collections.abc import Mapping

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import applications, errors

DIRECTORY = ".pipe"
KIND = "AnalysisTemplate"
_ENDINGS = (".yaml", ".yml", ".json")
_KINDS = ("metrics", "https", "logs")


def is_template_path(path: str) -> bool:
    """Say whether a template may be in the file at `path`, relative to the repository's root."""
    directory, name = posixpath.split(path)
    return directory == DIRECTORY and name.endswith(_ENDINGS)


def load(
    files: Mapping[str, str],
) -> readings.Templates:
    """Return the template of a repository, with what is wrong with it.

    Args:
        files: Text by path of the files in the repository's directory `.pipe`; others are
            passed over.
    """
    for path in sorted(filter(is_template_path, files)):
        try:
            documents = yaml.load_all(files[path], path)
        except errors.UserError as error:
            if KIND in files[path]:
                return readings.Templates(problems=error.problems)
            continue
        for document in documents:
            if isinstance(document.value, dict) and document.value.get("kind") == KIND:
                return _read(document)
    return readings.Templates()


def _read(document: yaml.Document) -> readings.Templates:
    from volary.config.stages import metric_sections  # once there is a template

    version = document.value.get("apiVersion")
    is_ours = version == applications.Dialect.VOLARY.value
    dialect = applications.Dialect.VOLARY if is_ours else applications.Dialect.PIPECD
    reading = readings.Reading(document, dialect)
    read = reading.read(metric_sections.TemplateFile, document.value, ())
    problems = tuple(reading.problems)
    if read is None:
        return readings.Templates(problems=problems)
    entries = frozenset((kind, name) for kind in _KINDS for name in getattr(read.spec, kind))
    return readings.Templates(document, dialect, entries, problems)
