"""How each row of the time ledger looks: solid where tokens are made that somebody wants, hatched where not."""

from sim.view import theme
from sim.view.memory import RowStyle

TIME_STYLE = {  # drawn from the bottom up
    "decode": RowStyle("decode", theme.BLUE, "", True, "output tokens"),
    "prefill": RowStyle("prefill", theme.GREEN, "", True, "prompt tokens"),
    "fixed": RowStyle("fixed part", theme.GREY, "", False, "what every iteration takes: weights read, host, launches"),
    "recompute": RowStyle("recompute", theme.VERMILION, "\\", False, "tokens computed again after a preemption"),
    "swap": RowStyle("swap", theme.SKY, "\\", False, "KV moved to host memory and back"),
    "predictor": RowStyle("predictor", theme.YELLOW, ".", False, "predictions that the scheduler waits for"),
    "padding": RowStyle("padding", theme.PURPLE, "/", False, "finished members of a held batch, still computed"),
    "bubble": RowStyle("bubble", theme.YELLOW, "-", False, "a pipeline stage is empty while another works"),
    "stalled": RowStyle("stalled", theme.ORANGE, "x", False, "nothing runs although somebody waits"),
    "idle": RowStyle("idle", "rgba(140,140,140,0.14)", "", False, "nothing runs, nobody waits"),
}
