"""The same customers with other answers: caps, longer tails, assumed lengths, no variance."""

import numpy as np
import pytest

from sim import ScenarioError, simulate, with_values
from sim.presets import preset
from sim.studies.alternatives import PREDICTED, what_ifs, with_mean_lengths, with_predictor
from sim.studies.assumed_lengths import assumed_lengths, mean_of
from sim.studies.capacity_search import Server, search
from sim.studies.load_curve import at_load
from sim.studies.output_lengths import capped, with_longer_tail, with_outputs
from sim.system_spec import AssumedLengths
from sim.systems import system
from sim.workload.lengths import quantile
from tests.cases import BASE
from tests.cases import trace as trace_of

ONE = {"kind": "constant", "tokens": 1}
CHAT = with_values(preset("chat"), {"workload.num_requests": 4000})
SHORT_AND_LONG = with_values(
    BASE,
    {
        "workload.types": [
            {"name": name, "share": share, "prompt": ONE, "output": {"kind": "constant", "tokens": tokens}}
            for name, share, tokens in (("short", 0.9, 10), ("long", 0.1, 100))
        ],
        "workload.arrivals": {"kind": "poisson", "rate_rps": 1.0},
        "workload.num_requests": 20_000,
        "scheduler.max_num_seqs": 4,
        "cost.step_ms": 100.0,
        "slo.ttft_ms": 2000.0,
        "predictor.kind": "oracle",
    },
)
UNCAPPED = with_values(CHAT, {"workload.types.0.cap": None})


def outputs(scenario, trace=None):
    return simulate(scenario, trace).inputs.output_len


def test_a_cap_cuts_what_is_longer_and_nothing_else() -> None:
    before, after = outputs(CHAT), outputs(capped(CHAT, 512))
    assert np.array_equal(after, np.minimum(before, 512))
    assert np.array_equal(outputs(capped(CHAT, 8192)), before)  # the own cap of 4,096 is lower


def test_a_longer_tail_moves_the_longest_tenth_alone() -> None:
    before, after = outputs(UNCAPPED), outputs(with_longer_tail(UNCAPPED, None, 2.0)[0])
    start = 256 / np.sqrt(2) * np.exp(np.sqrt(np.log(2)) * 1.2815516)  # p90 of a log-normal of CV 1
    body = before < 0.95 * start
    assert np.abs(after[body] - before[body]).max() <= 1  # straight lines between quantiles
    tail = before > 1.1 * start
    assert after[tail] - start == pytest.approx(2 * (before[tail] - start), rel=0.03, abs=3)
    assert (np.diff(after[np.lexsort((after, before))]) >= 0).all()  # everybody keeps their rank


def test_a_tail_of_factor_one_is_the_scenario_itself() -> None:
    assert with_longer_tail(CHAT, None, 1.0) == (CHAT, None)


def test_the_tail_of_a_trace_is_stretched_row_by_row() -> None:
    rows = trace_of(list(range(1, 101)))
    _, longer = with_longer_tail(CHAT, rows, 3.0)
    assert longer is not None
    # The 90th percentile of 1 to 100 lies at 90.1: 100 becomes 90.1 + 3 * 9.9 = 119.8.
    assert longer.output_len[-1] == 120
    assert longer.output_len[:90].tolist() == list(range(1, 91))


def test_assumed_lengths_meet_their_figures() -> None:
    for assumed in (
        AssumedLengths(mean=211, p50=129, p99=601),
        AssumedLengths(mean=256, p99=1220),
        AssumedLengths(mean=1527, p50=792, p99=12607),
        AssumedLengths(mean=150, p50=100, p95=400, p99=900),
        AssumedLengths(p50=100, p95=300, p99=500),
        AssumedLengths(mean=300, p50=100),
        AssumedLengths(mean=300),
    ):
        lengths = assumed_lengths(assumed)
        if assumed.mean is not None:
            assert mean_of(lengths) == pytest.approx(assumed.mean, rel=0.01)
        for q, value in ((0.5, assumed.p50), (0.95, assumed.p95), (0.99, assumed.p99)):
            if value is not None:
                assert quantile(lengths, "output", np.array([q])) == pytest.approx(value, rel=0.01)
    # a mean and a p99 alone are a log-normal: ln(1220 / 256) = 2.3263 s - s^2 / 2 gives s = 0.8095 and this median
    lognormal = assumed_lengths(AssumedLengths(mean=256, p99=1220))
    assert quantile(lognormal, "output", np.array([0.5])) == pytest.approx(184.5, abs=1)


