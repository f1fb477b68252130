"""Stops of the sliders: round numbers a constant factor apart, as texts that a link can hold."""

from math import isclose

ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # about ten a decade


def preferred(low: float, high: float, *, whole: bool = False) -> tuple[str, ...]:
    """Round numbers from `low` to `high`, about ten to a factor of ten.

    Parameters
    ----------
    low, high : float
        Above 0; both ends are included when they are round.
    whole : bool
        Only whole numbers.
    """
    values = [step * 10.0**decade for decade in range(-4, 9) for step in ROUND]
    kept = [value for value in values if low * 0.999 <= value <= high * 1.001]
    return tuple(text(value) for value in kept if not whole or isclose(value, round(value)))


def powers_of_two(low: int, high: int) -> tuple[str, ...]:
    """Powers of two and the numbers half-way between them: 1, 2, 3, 4, 6, 8, 12, 16."""
    values = {base << shift for shift in range(24) for base in (1, 2, 3)}
    return tuple(str(value) for value in sorted(values) if low <= value <= high)


def even(low: float, high: float, step: float) -> tuple[str, ...]:
    """From `low` to `high` in even steps, both included."""
    return tuple(text(low + i * step) for i in range(round((high - low) / step) + 1))


def text(value: float) -> str:
    """Shortest text of a number in a link: no exponent, no needless zeros."""
    rounded = round(float(value), 6)
    return str(int(rounded)) if rounded.is_integer() else f"{rounded:f}".rstrip("0")


def with_stop(stops: tuple[str, ...], own: str, *extra: str | None) -> list[str]:
    """The stops and some more in numerical order, so that a preset's own value and a link's are among them.

    Texts that are no numbers stand at the front; one that no field takes is refused like any other value. Of two ways
    to write a number the own one stays, then the link's.
    """
    words = list(dict.fromkeys(stop for stop in (*stops, own, *extra) if stop and not is_number(stop)))
    numbers = {float(stop): stop for stop in (*stops, *filter(None, extra), own) if is_number(stop)}
    return words + [numbers[value] for value in sorted(numbers)]


def is_number(stop: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return float("-inf") < float(stop) < float("inf")
    except ValueError:
        return False
