"""The words of a predictor's limits: up to which error and which delay a use of it is worth it."""

import math
from collections.abc import Mapping

from sim.studies.predictor.break_even import (
    DELAYS_MS,
    E2E_PER_TOKEN,
    WORTH,
    Gains,
    Limits,
    Trial,
    break_even,
    limits_of,
    within_factor_of_two,
)
from sim.studies.predictor.error_map import OBJECTIVES, Found, Objective
from sim.studies.predictor.uses import Measured, Use
from sim.studies.rate_search import WIDTH
from sim.view.number_words import short_percent, short_time


def limit_clause(
    tried: Mapping[Trial, Measured], found: Found, name: str, spread: float, gained: float = math.nan
) -> str:
    """Up to where a reservation is worth it, as the end of the verdict; empty until all of it is known.

    The delay is that of a scheduler that waits for predictions; the card of the limits tells the other one too.
    `gained` is how much more a replica sustains with a reservation, relative; told where it says the contrary.
    """
    now = limits_of(tried, found, Use.RESERVE, spread, OBJECTIVES[name])
    if not now.by_spread[0] or not _is_known(now.waits, True) or not _is_known(now.meanwhile, False):
        return ""
    limit = break_even(*now.by_spread)
    if math.isnan(limit):
        return (
            f"; even without error a reservation is no better than no predictor{money_clause(gained, is_worth=False)}"
        )
    error = "at every spread tried" if math.isinf(limit) else f"below a spread of {limit:.2g}"
    waits = break_even(*now.waits)
    late = "" if math.isnan(waits) else f" and {delay_limit(waits)}{'' if math.isinf(waits) else ' of waiting for it'}"
    is_worth = not math.isnan(waits)
    if not is_worth:
        late = ", but not with this predictor's own bias"
    return f"; a reservation is worth it {error}{late}{money_clause(gained, is_worth=is_worth)}"


def money_clause(gained: float, *, is_worth: bool) -> str:
    """What a reservation gives within the limits, where that is not what a sentence before it leads one to expect.

    Parameters
    ----------
    gained : float
        How much more one replica sustains within the limits than without a predictor, relative; NaN: not known.
    is_worth : bool
        What was said before: that a reservation is worth it; else that it is not, or that its error does not matter.
    """
    if math.isnan(gained) or (gained > WIDTH if is_worth else abs(gained) <= WIDTH):
        return ""
    more = "no more" if abs(gained) <= WIDTH else f"{short_percent(abs(gained))} {'more' if gained > 0 else 'less'}"
    if not is_worth and gained < 0:
        return f", and within the limits one replica sustains {more} with it"
    return f", yet within the limits one replica sustains {more} with it"


def limits_of_use(use: Use, name: str, now: Limits) -> str:
    """Break-even error and delay of a use, and what it is judged by."""
    what = name if use is Use.RESERVE else "mean E2E per token, full queue"
    spread = break_even(*now.by_spread)
    if math.isnan(spread):
        return f"**{use.value.capitalize()}** (judged by {what}): no better than no predictor, even without error."
    late = delay_limits(now)
    if math.isnan(break_even(*now.waits)):
        late = "; with this predictor's own error not even without delay"
    return f"**{use.value.capitalize()}** (judged by {what}): worth it {spread_limit(spread)}{late}."


def delay_limits(now: Limits) -> str:
    """Break-even delay where the scheduler waits for a prediction, and, once known, where it goes on meanwhile."""
    waits = break_even(*now.waits)
    text = f" and {delay_limit(waits)} if the scheduler waits for it"
    if not _is_known(now.meanwhile, False):
        return text
    meanwhile, gains = break_even(*now.meanwhile), now.meanwhile[1]
    if math.isinf(waits) and math.isinf(meanwhile):
        return f" and {delay_limit(waits)}"
    if max(gains) - min(gains) <= WORTH:
        return f"{text}; if it goes on meanwhile, the delay does not matter here"
    return f"{text}, {delay_limit(meanwhile)} if it goes on meanwhile"


def _is_known(gains: Gains, is_synchronous: bool) -> bool:
    return len(gains[0]) == len(DELAYS_MS[is_synchronous])


def objective_of_use(use: Use, name: str) -> Objective:
    """What a use is judged by: an order leaves throughput as it is, and shortens the wait of short answers."""
    return E2E_PER_TOKEN if use is Use.ORDER else OBJECTIVES[name]


def spread_limit(limit: float) -> str:
    """A break-even spread in words; there is one."""
    if math.isinf(limit):
        return "at every spread tried"
    return f"below a spread of {limit:.2g} (within a factor of 2: {short_percent(within_factor_of_two(limit))})"


def delay_limit(limit_ms: float) -> str:
    """A break-even delay in words."""
    if math.isnan(limit_ms):
        return "at no delay"
    if math.isinf(limit_ms):
        return "at every delay tried"
    return f"below {short_time(limit_ms / 1000)}"
