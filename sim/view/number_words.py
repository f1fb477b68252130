"""Numbers, shares, times and counts as a reader meets them: one rule each, for pages, reports and terminal alike."""

import math
from collections.abc import Sequence

UNDEFINED = "-"  # a number that is not there
MOST_DECIMALS = 3  # of a percentage


def short_percent(share: float) -> str:
    """A share in percent, two digits or three near the whole: nothing is rounded up to 99 %, nor to 100 %."""
    if math.isnan(share):
        return UNDEFINED
    digits = 0 if 0.1 <= share < 0.985 or share in (0, 1) else 1
    return f"{share if share == 1 else min(share, 0.999):.{digits}%}".replace("%", " %")


def percent_beside(share: float, limit: float) -> str:
    """`short_percent`, with the decimals it takes to see on which side of a limit the share lies."""
    text, decimals = short_percent(share), 1
    if text == UNDEFINED:
        return text
    while share < limit <= float(text.removesuffix(" %")) / 100 and decimals < MOST_DECIMALS:
        text, decimals = f"{100 * share:.{decimals}f} %", decimals + 1
    return text


def counted(number: int, noun: str) -> str:
    """A number of things: `1 request`, `1,200 requests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def short_number(value: float) -> str:
    """Three significant digits without an exponent; from 10,000 on in thousands, as k."""
    if math.isnan(value):
        return UNDEFINED
    if value < 0:
        return f"-{short_number(-value)}"
    if value >= 9_999.5:
        return f"{value / 1000:,.0f}k" if value >= 999_500 else f"{short_number(value / 1000)}k"
    if value >= 999.5:
        return f"{value:,.0f}"
    if 0 < value < 1e-4:
        return f"{value:.{2 - math.floor(math.log10(value))}f}".rstrip("0")
    return f"{value:.3g}"


def time_parts(seconds: float) -> tuple[str, str]:
    """A time as number and unit, by the one rule of the house: below a second in ms, from there on in s; no k s."""
    if float(f"{seconds:.3g}") < 1:
        return short_number(seconds * 1e3), "ms"
    return (f"{seconds:,.0f}" if seconds >= 9_999.5 else short_number(seconds)), "s"


def short_time(seconds: float) -> str:
    """A time with its unit: `36.8 ms`, `1.25 s`."""
    return UNDEFINED if math.isnan(seconds) else " ".join(time_parts(seconds))
