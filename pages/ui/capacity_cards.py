"""The controls and cards of Capacity."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from ui import typed
from ui.card import card
from ui.job import Job
from ui.live_plot import live_plot
from ui.predictor_price import predictor_price
from ui.rate_to_serve import rate_to_serve
from ui.watch import JobFeed, watch

from sim.catalog import gpu, gpu_names
from sim.scenario import Scenario
from sim.studies.alternatives import Alternative, with_predictor
from sim.studies.bill import price_of
from sim.studies.capacity_search import Searched
from sim.view import capacity as words
from sim.view import capacity_figures as figures
from sim.view.capacity import Option, Terms
from sim.view.number_words import UNDEFINED
from sim.view.predictor import basis_note
from sim.view.steps import powers_of_two

USUAL_GPUS = ("H100-SXM", "A100-80G-SXM", "H200", "B200", "GB200")  # measured, and linked by NVLink
ROW_PX, TABLE_ROWS = 27, 15  # more of them scroll
WIDTHS_PX = {
    "Replica": 124,
    "requests/s": 76,
    "Replicas": 66,
    "GPUs": 48,
    "$/h": 58,
    "$/M tokens": 82,
    "Error": 62,
}
HEADROOMS = ("0", "10", "20", "30", "40", "50")
SHARES = ("90", "95", "99")
HELP = {  # of the table's columns
    "Replica": "GPUs that serve one copy of the model, tensor-parallel.",
    "requests/s": "What one replica sustains within the limits.",
    "Error": "Of the step times behind the row; unknown where nothing like it was measured.",
}
FACTORS = ("1.5", "2", "3", "5")


def controls(scenario: Scenario) -> Terms:
    """Load, headroom, share within the limits, and prices."""
    with st.container(key="controls"):
        need, room, share, price, own_gpus, retraining = st.columns([1.05, 0.85, 0.95, 1.2, 0.95, 0.95], gap="small")
    needed_rps = rate_to_serve(need)
    headroom = typed.one_of(
        room,
        "select_slider",
        "Headroom (%)",
        HEADROOMS,
        value="20",
        key="room",
        help="Of each replica, kept free for failures and for traffic above the mean. More of it: more replicas.",
    )
    within = typed.one_of(
        share,
        "segmented_control",
        "Within limits (%)",
        SHARES,
        default="90",
        required=True,
        key="within",
        help="Share of requests that must meet all limits. More is sustained at a lower rate only.",
    )
    listed, source = price_of(scenario), gpu(scenario.deployment.gpu).price_source
    whose, help_text = "the catalogue", f"the catalogue's indicative price ({source})"
    if scenario.cost.price_per_gpu_hour is not None:
        whose, help_text = "the scenario", "the scenario's price"
    own = typed.number(
        price,
        f"Price of one {scenario.deployment.gpu} ($/h)",
        low=0.0,
        high=10_000.0,
        value=None,
        step=0.1,
        placeholder="no price" if listed is None else f"{listed:g} by {whose}",
        key="usd",
        help=f"What you pay. Empty: {'no price' if listed is None else help_text}.",
    )
    prices = predictor_price(scenario, own_gpus, retraining)._replace(per_gpu_hour=own)
    return Terms(needed_rps, int(headroom) / 100, int(within) / 100, prices)


def what_if_controls() -> tuple[int, float]:
    """Cap and tail of the what-ifs, read before their job starts; drawn where the card stands."""
    cap, tail = st.columns(2, gap="medium")
    tokens = typed.one_of(
        cap,
        "select_slider",
        "What if: output cap (tokens)",
        powers_of_two(32, 16_384),
        value="512",
        key="ifcap",
        help="Longer answers are cut, and nobody asks again: see Operate for what that costs.",
    )
    factor = typed.one_of(
        tail,
        "select_slider",
        "What if: tail longer by (x)",
        FACTORS,
        value="2",
        key="iftail",
        help="Answers above the 90th percentile lie so many times as far beyond it; the cap stays.",
    )
    return int(tokens), float(factor)


def gpus_to_compare(scenario: Scenario) -> tuple[str, ...]:
    """The GPUs side by side; the chosen one always is among them."""
    chosen: list[str] = typed.some_of(
        st,
        "GPUs to compare",
        {name: name for name in gpu_names()},
        default=list(USUAL_GPUS),
        key="vs",
        help="Every tensor-parallel size that holds the model.",
    )
    return tuple(dict.fromkeys([scenario.deployment.gpu, *chosen]))


def deployments(own: Option, light: Searched | None, job: Job[str, Alternative], terms: Terms) -> list[Option]:
    """The same load on other GPUs; returns those found so far, the chosen one first."""

    def found() -> list[Option]:
        return [own, *words.options(own, light, dict(sorted(job.found.items())), terms)]

    with card("deployments", "The same load elsewhere", {"usd": "$/h", "gpus": "GPUs"}) as which:

        def picture() -> tuple[go.Figure, str]:
            is_complete = job.is_done  # before the rows are read: none may come between
            options = found()
            figure = figures.deployments(options, own.name, which, job.total + 1, is_complete=is_complete)
            return figure, words.cheapest_sentence(options, own) or "Bills side by side."

        JobFeed(job, picture).draw("plot_deployments")
        if job.is_done and (sentence := words.cheapest_sentence(found(), own)):
            st.caption(sentence)
        watch(job, "deployments", "stop_deployments")
    return found()


def deployment_table(options: Sequence[Option]) -> None:
    """All of them in numbers."""
    with card("deployment_table", "Side by side"):
        table = pd.DataFrame(words.table(options))
        st.dataframe(
            table.style.format(words.CELLS, na_rep=UNDEFINED),
            hide_index=True,
            row_height=ROW_PX,
            height=ROW_PX * (min(len(table), TABLE_ROWS) + 1) + 12,
            key="table_deployments",
            column_config={
                name: st.column_config.Column(width=width, help=HELP.get(name)) for name, width in WIDTHS_PX.items()
            },
        )
        if refused := words.refusals(options):
            with st.expander(f"{len(refused)} cannot serve it"):
                st.markdown("\n".join(f"- {sentence}" for sentence in refused))


def what_if(scenario: Scenario, own: Option, light: Searched | None, job: Job[str, Alternative], terms: Terms) -> None:
    """What a cap, a longer tail or no variance does to the bill."""

    def changed() -> list[Option]:
        return words.options(own, light, dict(sorted(job.found.items())), terms)

    def sentences(of: list[Option]) -> list[str]:
        return words.what_if_sentences(own, of, light.truncated if light else 0.0)

    def picture() -> tuple[go.Figure, str]:
        there = changed()
        return figures.what_if(own, there, job.total + 1), " ".join(sentences(there))

    JobFeed(job, picture).draw("plot_what_if")
    for sentence in sentences(changed()):
        st.caption(sentence)
    if with_predictor(scenario) and (note := basis_note(scenario)):
        st.caption(note)
    watch(job, "changes", "stop_what_if")


def growth(options: Sequence[Option], own: Option, terms: Terms) -> None:
    """The bill as the load grows."""
    with card("growth", "The bill as the load grows"):
        best = words.cheapest([each for each in options if each.name != own.name])
        drawn = [own, best] if best else [own]
        figure = figures.growth(drawn, own, terms)
        live_plot(figure, "plot_growth", f"Price an hour against requests/s for {' and '.join(o.name for o in drawn)}.")
