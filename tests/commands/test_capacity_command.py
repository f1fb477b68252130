"""`longtail capacity`: figures, files, refusals."""

import json

import pytest

from sim.cli import main
from sim.presets import preset
from sim.scenario import with_values
from sim.studies.bill import bill
from sim.studies.capacity import capacity

FAST = ["--set", "workload.num_requests=2000", "--set", "replications=2", "--gpus", "H200"]


def test_the_command_writes_what_the_search_finds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capacity", "chat", "--rate", "50", "--json", "-", *FAST]) == 0
    found = json.loads(capsys.readouterr().out)
    scenario = with_values(preset("chat"), {"workload.num_requests": 2000, "replications": 2})
    base = capacity(scenario)
    own = found["capacity"]
    assert own["rate_rps"] == base.sustained.rate_rps
    assert {key: own[key] for key in ("replicas", "gpus", "usd_per_hour")} == {
        key: value for key, value in bill(base, 50.0)._asdict().items() if key in ("replicas", "gpus", "usd_per_hour")
    }
    assert len(own["replications"]) == 2
    assert [row["name"] for row in found["what_if"]][:2] == ["cap of 512 tokens", "tail 2 x longer"]
    assert {row["name"] for row in found["deployments"]} >= {"2 x H100-SXM", "1 x H200", "8 x H200"}


def test_users_of_a_closed_loop_are_asked_about_as_requests_at_random(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capacity", "closed-loop", "--rate", "50", "--json", "-", *FAST]) == 0
    told = capsys.readouterr()
    assert "Users of a closed loop have no rate: here the same requests come at random" in told.err
    found, arrivals = json.loads(told.out), {"kind": "poisson", "rate_rps": 3.0}
    values = {"workload.num_requests": 2000, "replications": 2, "workload.arrivals": arrivals}
    assert found["capacity"]["rate_rps"] == capacity(with_values(preset("closed-loop"), values)).sustained.rate_rps
    assert found["scenario"]["workload"]["arrivals"]["kind"] == "closed_loop"


def test_the_answer_comes_first_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    out = tmp_path / "found.json"
    options = ["--rate", "50", "--cap", "256", "--tail", "3", "--headroom", "0", "--json", str(out), *FAST]
    assert main(["capacity", "chat", *options]) == 0
    printed = capsys.readouterr().out
    own = json.loads(out.read_text())["capacity"]
    assert printed.startswith(f"50 requests/s need {own['replicas']} replicas = {own['gpus']} H100-SXM, ")
    assert "cap of 256 tokens" in printed
    assert "tail 3 x longer" in printed


def test_a_predictor_is_billed_as_on_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    predictor = ["--set", "predictor.own_gpus=1.5", "--retraining", "365"]
    assert main(["capacity", "chat", "--rate", "50", "--json", "-", *FAST, *predictor]) == 0
    found = json.loads(capsys.readouterr().out)
    own, price = found["capacity"], found["asked"]["price_per_gpu_hour"]
    assert (own["predictor_gpus"], own["usd_per_hour"]) == (0, own["gpus"] * price)
    told = [row for row in found["what_if"] if row["name"].startswith("predictor")]
    assert len(told) == 2
    for row in told:
        assert row["predictor_gpus"] == 1.5
        assert row["usd_per_hour"] == pytest.approx((row["gpus"] + 1.5) * price + 0.5)  # 365 $ of 730 hours


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["closed-loop"], "workload.arrivals.kind is 'closed_loop', which has no rate; --rate is needed"),
        (["chat", "--headroom", "1"], "the share is 1; at least 0 and less than 1 is needed"),
        (["chat", "--retraining", "-1"], "the cost is -1; at least 0 is needed"),
        (["chat", "--rate", "0"], "the amount is 0; more than 0 is needed"),
        (["chat", "--gpus", "H1000"], "gpu is 'H1000'"),
        (["chat", "--set", "slo.tpot_ms=1"], "slo is out of reach (ttft_ms 1000, tpot_ms 1)"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_line(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["capacity", *options, "--set", "workload.num_requests=1000"]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.strip().count("\n") == 0
