"""What each number means, by formula, and how others use the same word.

One request arrives at a, is first scheduled at s, has its n tokens at t[1] to t[n], and ends at c = t[n]. Source:
metrics.md, sections 1 to 5.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.view import quantity
from sim.view.number_words import short_number, short_time

Summary = Mapping[str, Any]


class Term(NamedTuple):
    """One word of the field."""

    name: str
    formula: str
    meaning: str
    figure: str = ""  # of the summary's metrics, as an example; "" where there is no single number
    of: str = ""  # what the example is: median, p99, mean
    unit: str = ""
    scale: float = 1.0  # shown number = stored number x scale


class Group(NamedTuple):
    """Words that belong together."""

    title: str
    terms: tuple[Term, ...]


class Usage(NamedTuple):
    """How somebody else uses a word, and what that is here."""

    word: str
    who: str
    means: str
    here: str  # our word for it


REQUEST = Group(
    "One request",
    (
        Term("TTFT", "t[1] - a", quantity.TTFT.definition, "ttft_p50_s", "median", "s"),
        Term("Queue delay", "s - a", "Arrival to the first time it is scheduled; waits after a preemption do not "
             "count. Also called scheduling delay.", "queue_delay_p50_s", "median", "s"),
        Term("E2E", "c - a", "Arrival to the last token. Also called latency, response time, job completion time.",
             "e2e_p50_s", "median", "s"),
        Term("ITL", "t[i+1] - t[i]", quantity.ITL.definition, "itl_p99_s", "p99", "s"),
        Term("TPOT", "(c - t[1]) / (n - 1)", quantity.TPOT.definition, "tpot_p99_s", "p99", "s"),
        Term("E2E per token", "(c - a) / n", "Waiting and prefill spread over the tokens of the answer; papers call it "
             "normalised latency or per-token latency. The mean over requests, not all time over all tokens.",
             "norm_latency_mean_s", "mean", "s"),
        Term("Largest gap", "max(t[1] - a, largest ITL)", "The longest time a user looked at a screen where nothing "
             "moved. Also called max wait.", "max_gap_p99_s", "p99", "s"),
        Term("Interactivity", "1,000 / TPOT in ms", "Output tokens a second that one user sees come."),
    ),
)  # fmt: skip
SERVER = Group(
    "The server",
    (
        Term("Output tokens/s", "Σ n / (last finish - first arrival)", quantity.OUTPUT_RATE.definition,
             "output_tokens_per_s", "", "tokens/s"),
        Term("Total tokens/s", "Σ (prompt + n) / (last finish - first arrival)", "Prompt tokens count too: several "
             "times the output rate where prompts are long. Check which of the two a published throughput is.",
             "total_tokens_per_s", "", "tokens/s"),
        Term("SLO attainment", "requests within all limits / requests", "Unfinished requests count as misses once "
             "their limit has passed."),
        Term("Goodput", "requests within all limits / duration", quantity.GOODPUT.definition),
        Term("Capacity", "largest rate with p99 ITL ≤ limit and median queue delay ≤ 2 s", "What the server "
             "sustains, found by bisection with the same requests at every rate. Goodput in its capacity form: the "
             "largest rate with at least 90 % attainment, for each GPU."),
        Term("Unstable", "growth of the queue > √(m x (CV of gaps² + CV of n²))", "More requests come than are served: "
             "over the last m arrivals, half of all, more wait than chance explains, by number or by the tokens they "
             "want, as a few long answers may be all that is left behind. Latencies then depend on the run's length."),
        Term("Saturated", "all requests arrive at 0", "A server that never lacks work; its rates are those between "
             "10 % and 90 % of the output, without filling up and running empty; of the whole run where some kinds of "
             "answers go first."),
        Term("Effective batch", "∫ requests that get a token dt / duration", "How many share a step.",
             "effective_batch", "mean", "requests"),
        Term("MFU", "useful FLOPs / (time x peak FLOP/s)", "2 FLOPs for each parameter and token, and attention. "
             "Recomputed and padded work is not useful.", "mfu", "", "%", 100),
        Term("MBU", "bytes of weights and KV read / (time x peak bandwidth)", "How much of the memory's bandwidth "
             "reading takes.", "mbu", "", "%", 100),
    ),
)  # fmt: skip
WASTE = Group(
    "Length variance and what it costs",
    (
        Term("Tail ratio", "p99(n) / mean(n)", "From 10 on the longest answers decide what a limit means.",
             "tail_ratio", "", ""),
        Term("CV", "standard deviation / mean of n", "Spread of output lengths.", "output_len_cv", "", ""),
        Term("Straggler", "n above the 95 % quantile of the run", "Known to nobody before it ends; no scheduler reads "
             "it."),
        Term("Straggler share", "KV token-seconds of stragglers / all", "How much memory the longest 5 % hold.",
             "straggler_share", "", "%", 100),
        Term("KV use", "Σ computed tokens x time / (KV memory x duration)", quantity.KV_USE.definition,
             "kv_util", "", "%", 100),
        Term("Preemption", "a running request loses its blocks", quantity.PREEMPTIONS.definition, "preemptions", "",
             ""),
        Term("Recompute share", "tokens computed again / all processed", "What preemptions cost in work.",
             "recompute_share", "", "%", 100),
        Term("Slot use", "Σ tokens produced / (max_num_seqs x steps)", "Static batches lose it to members that have "
             "ended.", "slot_util", "", "%", 100),
    ),
)  # fmt: skip
GROUPS = (REQUEST, SERVER, WASTE)

USAGES = (
    Usage("TTFT", "vLLM's benchmark", "first chunk - send, at the client", "TTFT, with network and parsing"),
    Usage("TTFT", "AIPerf", "first chunk with text - send", "TTFT"),
    Usage("TTFT", "Sarathi-Serve", "end of prefill - arrival; the median is reported", "TTFT"),
    Usage("ITL", "vLLM's benchmark", "every gap, pooled over requests", "ITL"),
    Usage("ITL", "AIPerf", "(E2E - TTFT) / (n - 1), a mean for each request", "TPOT"),
    Usage("TBT", "Sarathi-Serve", "every gap, pooled; p99 is the limit", "ITL"),
    Usage("TPOT", "vLLM's benchmark", "(E2E - TTFT) / (n - 1); one-token answers left out of means, 0 in goodput",
          "TPOT"),
    Usage("latency per token", "vLLM and Orca papers", "E2E / n; mean (vLLM), median (Orca)", "E2E per token"),
    Usage("latency per token", "Learning to rank", "E2E / n; mean and p90", "E2E per token"),
    Usage("max wait", "Learning to rank", "max(TTFT, largest gap); mean over requests", "Largest gap"),
    Usage("goodput", "vLLM's benchmark, AIPerf", "good requests a second", "Goodput, rate form"),
    Usage("capacity", "Sarathi-Serve", "largest rate with p99 TBT in its limit and median delay ≤ 2 s", "Capacity"),
    Usage("throughput", "serving dashboards", "output or total tokens, often not said which",
          "Output or total tokens/s"),
)  # fmt: skip

TIMES_A_TOKEN = {  # what is called time per token: our word, and who means it
    "TPOT": ("tpot_mean_s", "vLLM's TPOT, AIPerf's ITL"),
    "ITL": ("itl_mean_s", "vLLM's ITL, Sarathi's TBT"),
    "E2E per token": ("norm_latency_mean_s", "the papers' latency per token"),
}


def example(term: Term, summary: Summary) -> str:
    """The term's number in a run, such as `p99 30.7 ms`; empty where it is undefined."""
    value = number_of(term.figure, summary) if term.figure else None
    if value is None:
        return ""
    told = short_time(value) if term.unit == "s" else f"{short_number(value * term.scale)} {term.unit}"
    return f"{term.of} {told}".strip()


def number_of(figure: str, summary: Summary) -> float | None:
    """A number of the run; under TPOT none that is not one, as where a batch is delivered whole."""
    if figure.startswith("tpot_") and summary["metrics"]["tpot_label"] != "TPOT":
        return None
    value: float | None = summary["metrics"][figure]
    return value


def glossary_verdict(summary: Summary) -> str:
    """One sentence: how far apart the numbers lie that people call time per token, in this run."""
    known = {name: value for name, (key, _) in TIMES_A_TOKEN.items() if (value := number_of(key, summary)) is not None}
    if len(known) < len(TIMES_A_TOKEN):
        return "Every token of an answer comes at once here, so only E2E per token says how long one takes."
    shown = ", ".join(f"{short_time(value)} as {name}" for name, value in known.items())
    least, most = min(known.values()), max(known.values())
    apart = f"a factor of {short_number(most / least)}" if most > 1.05 * least else "little"
    return f"“Time per token” in this run, on average: {shown}; the words differ by {apart}."
