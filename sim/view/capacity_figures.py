"""The figures of Capacity: bills side by side, what a change does to the rate, and the bill as the load grows."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from sim.studies.bill import Bill
from sim.view import theme
from sim.view.capacity import Option, Terms, cost_of, dollars, gpus_words
from sim.view.lines import INCOMPLETE, across, note
from sim.view.number_words import short_number
from sim.view.theme import axis, layout
from sim.view.tiles import relative_change

ROUGH = "hatched: step times are a rough estimate"
MOST_BARS = 14
OWN = "as it is"
WAYS = {  # what a bar is as long as: title, text on the bar
    "usd": ("price an hour ($/h)", "$/h"),
    "gpus": ("GPUs", "GPUs"),
}
STEPS = 160


def deployments(
    options: Sequence[Option], own_name: str, which: str, num_expected: int, *, is_complete: bool
) -> go.Figure:
    """Bars of the same load on several deployments, the best above; the chosen one is dark, rough ones hatched.

    There is room for `num_expected` of them from the start, so that bars keep their thickness.
    """
    there = [(each, value) for each in options if (value := _value(each, which)) is not None]
    ranked = sorted(there, key=lambda row: (row[1], row[0].name != own_name))[:MOST_BARS]
    if own_name not in [each.name for each, _ in ranked]:
        ranked[-1:] = [row for row in there if row[0].name == own_name] or ranked[-1:]
    ranked.reverse()  # Plotly draws from below
    title, _ = WAYS[which]
    names = [each.name for each, _ in ranked]
    return go.Figure(
        [
            go.Bar(
                x=[value for _, value in ranked],
                y=names,
                orientation="h",
                uid="deployments",
                text=[_label(each, which) for each, _ in ranked],
                textposition="outside",
                textfont={"size": 11},
                constraintext="none",  # else Plotly shrinks what stands on thin bars until nobody can read it
                cliponaxis=False,
                marker={
                    "color": [theme.BLUE if name == own_name else theme.SKY for name in names],
                    "pattern": {
                        "shape": ["/" if each.is_rough else "" for each, _ in ranked],
                        "size": 5,
                        "solidity": 0.25,
                    },
                },
                hovertemplate="%{y}: %{text}<extra></extra>",
            )
        ],
        layout(
            f"deployments {which}",
            hovermode="closest",
            showlegend=False,
            xaxis=axis(title, rangemode="tozero", range=[0, 1.4 * max((value for _, value in ranked), default=1.0)]),
            yaxis=axis("", tickfont={"size": 11}, showgrid=False, categoryorder="array", categoryarray=names)
            | _room(len(names), min(num_expected, MOST_BARS)),
            margin={"l": 128, "r": 14, "t": 22, "b": 38},
            annotations=[note(text)] if (text := _note(ranked, is_complete=is_complete)) else [],
        ),
    )


def _note(ranked: Sequence[tuple[Option, float]], *, is_complete: bool) -> str:
    """What stands above the bars: that more will come, or what their hatching says."""
    if not is_complete:
        return INCOMPLETE
    return ROUGH if any(each.is_rough for each, _ in ranked) else ""


def what_if(base: Option, changed: Sequence[Option], num_expected: int) -> go.Figure:
    """Requests/s of one replica as it is and after each change, with the GPUs of the whole load beside."""
    rows = [(each.name if each is not base else OWN, each.found, each.bill) for each in (base, *changed)]
    there = [(name, found, cost) for name, found, cost in rows if found is not None and cost is not None][::-1]
    before = base.found.sustained.rate_rps if base.found else 0.0
    rates = [found.sustained.rate_rps for _, found, _ in there]
    names = [_two_lines(name) for name, _, _ in there]
    texts = [_sustains(rate, before, cost) for rate, (_, _, cost) in zip(rates, there, strict=True)]
    return go.Figure(
        [
            go.Bar(
                x=rates,
                y=names,
                orientation="h",
                uid="what if",
                text=texts,
                textposition="none",
                marker={"color": [theme.BLUE if name == OWN else theme.SKY for name, _, _ in there]},
                width=0.6,
                hovertemplate="%{y}: %{text}<extra></extra>",
            )
        ],
        layout(
            "what if",
            hovermode="closest",
            showlegend=False,
            xaxis=axis("one replica sustains (requests/s)", range=[0, 1.75 * max(rates, default=1.0)]),
            yaxis=axis("", tickfont={"size": 11}, showgrid=False) | _room(len(there), num_expected),
            margin={"l": 128, "r": 14, "t": 22, "b": 38},
            shapes=[across(before, {"color": theme.GREY, "width": 1.2, "dash": "dot"}, layer="below")],
            annotations=[  # beside the bar, or beside the line that it does not reach: none crosses the line
                {"x": max(rate, before), "y": name, "text": text, "xanchor": "left", "showarrow": False, "xshift": 2}
                for rate, name, text in zip(rates, names, texts, strict=True)
            ],
        ),
    )


def growth(options: Sequence[Option], own: Option, terms: Terms) -> go.Figure:
    """The bill as the load grows, in steps of a replica: the chosen deployment and the cheapest other one."""
    assert own.found is not None
    chosen = own.found.scenario
    styles = ({"color": theme.BLUE, "width": 2}, theme.SECOND)
    loads = [2 * terms.needed_rps * (i + 1) / STEPS for i in range(STEPS)]
    traces = [
        go.Scatter(
            x=loads,
            y=[cost_of(each.found, terms, chosen, load).usd_per_hour for load in loads],
            name=each.name,
            uid="own" if each is own else "other",
            mode="lines",
            line=style | {"shape": "hv"},
            hovertemplate="%{y:$,.2f}/h",
        )
        for each, style in zip(options, styles, strict=False)
        if each.found is not None
    ]
    return go.Figure(
        traces,
        layout(
            "growth",
            xaxis=axis("rate needed (requests/s)", rangemode="tozero"),
            yaxis=axis("price an hour ($/h)", rangemode="tozero"),
            shapes=[across(terms.needed_rps, {"color": theme.ORANGE, "width": 1.4, "dash": "dot"})],
            annotations=[note("upright dots: the rate to serve")],
        ),
    )


def _sustains(rate_rps: float, before_rps: float, cost: Bill) -> str:
    """What stands beside a bar of the what-ifs."""
    change = "" if rate_rps == before_rps else f" ({relative_change(rate_rps, before_rps)})"
    return f"{short_number(rate_rps)}{change}: {gpus_words(cost.all_gpus)}"


def _room(num_there: int, num_expected: int) -> dict[str, Any]:
    """Range of a category axis that fills from above."""
    return {"range": [num_there - 0.5 - max(num_there, num_expected), num_there - 0.5]}


def _value(option: Option, which: str) -> float | None:
    if option.bill is None:
        return None
    return option.bill.usd_per_hour if which == "usd" else option.bill.all_gpus


def _label(option: Option, which: str) -> str:
    assert option.bill is not None
    cost = option.bill
    usd = "" if cost.usd_per_hour is None else f"${dollars(cost.usd_per_hour)}/h"
    gpus = gpus_words(cost.all_gpus)
    return ", ".join(filter(None, (usd, gpus) if which == "usd" else (gpus, usd)))


def _two_lines(name: str) -> str:
    """A label short enough for the margin."""
    words = name.split(" ")
    half = (len(words) + 1) // 2
    return name if len(name) <= 18 else f"{' '.join(words[:half])}<br>{' '.join(words[half:])}"
