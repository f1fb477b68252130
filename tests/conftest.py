"""Shared by all tests."""

import os

from hypothesis import settings

# The first example may compile kernels, so no example has a deadline. In CI the examples are the same every time.
settings.register_profile("longtail", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("longtail")
