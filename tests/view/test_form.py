"""Knobs to scenario and back."""

from itertools import pairwise

import numpy as np
import pytest

from sim.errors import ScenarioError
from sim.keys import KEY_OF, KEYS, pack
from sim.presets import preset, preset_names
from sim.scheduler_spec import Scheduler
from sim.systems import SYSTEMS, system_names
from sim.systems.knobs_read import ALWAYS, CHOICES, NEEDS, RECOMBINED
from sim.view.form import base_scenario, default_text, is_shown, scenario_of
from sim.view.knobs import KNOBS, section_of
from sim.view.steps import even, powers_of_two, preferred, with_stop
from sim.workload.lengths import tokens_at


def texts_of(base, **turned: str) -> dict[str, str]:
    """Texts of all knobs shown, where somebody has turned some of them."""
    texts: dict[str, str] = {}
    for knob in KNOBS:
        if is_shown(knob, base, texts):
            key = KEY_OF[knob.path]
            texts[key] = turned.get(key, default_text(knob, base))
    return texts


@pytest.mark.parametrize("name", preset_names())
def test_knobs_that_nobody_turned_give_the_preset(name):
    base = base_scenario(name)
    assert base == preset(name)
    assert scenario_of(name, "", "", texts_of(base)) == base


@pytest.mark.parametrize("kind", ["poisson", "gamma", "deterministic", "diurnal", "all_at_once", "closed_loop"])
@pytest.mark.parametrize("name", ["chat", "closed-loop", "azure-chat"])
def test_every_kind_of_arrivals_can_be_chosen_from_every_other(name, kind):
    texts = texts_of(base_scenario(name), arr=kind)
    assert scenario_of(name, "", "", texts).workload.arrivals.kind == kind


@pytest.mark.parametrize(
    "kind", ["constant", "uniform", "lognormal", "lognormal_p90", "gamma", "geometric", "pareto_tail", "empirical"]
)
@pytest.mark.parametrize("name", ["chat", "closed-loop", "azure-chat", "heavy-tail"])
def test_every_kind_of_lengths_can_be_chosen_from_every_other(name, kind):
    texts = texts_of(base_scenario(name), output=kind, prompt=kind)
    task = scenario_of(name, "", "", texts).workload.types[0]
    assert (task.output.kind, task.prompt.kind) == (kind, kind)


def test_another_kind_of_lengths_starts_near_the_old_mean():
    u = (np.arange(10_000) + 0.5) / 10_000
    old = tokens_at(preset("azure-chat").workload.types[0].output, "output", u).mean()
    texts = texts_of(base_scenario("azure-chat"), output="gamma")
    new = tokens_at(scenario_of("azure-chat", "", "", texts).workload.types[0].output, "output", u).mean()
    assert new == pytest.approx(old, rel=0.02)


def test_a_mix_hides_the_knobs_of_a_single_type():
    shown = texts_of(base_scenario("textbook-straggler"))
    assert "output" not in shown
    assert "seqs" in shown


def test_knobs_that_the_scheduler_does_not_read_are_hidden():
    assert "cache" in texts_of(base_scenario("chat"))
    static = texts_of(base_scenario("chat"), sched="static")
    assert "cache" not in static
    assert "hold" in static


def test_knobs_that_a_pipeline_takes_away_are_hidden_as_soon_as_it_is_chosen():
    staged = texts_of(base_scenario("chat"), pp="2")
    assert "cache" not in staged  # its loop has no prefix cache
    assert "seqs" in staged


def test_packed_edits_move_the_base():
    base = base_scenario("chat", edits=pack({"scheduler.max_num_seqs": 77}))
    assert texts_of(base)["seqs"] == "77"


def test_an_unknown_version_of_a_link_is_refused():
    with pytest.raises(ScenarioError, match="v is '9'"):
        base_scenario("chat", version="9")


def test_stops_are_round_numbers_a_tenth_of_a_decade_apart():
    stops = [float(stop) for stop in preferred(1, 100)]
    assert (stops[0], stops[-1], len(stops)) == (1, 100, 21)
    assert all(b / a < 1.4 for a, b in pairwise(stops))


def test_whole_stops_are_whole():
    assert preferred(1, 3, whole=True) == ("1", "2", "3")


def test_powers_of_two_come_with_half_way_stops():
    assert powers_of_two(4, 24) == ("4", "6", "8", "12", "16", "24")


def test_even_stops_have_no_rounding_dust():
    assert even(0.1, 0.4, 0.1) == ("0.1", "0.2", "0.3", "0.4")


def test_a_value_between_stops_becomes_one():
    assert with_stop(("none", "1", "2", "10"), "3.37", None, "none", "") == ["none", "1", "2", "3.37", "10"]


