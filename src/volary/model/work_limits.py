"""How much work one application may make, counted wherever it can be; what is above is refused.

All of it is far above what clusters take, and far below what hurts. None is a setting: whoever
comes near one has made a mistake, or wants to do harm.
"""

from datetime import timedelta

from volary.model import errors

#: Characters of a file of YAML or JSON. A cluster takes objects of 1.5 MiB.
YAML_CHARACTERS = 16 * 1024 * 1024
#: Levels of a document: more than any object has, few enough for recursive functions.
YAML_DEPTH = 200
#: Aliases may multiply a document by this much, beyond a free allowance. Values are counted, and
#: a long text as several of them (`YAML_TEXT`).
YAML_ALIAS_FACTOR = 10
YAML_ALIAS_ALLOWANCE = 100_000
#: Characters of a text that count as one value.
YAML_TEXT = 64
#: Objects of an application on one cluster, and of one file.
OBJECTS = 20_000
#: Bytes of them, as compact JSON.
RENDERED_BYTES = 64 * 1024 * 1024
#: Bytes of the files that an application file may refer to, all together.
SIBLING_BYTES = 64 * 1024 * 1024
#: Application files of one repository.
APPLICATIONS = 10_000
#: Steps of an expression for one object; one takes about a microsecond.
EXPRESSION_STEPS = 250_000
#: Processor time of one piece of work, in a thread: the last limit, for what was not thought of.
LONGEST_WORK = timedelta(seconds=60)


class TookTooLongError(errors.UserError):
    """A piece of work took more processor time than any may."""

    def __init__(self, what: str, longest: timedelta) -> None:
        seconds = f"{longest.total_seconds():g} s"
        super().__init__(
            errors.Problem(
                f"{what} took more than {seconds} of processor time and is not waited for",
                hint="make it smaller: split the application, or take out what is generated",
            )
        )
