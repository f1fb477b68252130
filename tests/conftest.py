"""Shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example may compile kernels, so no example has a deadline. In CI the examples are the same every time.
settings.register_profile("longtail", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("longtail")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """A scenario file that says nothing but its version: everything else is a default."""
    path = tmp_path / "plain.json"
    path.write_text('{"version": 1, "about": {"title": "A plain chat"}}')
    return str(path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.csv"
    rows = [f"{0.5 * i},{100 + i},{10 + i}" for i in range(12)]
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    return str(path)
