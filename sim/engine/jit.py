"""The one set of jit options, and a compile cache that follows the engine's sources.

Numba's disk cache only looks at the file a function is written in: after an edit of a helper elsewhere its
callers keep the old machine code. So the cache folder is named by a hash over every source of the engine
and over the versions of Numba and NumPy. Import this module before the first kernel is defined.
"""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np

os.environ.setdefault("NUMBA_OPT", "2")  # LLVM's level 3 compiles a fifth longer, for kernels that run no faster

# The only jit options in the project. `_nrt` switches off Numba's reference counts: kernels allocate nothing, and two
# atomic operations for every array of every call made the loop three times slower.
OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
ENTRY = {**OPTIONS, "cache": True}  # for what Python calls; what only kernels call is a `@kernel`


def sources_hash() -> str:
    """Hash of all engine sources, subpackages included, and of the versions that shape the machine code."""
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {np.__version__}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """First writable of `NUMBA_CACHE_DIR`, the user's cache folder and the temporary folder."""
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    roots = [user_cache / "longtail", Path(tempfile.gettempdir()) / "longtail"]
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        roots.insert(0, Path(named))
    for root in roots:
        folder = root / sources_hash()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="longtail-"))


CACHE_FOLDER = cache_folder()
numba.config.CACHE_DIR = str(CACHE_FOLDER)  # type: ignore[attr-defined]


def is_compiled(package: str = "engine") -> bool:
    """Whether the loop of a package of these sources is in the cache already."""
    return any(CACHE_FOLDER.glob(f"{package}_*/loop.advance-*.nbc"))
