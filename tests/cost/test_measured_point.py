import numpy as np
import pytest

from sim.benchmarks import Benchmark, MeasuredRequests, Point, Stats
from sim.cost.measured_point import points_of, scenario_at, simulated
from sim.errors import ScenarioError
from sim.scenario import Scenario, with_values
from tests.cost.points import point


def benchmark(*points: Point) -> Benchmark:
    return Benchmark("runs.csv", "0" * 64, "CSV", None, points, "")


def run(**fields: object) -> Point:
    values = {"concurrency": 4, "request_rate_rps": None, "num_prompts": 40, "prompt_tokens": 100.0,
              "output_tokens": 50.0, "tpot_ms": Stats(mean=9.0, p50=8.0)} | fields  # fmt: skip
    return Point(**values)  # type: ignore[arg-type]


def test_a_run_at_a_concurrency_becomes_a_closed_loop() -> None:
    [found], left_out = points_of(benchmark(run(ttft_ms=Stats(mean=70.0))))
    assert (found.arrivals.kind, found.arrivals.concurrency) == ("closed_loop", 4)
    assert (found.prompt.tokens, found.output.tokens, found.num_requests) == (100, 50, 40)
    assert (found.tpot_ms, found.ttft_ms, found.statistic) == (9.0, 70.0, "mean")
    assert left_out == []


def test_medians_are_compared_with_medians_where_there_is_no_mean() -> None:
    [found], _ = points_of(benchmark(run(tpot_ms=Stats(p50=8.0), ttft_ms=Stats(mean=70.0, p50=60.0))))
    assert (found.tpot_ms, found.ttft_ms, found.statistic) == (8.0, 60.0, "p50")


def test_a_finite_rate_becomes_arrivals_of_its_burstiness() -> None:
    rate, bursty = points_of(benchmark(run(request_rate_rps=3.0), run(request_rate_rps=3.0, burstiness=0.5)))[0]
    assert (rate.arrivals.kind, bursty.arrivals.kind) == ("poisson", "gamma")
    assert bursty.arrivals.burstiness == 0.5
    assert rate.load == "3 requests/s"


def test_requests_in_flight_follow_from_rate_and_latency() -> None:
    """Little: 2 requests/s that take 0.1 + 49 * 0.02 s."""
    [found], _ = points_of(benchmark(run(request_rate_rps=2.0, tpot_ms=Stats(mean=20.0), ttft_ms=Stats(mean=100.0))))
    assert found.in_flight == pytest.approx(2 * (0.1 + 49 * 0.02))
    assert point(7, 10, 10).in_flight == 7


def test_lengths_measured_one_by_one_are_drawn_from_their_quantiles() -> None:
    lengths = np.arange(1, 201)
    nan = np.full(200, np.nan)
    requests = MeasuredRequests(lengths, lengths, nan, nan, nan, nan, nan)
    [found], _ = points_of(benchmark(run(requests=requests)))
    assert found.prompt.points[0] == (0.0, 1.0)
    assert found.prompt.points[50] == (0.5, 100.5)
    assert found.prompt.points[-1] == (1.0, 200.0)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tpot_ms": Stats()}, "has no TPOT"),
        ({"output_tokens": 1.0}, "has answers of one token, which have no TPOT"),
        ({"concurrency": None}, "says neither concurrency nor a request rate"),
        ({"concurrency": None, "request_rate_rps": np.inf}, "says neither concurrency nor a request rate"),
    ],
)
def test_runs_that_a_fit_cannot_use_are_left_out_with_their_reason(fields: dict[str, object], reason: str) -> None:
    found, left_out = points_of(benchmark(run(), run(**fields)))
    assert len(found) == 1
    assert left_out == [f"runs.csv: run 2 {reason}; it is left out"]


def test_users_get_ten_waves_where_the_run_does_not_say() -> None:
    [found], _ = points_of(benchmark(run(concurrency=30, num_prompts=None)))
    assert scenario_at(Scenario(), found).workload.num_requests == 300


def test_a_load_that_no_request_survives_is_refused() -> None:
    """A prompt of a thousand tokens and five blocks of memory."""
    tiny = with_values(Scenario(), {"deployment.num_gpu_blocks_override": 70})
    with pytest.raises(ScenarioError):
        simulated(tiny, point(1, 5000, 10))
