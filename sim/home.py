"""Where the dashboard's files lie: app.py, pages, presets, theme."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def preset_files() -> dict[str, Path]:
    """Files of the shipped scenarios by name, in order of their names; raises as `app_home`."""
    return {path.stem: path for path in sorted((app_home() / "presets").glob("*.json"))}


def app_home() -> Path:
    """Folder that holds `app.py`, `pages/`, `presets/` and `.streamlit/`.

    Returns
    -------
    Path
        The copy below the package that a wheel carries, else the checkout's root.

    Raises
    ------
    FileNotFoundError
        The installation carries no dashboard.
    """
    for folder in (PACKAGE / "dashboard", PACKAGE.parent):  # a checkout has no sim/dashboard
        if (folder / "presets").is_dir() and (folder / "pages").is_dir():
            return folder
    raise FileNotFoundError(f"the dashboard's files are missing from {PACKAGE}; install longtail again")
