"""The cards of Predictor: map of errors, curve along bias, limits, uses, money, order against accuracy, drift."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st
from ui.capacity_jobs import LIGHT, searched
from ui.card import card
from ui.job import Job
from ui.live_plot import live_plot
from ui.predictor_price import predictor_price
from ui.rate_to_serve import rate_to_serve
from ui.watch import watch

from sim.scenario import Scenario
from sim.studies.alternatives import Alternative
from sim.studies.capacity import Capacity, combined
from sim.studies.capacity_search import Searched
from sim.studies.predictor.break_even import NO_ORDER, NO_PREDICTOR, Trial, limits_of
from sim.studies.predictor.error_map import OBJECTIVES, Direction, ErrorCell
from sim.studies.predictor.published import PublishedHere
from sim.studies.predictor.uses import Measured, Use
from sim.studies.predictor.worth import by_use, gpu_ratio, worth
from sim.view import limits_figure, predictor, predictor_figures
from sim.view.limits_words import limits_of_use, objective_of_use

ROW_PX = 27
WATCHED = ("throughput", "p99 TPOT")  # along the bias, besides the chosen objective
USES = (Use.RESERVE, Use.ORDER)


def error_map(
    errors: Job[ErrorCell, Measured], published: Job[str, PublishedHere], name: str, own: tuple[float, float]
) -> None:
    """The objective over direction and size of the error, with published predictors beside it."""
    with card("error_map", f"{predictor.QUANTITIES[name].label} by direction and size of the error (reservation)"):
        _problem(errors)
        figure = predictor_figures.error_map(
            dict(errors.found), name, OBJECTIVES[name], own, dict(published.found), is_complete=errors.is_complete
        )
        live_plot(figure, "plot_error_map", predictor.map_alt(name, len(errors.found)))
        watch(errors, "errors", "stop_errors")


def bias_curve(
    errors: Job[ErrorCell, Measured],
    trials: Job[Trial, Measured],
    name: str,
    spread: float,
    best: Direction | None,
    scenario: Scenario,
) -> None:
    """What the direction alone does, at the spread of the scenario's predictor."""
    shown = list(dict.fromkeys((name, *WATCHED)))[:2]
    with card("bias_curve", "Along the error direction; level dashes: no predictor, upright: best"):
        figure = predictor_figures.bias_curve(
            dict(errors.found),
            spread,
            shown,
            OBJECTIVES,
            best,
            trials.found.get(NO_PREDICTOR),
            is_complete=best is not None,
        )
        live_plot(figure, "plot_bias", predictor_figures.alt_curve(shown, best))
        if best is not None:
            st.caption(predictor.best_sentence(name, best, spread))
            if note := " ".join(filter(None, (predictor.size_note(scenario), predictor.basis_note(scenario)))):
                st.caption(note)


def limits(errors: Job[ErrorCell, Measured], trials: Job[Trial, Measured], name: str, spread: float) -> None:
    """Up to which error and delay a predictor is worth it."""
    with card("limits", "Worth it up to which error, and which delay"):
        _problem(trials)
        tried, found = dict(trials.found), dict(errors.found)
        now = {use: limits_of(tried, found, use, spread, objective_of_use(use, name)) for use in USES}
        sentences = [limits_of_use(use, name, now[use]) for use in USES if now[use].waits[0]]
        figure = limits_figure.limits(now, is_complete=errors.is_complete and trials.is_complete)
        live_plot(figure, "plot_limits", " ".join(sentences).replace("**", ""))
        for sentence in sentences:
            st.caption(sentence)
        watch(trials, "runs", "stop_trials")


def uses(trials: Job[Trial, Measured], spread: float) -> None:
    """Ordering against reservation, at the same error."""
    with card("uses", f"The same predictor (spread {spread:.2g}) to order or to reserve, with a full queue"):
        _table(predictor.uses_table(predictor.use_rows(dict(trials.found), spread)), "uses")


def capacities(base: Job[int | str, Searched], uses: Job[Use, Alternative], scenario: Scenario) -> dict[Use, Capacity]:
    """What one replica sustains within the limits, by use and as far as it is known."""
    light, own = base.found.get(LIGHT), searched(base)
    return by_use(combined(scenario, own), light, dict(uses.found)) if own and light else {}


def ratios(found: Mapping[Use, Capacity]) -> dict[Use, float]:
    """How much more one replica sustains with each use than without, relative."""
    without = found.get(Use.NONE)
    return {} if without is None else {use: gpu_ratio(without, found[use]) for use in USES if use in found}


def money(base: Job[int | str, Searched], uses: Job[Use, Alternative], scenario: Scenario) -> None:
    """GPUs and money saved at equal limits, beside the capacity that the page Capacity finds."""
    with card("money", "In money, at the same limits"):
        load, own_gpus, retraining = st.columns(3, gap="small", vertical_alignment="bottom")
        needed_rps = rate_to_serve(load)
        prices = predictor_price(scenario, own_gpus, retraining)
        if base.problem:
            st.warning(base.problem)
            return
        found = capacities(base, uses, scenario)
        more = ratios(found)
        for use, ratio in more.items():
            saved = worth(found[Use.NONE], found[use], needed_rps, prices=prices)
            st.markdown(predictor.worth_sentence(use, saved, needed_rps, ratio))
        if more:
            st.caption(predictor.capacity_note(more))
        for use, each in dict(uses.found).items():
            if each.refusal:
                st.caption(f"{use.value.capitalize()}: {each.refusal}")
        watch(base, "searches", "stop_search")
        watch(uses, "capacity searches", "stop_capacities")


def lesson(published: Job[str, PublishedHere], trials: Job[Trial, Measured]) -> None:
    """Accuracy is not order."""
    found = dict(published.found)
    with card("lesson", "The right class is not the right order"):
        _problem(published)
        live_plot(
            predictor_figures.lesson(found, trials.found.get(NO_ORDER)),
            "plot_lesson",
            "Mean E2E per token against the order that published predictors keep.",
        )
        st.caption(predictor.lesson_sentence(found) or "Being computed.")
        watch(published, "published predictors", "stop_published")


def published_tables(
    published: Job[str, PublishedHere],
    trials: Job[Trial, Measured],
    errors: Job[ErrorCell, Measured],
    name: str,
    spread: float,
) -> None:
    """The lesson in numbers, and drift of both uses."""
    found = dict(published.found)
    with card("published", "Published predictors, and drift: ordering from a full queue"):
        _table(predictor.lesson_table(found), "lesson")
        _table(predictor.drift_table(found, trials.found.get(NO_ORDER)), "drift")
        st.caption(predictor.drift_sentence(dict(errors.found), name, OBJECTIVES[name], spread))


def _table(columns: dict[str, list[str]], key: str) -> None:
    """A table as high as its few rows, with figures at the right of their columns."""
    table = pd.DataFrame(columns)
    if table.empty:
        st.caption("Being computed.")
        return
    st.dataframe(
        table,
        hide_index=True,
        row_height=ROW_PX,
        height=ROW_PX * (len(table) + 1) + 12,
        key=f"table_{key}",
        column_config={
            name: st.column_config.Column(alignment="left" if i == 0 else "right") for i, name in enumerate(columns)
        },
    )


def _problem(job: Job[ErrorCell, Measured] | Job[Trial, Measured] | Job[str, PublishedHere]) -> None:
    if job.problem:
        st.error(job.problem)