def test_a_word_in_an_address_becomes_a_stop_that_the_scenario_refuses() -> None:
    assert with_stop(("none", "1"), "1", "word") == ["none", "word", "1"]


def test_a_stop_spelled_otherwise_is_not_doubled():
    assert with_stop(("1", "2"), "1", "2.0") == ["1", "2.0"]  # as the address has it
    assert with_stop(("1", "2"), "2", "2.0") == ["1", "2"]  # the knob stands there anyhow


def predictor_keys(base, **turned: str) -> set[str]:
    """Keys of the predictor's knobs that are shown."""
    return {key for key in texts_of(base, **turned) if KEYS[key].startswith("predictor.")}


def test_the_predictor_has_knobs_only_where_the_system_reads_it():
    chat = base_scenario("chat")
    assert predictor_keys(chat, pred="point") == set()
    always = {"predset", "pred", "delay", "blocking"}
    assert predictor_keys(chat, sched="ssjf", pred="point") == always | {"bias", "spread"}
    assert predictor_keys(chat, sched="ssjf", pred="rank") == always | {"tau"}
    assert predictor_keys(chat, sched="quantile", pred="distribution") == always | {"bias", "spread", "quantile"}
    assert predictor_keys(chat, sched="static", pred="point") == set()


def test_a_choice_that_reads_the_predictor_brings_its_knobs():
    chat = base_scenario("chat")
    assert {"pred", "bias", "spread"} <= predictor_keys(chat, order="predicted")
    assert "quantile" in predictor_keys(chat, reserve="quantile")
    assert predictor_keys(chat, sched="ssjf", order="arrival") == set()


def test_a_system_that_names_its_own_predictor_shows_what_that_reads():
    chat = base_scenario("chat")
    assert {"bias", "spread"} <= predictor_keys(chat, sched="quantile")  # a distribution
    assert not {"spread", "tau"} & predictor_keys(chat, sched="ssjf")  # a published classifier
    assert "tau" not in predictor_keys(chat, sched="rank")


def rules_of(**turned: str) -> set[str]:
    """Fields of the scheduler that are shown, besides those of every system."""
    shown = {KEYS[key].removeprefix("scheduler.") for key in texts_of(base_scenario("chat"), **turned)}
    return (shown & set(Scheduler.model_fields)) - {*ALWAYS, *RECOMBINED}


@pytest.mark.parametrize("name", [name for name in system_names() if SYSTEMS[name].engine == "general"])
def test_a_system_shows_the_knobs_it_declares_while_their_choice_is_in_force(name):
    choices = SYSTEMS[name].choices
    in_force = {*vars(choices).values()}
    declared = set(SYSTEMS[name].knobs) - set(CHOICES)
    assert rules_of(sched=name) == {knob for knob in declared if in_force & set(NEEDS.get(knob, in_force))}


def test_another_choice_brings_its_knobs_and_takes_those_of_the_former():
    assert rules_of(sched="vllm_v0") == {"watermark"}
    assert rules_of(sched="vllm_v0", evict="swap") == {"watermark", "swap_space_gib", "swap_gb_s"}
    assert rules_of(sched="rank", evict="recompute", order="levels") == {"quantum_ms", "quantum_growth"}
    assert {"starvation_threshold", "starvation_quantum"} <= rules_of(order="rank")


def test_what_only_vllms_own_loop_knows_is_hidden_where_another_runs():
    own = {"enable_prefix_caching", "scheduling_policy", "async_scheduling", "vllm_release", "enable_chunked_prefill"}
    assert own <= rules_of()
    assert not own & rules_of(order="rank")
    assert not own & rules_of(giveup="30")
    assert not own & rules_of(every="16")
    assert {"scheduler_reserve_full_isl", "long_prefill_token_threshold", "watermark"} <= rules_of(order="rank")
    assert {"hold", "delivery", "batch_wait_s"} <= rules_of(sched="static", giveup="30")
    assert not {"hold", "delivery", "batch_wait_s"} & rules_of(sched="static", join="iteration")


@pytest.mark.parametrize(
    ("refusal", "section"),
    [
        ("scheduler.reserve is peak_cap; with order rank", "Recombine"),
        ("deployment.model is 'x'", "Server"),
        ("mix names 'poem'", ""),
    ],
)
def test_a_refusal_belongs_to_the_section_of_its_field(refusal, section):
    assert section_of(refusal) == section


def test_a_published_predictor_hides_what_it_replaces():
    shown = predictor_keys(base_scenario("chat"), sched="quantile", predset="finetuned_alpaca")
    assert {"predset", "bias", "delay"} <= shown
    assert not shown & {"pred", "spread", "tau"}
