"""A file that a benchmark wrote, with its JSON objects already taken apart."""

from typing import NamedTuple

from sim.benchmarks.fields import Fields, objects_of
from sim.errors import DataError
from sim.workload.readers.text import Source, TextFile, text_file


class ResultFile(NamedTuple):
    """Text, and what is in it if it is JSON."""

    text: TextFile
    objects: tuple[Fields, ...]  # none where it does not begin like JSON

    @property
    def first(self) -> Fields:
        """The first object; without any values where there is none."""
        return self.objects[0] if self.objects else Fields(self.text.name, "", {})


def result_file(source: Source, name: str | None = None) -> ResultFile:
    """Read a file and decode it.

    Raises
    ------
    DataError
        It cannot be read, is empty, or begins like JSON and is none.
    """
    return taken_apart(text_file(source, name, what="benchmark"))


def taken_apart(text: TextFile) -> ResultFile:
    """As `result_file`, of a file that has been opened."""
    if not text.begins():
        raise DataError(f"{text.name} is empty; at least one result is needed")
    return ResultFile(text, objects_of(text) if text.begins().startswith(("{", "[")) else ())
