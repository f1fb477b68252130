"""What speed is asked of each scheduler, under which load, and what costs time where it falls short."""

from sim.systems import System

STATIC_ORDER, RE_RANKED = 1_000_000, 200_000  # requests a second
WAITING = 1_000  # requests that wait where iterations choose among all, or look each prompt up in a tree

# What a step or an admission of these choices does besides what every scheduler does.
COSTS = {
    "peak_history": "draws the lengths of all running requests several times for each candidate",
    "peak_predicted": "sorts all running requests by what is left for each candidate",
    "peak_upper": "sorts all running requests by what is left for each candidate",
    "peak_lower": "sorts all running requests by what is left for each candidate",
    "peak_aggressive": "sorts all running requests by what is left for each candidate",
    "peak_cap": "sorts all running requests by what is left for each candidate",
    "peak_truth": "sorts all running requests by what is left for each candidate",
    "conformal": "keeps past ratios sorted, and reads their quantile at each admission",
    "refined": "updates a belief over classes of lengths at every look",
    "levels": "looks at each running request's quantum at every step",
    "skip_levels": "looks at each running request's quantum at every step",
    "largest_need": "looks for the largest reservation that fits",
    "fair": "counts the tokens of every member at every step",
    "tail_averse": "weighs mean and tail of each request by the queue's length",
    "shortest_guarded": "looks for who has waited too long before each choice",
    "first": "takes an iteration of its own for prompts, so more iterations a request",
    "alternate": "takes an iteration of its own for prompts, so more iterations a request",
}
OTHERWISE = "takes more iterations a request, each with its accounts"


def is_re_ranked(system: System) -> bool:
    """Whether iterations choose among all live requests, or a prefix tree is kept."""
    return system.is_preemptive or system.engine == "sglang"


def floor_of(system: System) -> int:
    """Requests a second that the simulator should reach."""
    return RE_RANKED if is_re_ranked(system) else STATIC_ORDER


def cost_of(system: System) -> str:
    """What costs time, in a clause."""
    if system.engine == "sglang":
        return "looks each prompt up in a prefix tree and evicts from it"
    choices = system.choices
    named = [COSTS[value] for value in (choices.reserve, choices.order, choices.prefill) if value in COSTS]
    if not named and system.is_preemptive:
        return "chooses among all live requests whenever one comes or goes"
    return named[0] if named else OTHERWISE
