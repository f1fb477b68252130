"""The predictor that a length-aware scheduler has where the scenario names none: the one it was published with."""

from typing import TYPE_CHECKING, Any

from sim.predictor_spec import Predictor

if TYPE_CHECKING:
    from sim.scenario import Scenario

OWN: dict[str, dict[str, Any]] = {
    "seq_sched": {"preset": "finetuned_alpaca"},
    "s3": {"kind": "bucket", "num_classes": 10, "accuracy": 0.986},
    "s3_three": {"kind": "bucket", "num_classes": 3, "accuracy": 0.986},
    "quantile": {"kind": "distribution"},
    "conformal": {"kind": "point"},
    "rank": {"preset": "ranker_lmsys"},
    "self_declared": {"preset": "self_declared_lmsys"},
    "class10": {"preset": "class10_lmsys"},
    "trail": {"kind": "refined"},
    "elis": {"kind": "refined"},
    "ssjf": {"preset": "bert_5_class"},
    "tie": {"kind": "distribution"},
    "mc_sf": {"kind": "oracle"},
    "a_max": {"kind": "interval", "coverage": 0.999},
    "a_min": {"kind": "interval", "coverage": 0.999},
}
ANY = {"kind": "point"}  # of a choice put in place of a system's own


def own_predictor(system: str) -> dict[str, Any]:
    """Fields of the predictor that a system has where the scenario names none."""
    return OWN.get(system, ANY)


def predictor_in_force(scenario: "Scenario") -> Predictor:
    """The scenario's predictor, or the system's own where it names none.

    A kind of `none` with other fields changed keeps them: only what tells lengths is filled in.
    """
    from sim.systems import reads_predictor

    predictor = scenario.predictor
    if predictor.in_use.kind != "none" or not reads_predictor(scenario.scheduler.choices):
        return predictor
    return predictor.model_copy(update=own_predictor(scenario.scheduler.system))
