"""Knobs of what comes to the server: arrivals, prompts, answers and what clients do with them."""

from typing import Literal

from sim.catalog import dataset_names
from sim.view.knob import NONE, Knob, allowed
from sim.view.steps import even, powers_of_two, preferred
from sim.workload_spec import Workload

LENGTHS = preferred(1, 131_072, whole=True)
SPREAD = even(0, 1, 0.1) + even(1.2, 2, 0.2) + even(2.5, 5, 0.5)
LENGTH_KINDS = ("constant", "uniform", "lognormal", "lognormal_p90", "gamma", "geometric", "pareto_tail", "empirical")
KIND_HELP = (
    " constant: all alike; uniform: between two lengths; lognormal: mean and spread; lognormal_p90: median and 90th "
    "percentile; gamma: a lighter tail; geometric: never knows how long it is; pareto_tail: a heavier tail above the "
    "90th percentile; empirical: a real data set."
)


def length_knobs(part: Literal["prompt", "output"], word: str, effect: str) -> tuple[Knob, ...]:
    """Knobs of one length distribution; which of them show depends on its kind."""
    path = f"workload.types.0.{part}"
    return (
        Knob(f"{path}.kind", f"{word} lengths",
             f"How {word.lower()} lengths spread.{KIND_HELP}", "choice", LENGTH_KINDS),
        Knob(f"{path}.dataset", f"{word} data set",
             f"Lengths measured in real traffic. {effect}", "choice", dataset_names(part)),
        Knob(f"{path}.tokens", f"{word} length (tokens)",
             effect, "steps", LENGTHS),
        Knob(f"{path}.low", f"Shortest {word.lower()} (tokens)",
             effect, "steps", LENGTHS),
        Knob(f"{path}.high", f"Longest {word.lower()} (tokens)",
             effect, "steps", LENGTHS),
        Knob(f"{path}.mean", f"Mean {word.lower()} (tokens)",
             effect, "steps", LENGTHS),
        Knob(f"{path}.cv", f"{word} spread (CV)",
             "Standard deviation / mean. More spread makes a few requests very long: their KV memory stays taken "
             "and the latency curves grow a tail to the right. Each request keeps its rank.", "steps", SPREAD),
        Knob(f"{path}.median", f"Median {word.lower()} (tokens)",
             effect, "steps", LENGTHS),
        Knob(f"{path}.p90", f"90th percentile {word.lower()} (tokens)",
             "Further from the median: heavier tail, longer right ends of the latency curves.", "steps", LENGTHS),
        Knob(f"{path}.alpha", f"{word} tail index",
             "Smaller is a heavier tail: the longest requests dominate the KV memory curve.",
             "steps", even(0.8, 4, 0.1)),
    )  # fmt: skip


TRAFFIC = (
    Knob("workload.arrivals.kind", "Arrivals",
         "When requests come. poisson: independent users; gamma: in bursts or regular; deterministic: like a clock; "
         "diurnal: more by day than by night; all_at_once: a full queue from the start, which shows the highest "
         "throughput; closed_loop: users who wait for their answer; trace: as in an uploaded file.",
         "choice", ("poisson", "gamma", "deterministic", "diurnal", "all_at_once", "closed_loop", "trace")),
    Knob("workload.arrivals.rate_rps", "Rate (requests/s)",
         "More load lifts throughput until the server is full; beyond that the queue grows and TTFT rises without "
         "end. Lengths stay as they are: only the gaps shrink.", "steps", preferred(0.05, 2000)),
    Knob("workload.arrivals.burstiness", "Burstiness (gamma shape)",
         "1 is Poisson. Smaller comes in bursts: queues and p99 TTFT grow at the same rate. Larger is regular.",
         "steps", preferred(0.05, 100)),
    Knob("workload.arrivals.swing", "Swing of the rate (share of the mean)",
         "0.8: the rate runs from a fifth of its mean to nine fifths. More: the same requests, but the queue of the "
         "peak decides p99 TTFT while half of the time the server has little to do.", "steps", even(0, 1, 0.1)),
    Knob("workload.arrivals.period_s", "Period of the rate (s)",
         "From trough to trough. Longer: the peak lasts longer, and a server that cannot keep up with it falls further "
         "behind.", "steps", preferred(10, 100_000)),
    Knob("workload.arrivals.concurrency", "Concurrency (users)",
         "Each user has one request in flight. More users: more throughput and longer TPOT, until memory or "
         "max_num_seqs is full and TTFT grows instead.", "steps", powers_of_two(1, 4096)),
    Knob("workload.arrivals.think_time_s", "Think time (s, mean)",
         "Pause between an answer and the next request. More lowers the load of the same number of users.",
         "steps", ("0", *preferred(0.1, 600))),
    Knob("workload.arrivals.think_time", "Think time spread",
         "constant or exponential: exponential evens out waves.", "choice", ("constant", "exponential")),
    Knob("workload.arrivals.speed", "Replay speed (x)",
         "2 replays the trace twice as fast: the same requests at twice the load.", "steps", preferred(0.05, 100)),
    Knob("workload.client_timeout_s", "Clients give up after (s)",
         "Answers not complete by then are aborted: their memory comes free, their tokens were for nothing, and they "
         "count against goodput. none: everybody waits.", "steps", (NONE, *preferred(1, 3600))),
    Knob("workload.num_requests", "Requests in the run",
         "More requests steady the tail percentiles and take longer. p99 needs at least 100.",
         "steps", preferred(30, 200_000, whole=True)),
)  # fmt: skip

ANSWERS = (
    *length_knobs("output", "Output", "Longer outputs hold KV memory longer: fewer requests fit at once, TPOT and TTFT "
                  "rise."),
    Knob("workload.types.0.cap", "Output cap (max_tokens)",
         "Cuts longer outputs. A lower cap removes stragglers from the memory curve, and answers are lost.",
         "steps", (NONE, *powers_of_two(16, 131_072))),
    Knob("workload.client_retry", "Clients whose answer was cut",
         "never: they take it. rest: they ask for the rest, with prompt and cut answer as the new prompt, under the "
         "same cap. again: they ask once more, without the cap. Retries are load: queue and TTFT grow.", "choice",
         allowed(Workload, "client_retry")),
    Knob("workload.client_retry_delay_s", "They ask again after (s)",
         "From the cut answer to the retry. Shorter: retries come while the server is still busy with the same crowd.",
         "steps", ("0", *preferred(0.1, 600))),
)  # fmt: skip

PROMPTS = (
    *length_knobs("prompt", "Prompt", "Longer prompts cost prefill time and KV memory: TTFT rises, and TPOT of others "
                  "stalls behind prefill chunks."),
    Knob("workload.types.0.correlation", "Prompt-output correlation (Spearman)",
         "1: long prompts get long answers, so heavy requests are heavy twice and memory swings more. Both length "
         "curves stay as they are.", "steps", even(-1, 1, 0.1)),
    Knob("workload.types.0.shared_prefix_tokens", "Shared prefix (tokens)",
         "The first tokens of prompts are alike, such as a system prompt. With prefix caching they cost neither "
         "prefill nor memory again: TTFT falls.", "steps", ("0", *powers_of_two(16, 32_768))),
    Knob("workload.types.0.num_prefixes", "Different prefixes",
         "More of them share the cache: fewer hits, more idle cached blocks.",
         "steps", preferred(1, 10_000, whole=True)),
)  # fmt: skip
