"""The README says what is true: set-up lines, Python example, file map."""

import ast
import contextlib
import io
import re
import shlex
import subprocess
from pathlib import Path

from sim.options import parser

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python_example_prints_what_the_readme_shows() -> None:
    (code,), (expected,) = blocks("python"), blocks("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == expected
    assert len([line for line in code.splitlines() if line]) <= 10


def test_exactly_two_setup_commands_each_with_its_environment() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if "pip install" in line]
    assert len(lines) == 2
    assert all(line.startswith("python3 -m venv .venv && .venv/bin/pip install ") for line in lines)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = next(line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith("command=$("))
    done = subprocess.run(
        ["bash", "-c", f'{script}; echo "$command"'], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in [line for block in blocks("sh") for line in block.splitlines()]
    assert done.stdout.strip().endswith(".venv/bin/pytest")


def test_commands_shown_are_commands_that_exist() -> None:
    shown = [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]
    commands = [words[1:] for words in shown if words and words[0] == "longtail"]
    assert {"run", "replay", "bench"} <= {words[0] for words in commands if words}
    for words in commands:
        parser().parse_args(words)


def test_links_to_files_lead_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", README) if "://" not in target]
    assert targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def file_map() -> str:
    """The README's table of files: every module with the first line of its docstring."""
    sources = [ROOT / "app.py", *sorted(ROOT.glob("pages/**/*.py")), *sorted(ROOT.glob("sim/**/*.py"))]
    rows = []
    for source in sources:
        about = (ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").split("\n")[0].rstrip(".")
        package = source.name == "__init__.py"
        name = f"{(source.parent if package else source).relative_to(ROOT).as_posix()}{'/' if package else ''}"
        rows.append(f"| `{name}` | {about.replace('|', ',')} |\n")
    return "".join(rows)


HEAD = "| file | what it holds |\n|---|---|\n"


def test_file_map_says_what_the_modules_say() -> None:
    assert README.split(HEAD)[1] == file_map(), "`python -m tests.test_readme` writes the map anew"


if __name__ == "__main__":
    (ROOT / "README.md").write_text(README.split(HEAD)[0] + HEAD + file_map(), encoding="utf-8")
