"""A run as a picture the size of a stamp: how long its answers are, and what its KV memory was used for over time."""

from typing import NamedTuple

import numpy as np

from sim.result import Result
from sim.view import theme
from sim.view.curves import over_time
from sim.view.memory import MEMORY_STYLE

BINS_A_FACTOR_OF_TWO, LONGEST_LOG2 = 2, 16  # answers of 1 to 65,536 tokens; longer ones in the last bin
STRETCHES = 48
WIDTH_PX, HEIGHT_PX = 320, 72
LENGTHS_PX, GAP_PX = 104, 16  # the rest is memory
FRAME = "#8C8C8C"

LAYERS = {  # drawn from the bottom up: ledger rows and colour
    "typical answers": (("held_typical",), theme.BLUE),
    "stragglers": (("held_straggler",), theme.VERMILION),
    "idle cache": (("cached_prefix",), theme.SKY),
    "set aside or kept back": (
        tuple(
            row
            for row, style in MEMORY_STYLE.items()
            if not style.is_used and row not in ("cached_prefix", "free_no_demand")
        ),
        theme.ORANGE,
    ),
}


class Picture(NamedTuple):
    """The numbers of a picture, small enough to ship."""

    lengths: list[int]  # requests by output length, in thousandths; two bins to a factor of two
    memory: dict[str, list[int]]  # percent of the KV blocks by layer, one number a stretch of the run


def picture(result: Result) -> Picture:
    """The numbers of a run's picture."""
    factor = np.floor(np.log2(np.maximum(result.answer_len, 1)) * BINS_A_FACTOR_OF_TWO)
    last = BINS_A_FACTOR_OF_TWO * LONGEST_LOG2 - 1
    counts = np.bincount(np.minimum(factor, last).astype(np.int64), minlength=last + 1)
    run = over_time(result)
    place = (np.arange(STRETCHES) + 0.5) / STRETCHES * run.time_s[-1]
    share = {
        layer: np.interp(place, run.time_s, np.sum([run.memory[row] for row in rows], axis=0))
        for layer, (rows, _) in LAYERS.items()
    }
    return Picture(
        [round(1000 * float(count) / counts.sum()) for count in counts],
        {layer: [round(100 * float(each)) for each in shares] for layer, shares in share.items()},
    )


def svg(drawn: Picture) -> str:
    """The picture as an SVG document: bars of answer lengths on a log scale, stacked KV memory beside them.

    Its colours stand on light and on dark.
    """
    left = LENGTHS_PX + GAP_PX
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX}" height="{HEIGHT_PX}" '
            f'viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}">',
            *_bars(drawn.lengths),
            *_areas(drawn.memory, left),
            _base_line(0, LENGTHS_PX),
            _base_line(left, WIDTH_PX),
            f'<rect x="{left}.5" y=".5" width="{WIDTH_PX - left - 1}" height="{HEIGHT_PX - 1}" fill="none" '
            f'stroke="{FRAME}" stroke-opacity=".35"/>',
            "</svg>",
        ]
    )


def words(drawn: Picture) -> str:
    """What the picture shows, for people who do not see it."""
    shares = {layer: sum(shares) / len(shares) for layer, shares in drawn.memory.items()}
    used = ", ".join(f"{share:.0f} % {layer}" for layer, share in shares.items() if share >= 1) or "hardly used"
    most = 2 ** (drawn.lengths.index(max(drawn.lengths)) / BINS_A_FACTOR_OF_TWO)
    return f"Most answers have about {most:,.0f} tokens. KV memory on average: {used}."


def _bars(lengths: list[int]) -> list[str]:
    width, highest = LENGTHS_PX / len(lengths), max(lengths)
    heights = [(HEIGHT_PX - 4) * count / highest for count in lengths]
    return [
        f'<rect x="{i * width:.1f}" y="{HEIGHT_PX - height:.1f}" width="{width - 0.8:.1f}" height="{height:.1f}" '
        f'fill="{theme.GREY}"/>'
        for i, height in enumerate(heights)
        if height > 0
    ]


def _areas(memory: dict[str, list[int]], left: float) -> list[str]:
    below = np.zeros(STRETCHES)
    x = left + (WIDTH_PX - left) * np.arange(STRETCHES) / (STRETCHES - 1)
    areas = []
    for layer, (_, color) in LAYERS.items():
        above = np.minimum(below + memory[layer], 100)
        outline = [*zip(x, below, strict=True), *zip(x[::-1], above[::-1], strict=True)]
        points = " ".join(f"{px:.1f},{HEIGHT_PX * (1 - py / 100):.1f}" for px, py in outline)
        if (above > below).any():
            areas.append(f'<polygon points="{points}" fill="{color}"/>')
        below = above
    return areas


def _base_line(start: float, end: float) -> str:
    y = HEIGHT_PX - 0.5
    return f'<line x1="{start}" y1="{y}" x2="{end}" y2="{y}" stroke="{FRAME}"/>'