@pytest.mark.parametrize(
    ("assumed", "sentence"),
    [
        (AssumedLengths(p99=500), "slo.assumed.mean is none; a mean or a median"),
        (AssumedLengths(p50=100, p95=90), "ascending ones are needed"),
        (AssumedLengths(mean=100, p99=5000), "slo.assumed.p99 is 5000; at most 1497 is possible"),
        (AssumedLengths(mean=100, p50=200), "slo.assumed.p50 is 200; at most the mean"),
        (AssumedLengths(mean=900, p50=100, p99=500), "slo.assumed.mean is 900; with these quantiles"),
    ],
)
def test_assumptions_that_contradict_themselves_are_refused(assumed: AssumedLengths, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        assumed_lengths(assumed)


def test_every_answer_from_the_assumed_distribution_keeps_its_rank() -> None:
    lengths = assumed_lengths(AssumedLengths(mean=100, p99=600))
    other, none = with_outputs(UNCAPPED, None, lengths, None)
    assert none is None
    before, after = outputs(UNCAPPED), outputs(other)
    assert after.mean() == pytest.approx(100, rel=0.1)
    assert (np.diff(after[np.lexsort((after, before))]) >= 0).all()  # equal ones may differ in the fraction
    rows = trace_of([5, 1000, 20, 7])
    _, replayed = with_outputs(CHAT, rows, lengths, None)
    assert replayed is not None
    assert np.argsort(replayed.output_len).tolist() == np.argsort(rows.output_len).tolist()


def test_without_variance_the_mean_stays() -> None:
    still, _ = with_mean_lengths(CHAT, None)
    lengths = outputs(still)
    assert len(set(lengths.tolist())) == 1
    assert lengths[0] == pytest.approx(256, abs=2)


@pytest.mark.parametrize("retry", ["never", "rest", "again"])
def test_the_mean_is_that_of_what_clients_get(retry: str) -> None:
    """Of 100, 100 and 1,000 tokens under a cap of 300 they get 500 in all, or 1,200 where they ask for the rest."""
    rows = trace_of([100, 100, 1000])
    asked = with_values(CHAT, {"workload.types.0.cap": 300, "workload.client_retry": retry})
    _, still = with_mean_lengths(asked, rows)
    assert still is not None
    assert still.output_len.tolist() == [167 if retry == "never" else 400] * 3
    drawn, _ = with_mean_lengths(asked, None)
    whole = simulate(with_values(asked, {"workload.client_retry": "never"})).info.true_len
    got = whole if retry != "never" else np.minimum(whole, 300)
    assert drawn.workload.types[0].output.tokens == pytest.approx(got.mean(), rel=0.05)


def test_what_ifs_change_answers_and_nothing_else() -> None:
    for each in what_ifs(CHAT, None, cap=512, factor=2.0):
        assert simulate(each.scenario).inputs.prompt_len.tolist() == simulate(CHAT).inputs.prompt_len.tolist()
        assert each.scenario.deployment == CHAT.deployment


def test_a_predictor_is_told_to_schedulers_that_can_use_one() -> None:
    told = with_predictor(CHAT)
    assert list(told) == list(PREDICTED)
    assert all(system(each.scheduler.system).name == "vllm_v1" for each in told.values())
    assert {each.predictor.kind for each in told.values()} == {"distribution"}
    own = with_values(CHAT, {"predictor.kind": "oracle"})
    assert {each.predictor.kind for each in with_predictor(own).values()} == {"oracle"}
    assert with_predictor(with_values(CHAT, {"scheduler.system": "ssjf"})) == {}
    assert with_predictor(with_values(CHAT, {"scheduler.system": "sglang"})) == {}


def test_shortest_first_helps_where_short_and_long_answers_share_a_queue() -> None:
    """Four slots, 0.1 s a token, 19 tokens an answer: 2.1 a second. Short of that, fewer wait where short ones pass."""
    told = with_predictor(SHORT_AND_LONG)["predictor: shortest first"]
    own, better = (search(Server(each)).search.rate_rps for each in (SHORT_AND_LONG, told))
    assert 1.05 * own < better < 4 / 1.9
    assert (
        simulate(at_load(told, better)).attainment.share
        >= 0.9
        > simulate(at_load(SHORT_AND_LONG, better)).attainment.share
    )


def test_shortest_first_sustains_no_more_than_the_slots_do() -> None:
    """With ten minutes to wait in, only the queue's growth tells: long answers alone are left in it."""
    patient = with_values(SHORT_AND_LONG, {"slo.ttft_ms": 600_000.0})
    for each in (patient, with_predictor(patient)["predictor: shortest first"]):
        assert 0.9 * 4 / 1.9 < search(Server(each)).search.rate_rps < 1.02 * 4 / 1.9
