"""Length tail in words, tables and figures: from numbers written down here."""

import math

import pytest

from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS
from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from sim.studies.counterfactuals import Cell, Impossible, Measured, Point, World, gain_of
from sim.studies.length_profile import Profile, outputs
from sim.studies.length_spread import SpreadPoint
from sim.view import gain_figure, ledger_figures, length_figures
from sim.view.curves import over_time
from sim.view.length_tail import (
    change,
    gain_rows,
    gain_table,
    how_compared,
    impossible,
    likeness,
    straggler_sentence,
    verdict,
)
from sim.view.memory import MEMORY_STYLE
from sim.view.paths import memory_steps, time_steps
from sim.view.quantity import TPOT
from sim.view.time_use import TIME_STYLE

MEMORY = {row.name.lower(): 0.0 for row in MEMORY_ROWS}
TIME = {row.name.lower(): 0.0 for row in TIME_ROWS}


def summary(**memory):
    return {
        "scenario": {"tail_quantile": 0.95},
        "metrics": {"tpot_label": "TPOT"},
        "memory_ledger": {"rows": MEMORY | memory, "blocks_x_duration": 1000.0},
        "time_ledger": {"rows": TIME | {"decode": 6.0, "fixed": 3.0, "recompute": 1.0}, "stages_x_duration": 10.0},
    }


OWN = [Profile("this scenario", {}, 100.0, 1.0, 6.0)]


def study(rate, tpot):
    """Two replications: as it is at 100 tokens/s and 50 ms, and without variance as given."""
    found = {}
    for i in range(2):
        for point in Point:
            found[Cell(World.AS_IS, point, i)] = Measured(100.0, 0.05, 1.0, 4.0)
            found[Cell(World.NO_VARIANCE, point, i)] = Measured(rate[i], tpot[i], 1.0, 4.0)
    return found


def test_the_longest_answers_share_of_all_memory_and_of_what_is_held():
    text = straggler_sentence(summary(held_straggler=200.0, held_typical=300.0, free_no_demand=500.0))
    assert text == "The longest 5 % of answers hold 20 % of KV block-time, 40 % of what all answers hold."
    assert straggler_sentence(summary()) == "No answer holds KV memory."
    alike = straggler_sentence(summary(held_typical=300.0))
    assert alike == "No answer longer than 95 % of all holds KV memory."


def test_a_change_that_shows_as_none_is_called_none():
    told = verdict(summary(held_typical=1.0), study(rate=(100.1, 100.2), tpot=(0.05, 0.05)), OWN, is_known=True)
    assert told.startswith("Without length variance: saturated throughput about the same, p99 TPOT as asked about the")


def test_verdict_names_the_whole_price_once_it_is_known():
    run = summary(held_straggler=200.0, held_typical=300.0)
    found = study(rate=(139.9, 140.1), tpot=(0.0299, 0.0301))
    told = verdict(run, found, OWN, is_known=True)
    assert told.startswith(
        "Without length variance: saturated throughput 40 % (39 to 41) higher, p99 TPOT as asked 40 %"
    )
    assert "shorter (p99/mean 6, CV 1); the longest 5 % of answers hold 20 %" in told
    assert "is being computed" in verdict(run, {}, OWN, is_known=False)
    assert "Too few requests" in verdict(run, {}, OWN, is_known=True)


def test_of_a_mix_only_the_variance_inside_its_types_is_gone():
    """31 answers of 100 tokens and one of 2,000 vary a lot; each type by itself does not."""
    mix = [*OWN, *(Profile(name, {}, 100.0, 0.0, 1.0) for name in ("short", "long"))]
    told = verdict(summary(held_typical=1.0), study(rate=(100.1, 100.2), tpot=(0.05, 0.05)), mix, is_known=True)
    assert told.startswith("Without length variance inside each task type: saturated throughput about the same")


def test_verdict_claims_nothing_where_the_interval_holds_zero():
    run = summary(held_typical=300.0)
    assert "saturated throughput about the same" in verdict(run, study((90.0, 111.0), (0.05, 0.05)), OWN, is_known=True)


def test_table_holds_mean_and_interval_and_a_dash_where_nothing_can_be_said():
    table = gain_table(preset("chat"), study((110.0, 110.0), (0.05, 0.05)), "TPOT")
    assert table["Counterfactual"] == [
        "No variance",
        "Backlog never empties",
        "Tail cut",
        "Exact margin",
        "All together",
    ]
    assert table["tokens/s, saturated"] == ["+10.0 (+10.0 to +10.0)", "-", "-", "-", "-"]
    assert table["p99 TPOT, as asked"][0] == "0.0 (0.0 to 0.0)"


