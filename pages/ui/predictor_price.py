"""What a predictor costs besides the time it takes of the servers: the same two fields on Capacity and on Predictor."""

from streamlit.delta_generator import DeltaGenerator

from sim.scenario import Scenario
from sim.studies.bill import Prices


def predictor_price(scenario: Scenario, gpus: DeltaGenerator, retraining: DeltaGenerator) -> Prices:
    """Draw the fields, each in its place, and read them."""
    own_gpus = gpus.number_input(
        "Predictor's own GPUs",
        min_value=0.0,
        max_value=10_000.0,
        value=float(scenario.predictor.own_gpus),
        step=0.5,
        key="predgpus",
        bind="query-params",
        help="Kept for the predictor alone, of the servers' kind and as many at every load. Billed wherever the "
        "scheduler reads a predictor, at the price of a server's GPU; time it takes of the servers is in their rate.",
    )
    usd_per_month = retraining.number_input(
        "Retraining ($/month)",
        min_value=0.0,
        max_value=1e7,
        value=0.0,
        step=100.0,
        key="retraining",
        bind="query-params",
        help="What keeping the predictor up to date costs; billed wherever the scheduler reads a predictor.",
    )
    return Prices(predictor_gpus=float(own_gpus), retraining_usd_per_month=float(usd_per_month))
