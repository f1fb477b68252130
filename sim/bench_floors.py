"""What speed is asked of each scheduler, under which load, and what costs time where it falls short."""

from sim.systems import System

STATIC_ORDER, RE_RANKED = 1_000_000, 200_000  # requests a second
OFTEN_PREEMPTED = 0.1  # share of requests from which on preemption is named as a cost
WAITING = 1_000  # requests that wait where iterations choose among all, or look each prompt up in a tree

# What an iteration or an admission of these choices does besides what every scheduler does.
ADDS_UP_PEAK = "adds up the future peak of all running requests for each candidate"
COSTS = {
    "peak_history": "draws the lengths of all running requests and sorts by them for each candidate",
    "peak_aggressive": "sorts all running requests by what is left for each candidate",
    "peak_predicted": ADDS_UP_PEAK,
    "peak_upper": ADDS_UP_PEAK,
    "peak_lower": ADDS_UP_PEAK,
    "peak_cap": ADDS_UP_PEAK,
    "peak_truth": ADDS_UP_PEAK,
    "conformal": "keeps past ratios sorted and reads their quantile for each candidate",
    "refined": "updates a belief over classes of lengths at every look",
    "levels": "looks at each running request's quantum and goes through those that were displaced",
    "skip_levels": "looks at each running request's quantum and goes through those that were displaced",
    "declared": "chooses anew and goes through those that were displaced",
    "largest_need": "looks for the largest reservation that fits",
    "fair": "counts the tokens of every member",
    "tail_averse": "weighs mean and tail of each arrival by the queue's length",
    "shortest_guarded": "looks for who has waited too long before each choice",
}
OTHERWISE = "keeps all accounts"


def is_re_ranked(system: System) -> bool:
    """Whether iterations choose among all live requests, or a prefix tree is kept."""
    return system.is_preemptive or system.engine == "sglang"


def floor_of(system: System) -> int:
    """Requests a second that the simulator should reach."""
    return RE_RANKED if is_re_ranked(system) else STATIC_ORDER


def cost_of(system: System) -> str:
    """What costs time in an iteration, in a clause."""
    if system.engine == "sglang":
        return "looks prompts up in a prefix tree and evicts from it"
    choices = system.choices
    named = [COSTS[value] for value in (choices.reserve, choices.order) if value in COSTS]
    if not named and system.is_preemptive:
        return "chooses among all live requests when one comes or goes"
    return named[0] if named else OTHERWISE


def why_below(system: System, steps: int, requests: int, engine_s: float, preempted_share: float) -> str:
    """Why a run fell short of the floor, in a clause of what was measured in it and of what the scheduler does."""
    clause = f"takes {steps / requests:.2f} iterations a request, {engine_s / steps * 1e6:.2f} us each, in which it "
    if preempted_share >= OFTEN_PREEMPTED:
        clause += f"preempts ({preempted_share:.0%} of the requests) and "
    return clause + cost_of(system)
