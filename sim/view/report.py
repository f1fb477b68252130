"""A run as one HTML file: opens without a network, prints to PDF uncut, says how to make the same run again."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from sim.errors import ScenarioError
from sim.keys import value_text
from sim.scenario import Scenario
from sim.studies.load_curve import LoadPoint, curve
from sim.view import alt, figures, ledger_figures, load_figure
from sim.view.banners import all_clear, banners
from sim.view.memory import MEMORY_STYLE
from sim.view.quantity import OUTPUT_RATE
from sim.view.reproduce import Origin, departures_of_run, notebook_lines, run_command
from sim.view.run_view import RunView
from sim.view.server_command import server_command
from sim.view.summary_rows import SMALLEST_SHARE, latency_rows
from sim.view.tiles import tiles
from sim.view.time_use import TIME_STYLE
from sim.view.verdict import verdict

Rows = Sequence[Sequence[str]]

WIDTH_PX = 700  # a sheet of paper between its margins
CONFIG = {"displaylogo": False, "plotlyServerURL": "", "showSendToCloud": False, "responsive": False}
STYLE = f"""
:root {{color-scheme: light;}}
body {{font: 15px/1.45 system-ui, sans-serif; color: #1b1b1b; background: #fff;}}
body {{width: {WIDTH_PX}px; margin: 1.5rem auto;}}
h1 {{font-size: 1.25rem; line-height: 1.35; margin: .2rem 0 .6rem;}}
h2 {{font-size: 1.05rem; margin: 1.6rem 0 .4rem; border-bottom: 1px solid #bbb;}}
table {{border-collapse: collapse; font-size: .86rem; margin: .4rem 0;}}
th, td {{text-align: right; padding: .15rem .6rem .15rem 0; vertical-align: top; font-variant-numeric: tabular-nums;}}
th:first-child, td:first-child, td.words, th.words {{text-align: left;}}
:is(td, th):not(:nth-child(4)) {{white-space: nowrap;}}  /* the fourth, where there is one, holds sentences */
pre {{background: #f3f3f1; padding: .5rem .7rem; font-size: .8rem; white-space: pre-wrap; overflow-wrap: anywhere;}}
pre.whole {{columns: 2; font-size: .68rem;}}
figure {{margin: .6rem 0 1rem;}}
figcaption, .small {{font-size: .82rem; color: #444;}}
.banner {{border-left: 4px solid #D55E00; padding: .1rem .7rem; margin: .4rem 0;}}
@media print {{
  body {{margin: 0 auto;}}
  h2 {{break-after: avoid;}}
  figure, table, pre:not(.whole), tr {{break-inside: avoid;}}
  .modebar {{display: none !important;}}
}}
@page {{size: A4; margin: 12mm;}}
"""


def report(run: RunView, origin: Origin, load_points: Sequence[LoadPoint] = ()) -> str:
    """The report of a run.

    Parameters
    ----------
    run : RunView
    origin : Origin
        What the run departs from; what departs is named in the report.
    load_points : sequence of LoadPoint
        Its load curve; left out where there are none.

    Returns
    -------
    str
        An HTML document that asks for nothing: style, pictures and plotly.js are in it.
    """
    sections = {
        "Numbers": _numbers(run),
        "Scenario": _scenario(run.scenario, origin),
        "Pictures": _pictures(run, load_points),
        "Latencies": _table(latency_rows(run.summary["metrics"])),
        "Where the KV memory went": _ledger(run.summary["memory_ledger"], "blocks_x_duration", MEMORY_STYLE),
        "Where the time went": _ledger(run.summary["time_ledger"], "stages_x_duration", TIME_STYLE),
        "How far to trust it": _trust(run),
        "The same run again": _again(run.scenario, origin),
        "A server configured so": _server(run.scenario),
        "Versions": _table([[name, version] for name, version in run.summary["versions"].items()], words=(1,)),
        "Everything that determines the run": _whole(run.scenario),
    }
    body = "".join(f"<h2>{escape(title)}</h2>{content}" for title, content in sections.items())
    title = run.scenario.about.title or origin.name
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: Longtail report</title>'
        f"<style>{STYLE}</style></head><body><p class=small>{escape(title)}</p>"
        f"<h1>{escape(verdict(run.scenario, run.summary))}</h1>{_banners(run)}{body}</body></html>"
    )


def _banners(run: RunView) -> str:
    found = [banner.text for banner in banners(run.summary, run.cost_band)]
    if not found:
        return f"<p>{escape(all_clear(run.summary, run.cost_band))}</p>"
    return "".join(f'<p class="banner">{escape(text)}</p>' for text in found)


def _numbers(run: RunView) -> str:
    """The tiles with their definitions."""
    rows = [
        [tile.label, f"{tile.value} {tile.unit}".rstrip(), tile.note, tile.help.partition(" Error of the step")[0]]
        for tile in tiles(run.summary)
    ]
    return _table([["", "", "", "what it is"], *rows], words=(2, 3))


def _scenario(scenario: Scenario, origin: Origin) -> str:
    about = scenario.about
    changed = departures_of_run(scenario, origin)
    rows = [[path, value_text(value)] for path, value in changed.items()]
    told = [about.question, about.source and f"Source: {about.source}"]
    departs = _table(rows, words=(1,)) if rows else "<p>nothing</p>"
    return (
        "".join(f"<p>{escape(text)}</p>" for text in told if text)
        + f"<p>What departs from {escape(origin.name)}:</p>{departs}"
    )


def _whole(scenario: Scenario) -> str:
    return f'<pre class="whole">{escape(scenario.model_dump_json(indent=1))}</pre>'


def _pictures(run: RunView, load_points: Sequence[LoadPoint]) -> str:
    shown = [(figures.throughput(run.over_time, OUTPUT_RATE), alt.throughput(run, OUTPUT_RATE))]
    shown += [(figures.distribution(each), alt.distribution(each)) for each in run.distributions.values()]
    shown.append((figures.memory(run.over_time), alt.memory(run)))
    shown.append((ledger_figures.time_use(run.over_time), "Where the time of the iterations goes."))
    if load_points:
        shown.append((_load_figure(run, load_points), alt.load(load_points)))
    return "".join(_figure(figure, words, is_first=i == 0) for i, (figure, words) in enumerate(shown))


def _load_figure(run: RunView, points: Sequence[LoadPoint]) -> go.Figure:
    per_token = run.distributions["TPOT"]
    own = [] if run.operating is None else [run.operating]
    return load_figure.load(
        curve([*points, *own]),
        per_token.quantity,
        load_figure.load_title(run.scenario),
        [point.load for point in points],
        run.operating,
        is_complete=True,
        limit=per_token.limit,
    )


def _figure(figure: go.Figure, words: str, *, is_first: bool) -> str:
    """A live picture of a fixed width, so that printing does not cut it; plotly.js comes with the first."""
    figure.update_layout(width=WIDTH_PX, template="plotly_white", font_color="#1b1b1b")
    html = pio.to_html(figure, config=CONFIG, include_plotlyjs=is_first, include_mathjax=False, full_html=False)
    return f"<figure>{html}<figcaption>{escape(words)}</figcaption></figure>"


def _ledger(ledger: Mapping[str, Any], whole_name: str, styles: Mapping[str, Any]) -> str:
    """Rows of a ledger, their shares and what they are; they add up to the whole."""
    whole = ledger[whole_name] or 1.0
    rows = [
        [styles[name].label, _amount(value), f"{100 * value / whole:.1f} %", styles[name].definition]
        for name, value in ledger["rows"].items()
        if value / whole >= SMALLEST_SHARE
    ]
    unit = {"block_s": "block-seconds", "s": "seconds"}[ledger["unit"]]
    total = ["together", _amount(ledger["sum"]), f"{100 * ledger['sum'] / whole:.1f} %", ""]
    return _table([["", unit, "share", ""], *rows, total], words=(3,))


def _amount(value: float) -> str:
    """Seconds, or blocks times seconds: tenths only below ten thousand."""
    return f"{value:,.{0 if value >= 10_000 else 1}f}"


def _trust(run: RunView) -> str:
    flags = run.summary["flags"]
    steady = run.summary["steady_state"]
    told = [f"Error of the step times behind every time and rate: {run.summary['step_time']['text']}."]
    told.append("The queue has no trend." if flags["unstable"] is False else "")
    if steady is not None and steady["output_tokens_per_s"] is None:
        told.append("The run stopped before its warm-up was over.")
    elif steady is not None:
        told.append(
            f"Between the warm-up and the last arrival ({steady['start_s']:,.0f} to {steady['end_s']:,.0f} s): "
            f"{steady['output_tokens_per_s']:,.0f} output tokens/s."
        )
    return "".join(f"<p>{escape(text)}</p>" for text in told if text)


def _again(scenario: Scenario, origin: Origin) -> str:
    return (
        f"<p>One command:</p><pre>{escape(run_command(scenario, origin, 'report.html'))}</pre>"
        f"<p>In a notebook:</p><pre>{escape(notebook_lines(scenario, origin))}</pre>"
    )


def _server(scenario: Scenario) -> str:
    try:
        command = server_command(scenario)
    except ScenarioError as error:
        return f"<p>{escape(str(error))}</p>"
    shown = f"<pre>{escape(command.text)}</pre>" if command.text else ""
    return shown + "".join(f"<p>{_with_code(text)}</p>" for text in command.notes)


def _with_code(text: str) -> str:
    """A sentence with what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _table(rows: Rows, words: Iterable[int] = ()) -> str:
    """A table whose first row is a heading where its first cell is empty."""
    left = set(words)

    def line(cells: Sequence[str], tag: str) -> str:
        inner = "".join(
            f"<{tag}{' class=words' if place in left else ''}>{escape(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )
        return f"<tr>{inner}</tr>"

    return f"<table>{''.join(line(row, 'td' if row[0] else 'th') for row in rows)}</table>"