def test_a_tail_that_cannot_be_cut_is_said():
    assert impossible({Cell(World.TAIL_CUT, Point.AS_ASKED, 0): Impossible("no room")}) == [
        "Tail cut is not possible here: no room."
    ]
    assert impossible(study((1.0, 1.0), (1.0, 1.0))) == []


def test_a_backlog_far_off_stands_at_the_end_of_the_axis_with_its_own_number():
    found = study((110.0, 112.0), (0.05, 0.05))
    found |= {Cell(World.BACKLOG, Point.AS_ASKED, i): Measured(400.0, 0.5, math.nan, math.nan) for i in range(2)}
    figure = gain_figure.counterfactuals(gain_rows(preset("chat"), found), TPOT, is_complete=True)
    rates = figure.data[0]
    assert list(rates.text) == ["+11.0", "+300"]
    assert rates.x[1] == figure.layout.xaxis.range[1] < 30
    assert list(rates.marker.symbol) == ["circle", "triangle-right"]
    assert figure.layout.annotations == ()


def test_waterfall_goes_from_everything_to_what_was_of_use():
    run = summary(held_straggler=200.0, held_typical=300.0, free_no_demand=400.0, fragmentation=100.0)
    memory, time = memory_steps(run), time_steps(run)
    assert [round(step.share, 9) for step in memory] == [0.4, 0.2, 0.0, 0.1, 0.3]
    assert [round(step.share, 9) for step in time] == [0.0, 0.1, 0.3, 0.6]
    bars = ledger_figures.waterfall(memory, time).data[0]
    assert list(bars.base) == pytest.approx([0, 60, 40, 40, 30, 0])
    assert list(bars.y) == pytest.approx([100, 40, 20, 0, 10, 30])


def test_every_ledger_row_has_a_look():
    assert set(MEMORY_STYLE) == set(MEMORY)
    assert set(TIME_STYLE) == set(TIME)


def test_ledgers_over_time_add_up_to_everything():
    drawn = over_time(simulate(with_values(preset("memory-pressure"), {"workload.num_requests": 300})))
    for rows in (drawn.memory, drawn.time):
        assert sum(rows.values()) == pytest.approx(1.0)
    names = [trace.name for trace in ledger_figures.time_use(drawn).data]
    assert names[:3] == ["decode", "prefill", "fixed part"]


def test_likeness_names_the_nearest_tail():
    def profile(name, ratio):
        return Profile(name, {"p99": ratio * 100}, 100.0, 1.016, ratio)

    told = likeness(profile("mine", 5.0), [profile("a", 11.0), profile("b", 6.0), profile("c", 2.0)])
    assert "nearest to b (6); 2 of 3 real data sets have a heavier tail" in told
    assert told.endswith("mean 100 tokens, CV 1.02.")  # as the table beside it


def test_lengths_of_a_mix_show_each_type_and_a_chosen_data_set_in_front():
    figure = length_figures.lengths(outputs(preset("textbook-straggler")), "tail", "azure_2023_code")
    names = [trace.name for trace in figure.data]
    assert names[-1] == "this scenario"
    assert {task.name for task in preset("textbook-straggler").workload.types} < set(names)
    assert names.count("azure_2023_code") == 1
    assert names.count("real data sets") > 10


def test_spread_in_order_of_cv_with_the_scenarios_own_point():
    points = [SpreadPoint(cv, 5.0, cv / 10, 100.0, cv / 5, 200.0 - cv) for cv in (2.0, 0.5)]
    figure = length_figures.spread(points, points[0], TPOT, is_complete=False)
    assert list(figure.data[0].x) == [0.5, 2.0]
    assert list(figure.data[0].y) == pytest.approx([50, 200])
    assert figure.layout.annotations[0].text.startswith("incomplete")


def test_an_interval_that_tells_nothing_is_not_printed() -> None:
    """Goodput of an overloaded server: a thousandth in four replications, and half as much more in one."""
    assert change(gain_of([1e-3, 1e-3, 1e-3, 1e-3, 1.5])).endswith("(unsettled)")
    # logarithms 0.0953 twice and 0.1823: mean 0.1243, and Student's 4.303 x 0.0502 / sqrt(3) = 0.1248 to each side
    assert change(gain_of([1.1, 1.1, 1.2])) == "+13.2 (0.0 to +28.3)"


def test_what_saturated_rates_are_of_is_told_where_some_go_first():
    by_rank = with_values(preset("chat"), {"scheduler.system": "rank"})
    assert how_compared(by_rank).endswith("saturated rates are of the whole run.")
    assert "whole run" not in how_compared(preset("chat"))
