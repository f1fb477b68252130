"""Tiles, verdict and banners: the right words for the right numbers."""

import pytest

from sim.cost import Band
from sim.presets import preset, preset_names
from sim.scenario import with_values
from sim.view.banners import all_clear, banners
from sim.view.run_view import run_view
from sim.view.tiles import tiles
from sim.view.verdict import verdict

CALIBRATED = Band(10.0, "measured", True)


def view(name: str, *, is_saturated: bool = False, **edits):
    paths = {"rate": "workload.arrivals.rate_rps", "n": "workload.num_requests", "seqs": "scheduler.max_num_seqs",
             "system": "scheduler.system", "mode": "scheduler.preemption_mode", "timeout": "workload.client_timeout_s",
             "guard": "scheduler.starvation_threshold"}  # fmt: skip
    return run_view(
        with_values(preset(name), {paths[key]: value for key, value in edits.items()}), is_saturated=is_saturated
    )


def said(run, pinned=None) -> str:
    return verdict(run.scenario, run.summary, pinned and pinned.summary)


@pytest.mark.parametrize("name", preset_names("explore"))
def test_every_verdict_is_one_sentence(name):
    sentence = said(run_view(preset(name)))
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "nan" not in sentence
    assert "None" not in sentence


def test_a_run_without_one_answer_says_why():
    short = with_values(preset("chat"), {"workload.num_requests": 50, "max_sim_time_s": 0.001})
    assert said(run_view(short)) == "Stopped before the first answer was complete."
    tiny = with_values(preset("chat"), {"workload.num_requests": 50, "deployment.num_gpu_blocks_override": 2})
    assert said(run_view(tiny)) == "Serves nobody: no request fits into the KV memory."


def test_a_single_request_saturates_nothing():
    alone = view("chat", n=1)
    assert said(alone).startswith("A single request: ")
    assert all_clear(alone.summary, CALIBRATED).startswith("1 request.")


def test_the_textbook_straggler_is_told_in_steps():
    sentence = said(view("textbook-straggler"))
    assert "E2E per token (what the article calls TPOT) is 20 T" in sentence
    assert "19.4 T on average" in sentence


def test_an_overload_is_called_one():
    assert said(view("chat", rate=200.0)).startswith("Overloaded")


def test_a_saturated_run_is_not_blamed_for_its_queue():
    assert said(view("chat", is_saturated=True)).startswith("Saturated")


def test_a_batch_limit_that_leaves_memory_empty_is_named():
    assert "batch limits keep" in said(view("chat", rate=8.0, seqs=8))


def test_preemptions_are_named_with_their_price():
    sentence = said(view("memory-pressure", rate=6.0))
    assert "of requests are preempted" in sentence
    assert "computing tokens again" in sentence


def test_swapping_is_named_with_its_own_price():
    run = view("memory-pressure", rate=6.0, n=1000, system="vllm_v0", mode="swap")
    assert run.summary["counters"]["swaps"] > 0
    assert "moving KV to host memory and back" in said(run)
    found = {tile.key: tile for tile in tiles(run.summary)}
    assert found["preemptions"].note.endswith(" swapped")


def test_a_batch_that_dies_is_called_out_of_memory():
    run = view("memory-pressure", rate=6.0, n=400, system="vllm_v0", mode="fail")
    failures = run.summary["counters"]["oom_count"]
    assert failures > 0
    assert f"the server runs out of memory {failures:,} times, the whole batch starting again" in said(run)
    (text,) = [banner.text for banner in banners(run.summary, CALIBRATED) if banner.kind == "out_of_memory"]
    assert f"{failures:,} times the whole batch died" in text


def test_clients_that_give_up_are_named():
    run = view("memory-pressure", rate=12.0, n=1000, timeout=20.0)
    share = run.summary["requests"]["aborted"] / 1000
    assert share > 0.05
    assert f"{share:.0%} of clients give up".replace("%", " %") in said(run)
    assert any("clients gave up after 20 s" in banner.text for banner in banners(run.summary, CALIBRATED))


def test_promotions_of_those_who_starve_are_counted():
    run = view("memory-pressure", rate=6.0, n=1000, system="rank", guard=50)
    assert run.summary["counters"]["promotions"] > 0
    assert "promotions of requests that starved" in all_clear(run.summary, CALIBRATED)


def test_a_run_says_how_many_requests_were_sent_after_a_cut_answer():
    values = {"workload.num_requests": 300, "workload.types.0.cap": 64, "workload.client_retry": "again"}
    run = run_view(with_values(preset("chat"), values))
    requests = run.summary["requests"]
    assert requests["total"] == 300 + requests["retries"] > 500
    sentence = f"{requests['total']:,} requests, {requests['retries']:,} of them sent after a cut answer"
    assert all_clear(run.summary, CALIBRATED).startswith(sentence)


def test_the_pinned_run_is_compared_in_numbers():
    pinned, run = view("chat", rate=4.0), view("chat", rate=8.0)
    assert "against the pinned run, output +" in said(run, pinned)
    assert "output unchanged, p99 TPOT unchanged" in said(run, run)


def test_changes_are_judged_in_the_metrics_good_direction():
    before, after = (view("chat", rate=rate, n=2000).summary for rate in (4.0, 16.0))
    found = {tile.key: tile for tile in tiles(after, before)}
    assert (found["output"].verdict, found["output"].note[0]) == ("better", "x")
    assert (found["tpot_p99"].verdict, found["tpot_p99"].note[0]) == ("worse", "+")
    back = {tile.key: tile for tile in tiles(before, after)}
    assert (back["tpot_p99"].verdict, back["tpot_p99"].note[0]) == ("better", "-")
    assert found["kv_use"].verdict == "note"  # neither more nor less is better


def test_a_run_against_itself_is_the_same():
    summary = view("chat", n=2000).summary
    assert {tile.verdict for tile in tiles(summary, summary)} == {"same"}


def test_p99_is_undefined_below_a_hundred_requests():
    found = {tile.key: tile for tile in tiles(view("chat", n=60).summary)}
    assert (found["ttft_p99"].value, found["ttft_p99"].note) == ("-", "n < 100")
    assert found["ttft_p50"].value != "-"


def test_every_tile_has_a_definition():
    assert all(len(tile.help) > 30 for tile in tiles(view("chat", n=200).summary))


def kinds(run, band: Band = CALIBRATED) -> list[str]:
    return [banner.kind for banner in banners(run.summary, band)]


def test_a_good_run_has_no_banner():
    assert kinds(view("chat")) == []


def test_an_unstable_run_has_one():
    assert "unstable" in kinds(view("chat", rate=200.0))


def test_a_short_run_has_one():
    assert "too_short" in kinds(view("chat", n=30))


def test_an_uncalibrated_cost_has_one():
    assert kinds(view("chat"), Band(None, "datasheet estimate", False)) == ["uncalibrated"]


def test_a_run_that_misses_its_limits_is_not_said_to_take_more() -> None:
    sentence = said(view("diurnal-peak"))  # idle at night, far beyond its capacity by day
    assert sentence.startswith("Misses its limits")
    assert "it could take more" not in sentence
    assert "of KV memory is in use" in sentence


def test_a_run_at_its_limit_is_not_said_to_take_more() -> None:
    run = view("chat", system="sglang", rate=20.0)
    assert 0.95 < run.summary["slo"]["attainment"] < 0.99
    assert "it could take more" not in said(run)
    assert "it could take more" in said(view("chat", rate=8.0))
