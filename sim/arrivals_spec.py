"""When requests arrive, as a scenario names it."""

from typing import Annotated, Literal

from pydantic import Field

from sim.part import Number, Part, Whole

MAX_RATE_RPS = 100_000.0


class Poisson(Part):
    """Independent users: exponential gaps."""

    kind: Literal["poisson"] = "poisson"
    rate_rps: Number = Field(gt=0, le=MAX_RATE_RPS, description="Requests a second.")


class GammaGaps(Part):
    """Gamma gaps as in the vLLM benchmark: shape `burstiness`, so their CV is 1 / sqrt(burstiness)."""

    kind: Literal["gamma"] = "gamma"
    rate_rps: Number = Field(gt=0, le=MAX_RATE_RPS, description="Requests a second.")
    burstiness: Number = Field(
        ge=0.01, le=1000, description="1 is Poisson; smaller comes in bursts, larger is regular."
    )


class Deterministic(Part):
    """One request every 1 / rate seconds."""

    kind: Literal["deterministic"] = "deterministic"
    rate_rps: Number = Field(gt=0, le=MAX_RATE_RPS, description="Requests a second.")


class Diurnal(Part):
    """Independent users, more of them by day than by night: the rate swings like a sine, lowest at the start."""

    kind: Literal["diurnal"] = "diurnal"
    rate_rps: Number = Field(gt=0, le=MAX_RATE_RPS, description="Requests a second, on average over a period.")
    swing: Number = Field(
        ge=0, le=1, description="How far the rate swings: from rate x (1 - swing) to rate x (1 + swing)."
    )
    period_s: Number = Field(gt=0, le=1e7, description="From one trough to the next; a day has 86,400 s.")


class AllAtOnce(Part):
    """Every request is there at the start: the server is saturated."""

    kind: Literal["all_at_once"] = "all_at_once"


class TraceArrivals(Part):
    """Arrivals and lengths of a trace file, given next to the scenario."""

    kind: Literal["trace"] = "trace"
    speed: Number = Field(default=1.0, ge=0.001, le=1000, description="2 replays the trace twice as fast.")


class ClosedLoop(Part):
    """So many users; each waits for the answer, thinks, and asks again."""

    kind: Literal["closed_loop"] = "closed_loop"
    concurrency: Whole = Field(ge=1, le=100_000, description="Users, hence the most requests in flight.")
    think_time_s: Number = Field(
        default=0.0, ge=0, le=86_400, description="Mean time between an answer and the next request."
    )
    think_time: Literal["constant", "exponential"] = Field(default="constant", description="How think times spread.")


Arrivals = Annotated[
    Poisson | GammaGaps | Deterministic | Diurnal | AllAtOnce | TraceArrivals | ClosedLoop,
    Field(discriminator="kind"),
]
ARRIVAL_KINDS: dict[str, type[Part]] = {
    part.model_fields["kind"].default: part
    for part in (Poisson, GammaGaps, Deterministic, Diurnal, AllAtOnce, TraceArrivals, ClosedLoop)
}
