"""What a predictor costs besides the time it takes of the servers: the same two fields on Capacity and on Predictor."""

from streamlit.delta_generator import DeltaGenerator
from ui import typed

from sim.scenario import Scenario
from sim.studies.bill import Prices


def predictor_price(scenario: Scenario, gpus: DeltaGenerator, retraining: DeltaGenerator) -> Prices:
    """Draw the fields, each in its place, and read them."""
    own_gpus = typed.number(
        gpus,
        "Predictor's own GPUs",
        low=0.0,
        high=10_000.0,
        value=float(scenario.predictor.own_gpus),
        step=0.5,
        key="predgpus",
        help="Kept for the predictor alone, of the servers' kind and as many at every load. Billed wherever the "
        "scheduler reads a predictor, at the price of a server's GPU; time it takes of the servers is in their rate.",
    )
    usd_per_month = typed.number(
        retraining,
        "Retraining ($/month)",
        low=0.0,
        high=1e7,
        value=0.0,
        step=100.0,
        key="retraining",
        help="What keeping the predictor up to date costs; billed wherever the scheduler reads a predictor.",
    )
    return Prices(predictor_gpus=float(own_gpus), retraining_usd_per_month=float(usd_per_month))
