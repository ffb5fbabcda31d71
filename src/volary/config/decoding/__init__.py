"""From a document to checked sections, in PipeCD's lenient dialect or our strict one.

A *section* is an object of a file as a pydantic model (`base_sections.Section`), made from a
*definition*, a dataclass of `volary.model` whose fields carry `options.Option`, or written by
hand where the file's form differs; *values* are its small forms (durations, percentages, names);
a *reading* decodes a document into sections and definitions and collects the problems. May
import `config.text`. Start at `readings.Reading`.
"""
