"""The rate that a whole service must serve: the same field on Capacity and on Predictor."""

from streamlit.delta_generator import DeltaGenerator
from ui import typed

DEFAULT_RPS = 50.0


def rate_to_serve(place: DeltaGenerator) -> float:
    """Draw the field and read it, in requests/s."""
    return float(
        typed.number(
            place,
            "Rate to serve (requests/s)",
            low=0.01,
            high=1e6,
            value=DEFAULT_RPS,
            step=5.0,
            key="need",
            help="Of the whole service. More of it needs more replicas; what one of them sustains does not change.",
        )
    )
