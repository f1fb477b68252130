"""From a file on the disk, or bytes, to its text."""

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sim.errors import DataError, shown

MAX_TEXT_BYTES = 2**30  # after unpacking: a small gzip file can hold terabytes
NO_OTHERS: Mapping[str, bytes] = MappingProxyType({})

Source = str | os.PathLike[str] | bytes  # where a file is, or what is in it


class TextFile(NamedTuple):
    """A file that turned out to be text."""

    name: str  # without folders
    sha256: str  # of the bytes as given
    text: str  # lines end in \n, whatever they ended in before
    folder: Path | None = None  # where it lies; None: it came as bytes
    others: Mapping[str, bytes] = NO_OTHERS  # files that came with it, by name

    def lines(self) -> Iterator[str]:
        """One after the other with their ends, so that a large text is not there twice."""
        start = 0
        while start < len(self.text):
            end = self.text.find("\n", start) + 1 or len(self.text)
            yield self.text[start:end]
            start = end

    def begins(self) -> str:
        """The first line that is not blank, without its end; empty where there is none."""
        return next((line.strip() for line in self.lines() if line.strip()), "")

    def of_no_layout(self, layouts: Sequence[str]) -> DataError:
        """What to refuse a file with that has none of some layouts."""
        known = f"{', '.join(layouts[:-1])} and {layouts[-1]}"
        return DataError(f"{self.name} begins with {shown(self.begins())}; known layouts are {known}")

    def partner(self, name: str) -> "TextFile | None":
        """The file of that name, gzipped or not, that came with this one or lies beside it."""
        for each in (name, f"{name}.gz"):
            if each in self.others:
                return text_file(self.others[each], each, others=self.others)
            if self.folder is not None and (self.folder / each).is_file():
                return text_file(self.folder / each)
        return None


def text_file(
    source: Source, name: str | None = None, *, others: Mapping[str, bytes] = NO_OTHERS, what: str = "trace"
) -> TextFile:
    """Read and decode a file; gzip is unpacked.

    Parameters
    ----------
    source : path or bytes
        Where the file is, or what is in it.
    name : str, optional
        How sentences call it; else the path's last part.
    others : mapping from name to bytes, optional
        Files that came with it, for layouts of two files.
    what : str
        What kind of file is needed, for the sentence about one that does not exist.

    Raises
    ------
    DataError
        Missing, unreadable, damaged, not text, or larger than 1 GiB.
    """
    if isinstance(source, bytes):
        name, content, folder = name or what, source, None
    else:
        name = name or Path(source).name
        content, folder = _bytes_at(Path(source), what), Path(source).parent
    text = _decoded(name, _unpacked(name, content))
    return TextFile(name, hashlib.sha256(content).hexdigest(), text, folder, others)


def _bytes_at(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; a {what} file is needed") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None


def _unpacked(name: str, content: bytes) -> bytes:
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MAX_TEXT_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{name} is a damaged gzip file; a complete one is needed") from None
    if len(content) > MAX_TEXT_BYTES:
        raise DataError(f"{name} has more than {MAX_TEXT_BYTES} bytes of text; that is the most allowed")
    return content


def _decoded(name: str, content: bytes) -> str:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"  # spreadsheets write either
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not text: byte {error.start} is not {encoding[:6].upper().rstrip('-')}") from None
    if "\0" in text:
        raise DataError(f"{name} is not text: character {text.index(chr(0))} is a zero byte")
    return text.replace("\r\n", "\n").replace("\r", "\n")
