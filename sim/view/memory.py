"""How each row of the memory ledger looks: solid where used, hatched where free yet kept from those who wait."""

from typing import NamedTuple

from sim.view import theme


class RowStyle(NamedTuple):
    """Name, colour and hatching of a ledger row."""

    label: str
    color: str
    hatch: str  # Plotly fill pattern; "" is solid
    is_used: bool  # tokens that somebody needs lie there
    definition: str


MEMORY_STYLE = {  # drawn from the bottom up
    "held_typical": RowStyle("typical answers", theme.BLUE, "", True, "KV of requests that are no stragglers"),
    "held_straggler": RowStyle("stragglers", theme.VERMILION, "", True, "KV of the longest answers (top 5 %)"),
    "fragmentation": RowStyle("fragmentation", theme.GREY, "", False, "the unfilled end of last blocks"),
    "finished_held": RowStyle(
        "finished, held", theme.PURPLE, "", False, "answers that are ready in a batch that is not"
    ),
    "reserved_unused": RowStyle(
        "reserved, unused", theme.ORANGE, "", False, "set aside for tokens that may never come"
    ),
    "cached_prefix": RowStyle("idle cache", theme.SKY, "", False, "prefixes nobody uses now"),
    "withheld_wait": RowStyle(
        "not yet eligible", theme.PURPLE, "/", False, "free while the next request may not start"
    ),
    "withheld_batch": RowStyle("batch closed", theme.ORANGE, "/", False, "free while the batch takes no newcomers"),
    "withheld_memory_straggler": RowStyle(
        "short by stragglers",
        theme.VERMILION,
        "\\",
        False,
        "free, too little for the next request; stragglers hold the rest",
    ),
    "withheld_memory_other": RowStyle(
        "short of memory", theme.BLUE, "\\", False, "free, but too little for the next request"
    ),
    "withheld_margin": RowStyle(
        "kept as margin", theme.YELLOW, "x", False, "free, kept back by watermark or prompt check"
    ),
    "withheld_cap": RowStyle(
        "kept by limits", theme.GREEN, "x", False, "free, kept back by max_num_seqs or token budget"
    ),
    "free_no_demand": RowStyle("free, nobody waits", "rgba(140,140,140,0.14)", "", False, "free and not asked for"),
}
