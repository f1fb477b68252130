"""Where the small files of our own lie."""

from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
