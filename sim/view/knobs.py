"""The knobs of the dashboard: the field each one moves, its stops, and what moving it does to the curves.

No widget is made here. A knob is shown when its field exists in the scenario, so that another kind of arrivals or
lengths brings its own knobs, and when the scheduler at hand reads it.
"""

from typing import Literal, NamedTuple, get_args

from sim.catalog import dataset_names, gpu_names, model_names, predictor_names
from sim.keys import value_text
from sim.part import Part
from sim.predictor_spec import NO_PRESET, Predictor
from sim.scheduler_spec import Scheduler
from sim.sglang_spec import Sglang
from sim.system_spec import Deployment
from sim.systems import system_names
from sim.systems.system import Batching, Eviction, Order, Prefill, Reserve, Victim
from sim.view.steps import even, powers_of_two, preferred
from sim.workload_spec import Workload

RECOMBINE = "Recombine"  # title of the section of choices
SYSTEM = "scheduler.system"  # the field that the choices and rules depart from
NONE = "none"  # no value: the system's own default, or no limit


class Knob(NamedTuple):
    """One field of the scenario as a widget."""

    path: str
    label: str  # with the unit
    help: str  # what it does to the curves
    widget: Literal["steps", "choice", "switch"]
    options: tuple[str, ...] = ()  # texts, as a link holds them


class Section(NamedTuple):
    """Knobs that belong together."""

    title: str
    knobs: tuple[Knob, ...]
    is_open: bool


def allowed(part: type[Part], field: str) -> tuple[str, ...]:
    """Texts of all values that a field of few values may take."""
    return tuple(value_text(value) for value in get_args(part.model_fields[field].annotation))


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

SCHEDULER = (
    Knob(SYSTEM, "Scheduler",
         "Who runs, who waits, what is reserved, who gives way; by idea. `longtail systems` lists each with source and "
         "defaults.",
         "choice", system_names()),
    Knob("scheduler.max_num_seqs", "Batch limit (max_num_seqs)",
         "Most requests running at once. Lower: short TPOT, but free memory is kept by this limit and TTFT grows. "
         "Higher: more throughput, longer TPOT. none: the system's own; vLLM's goes by the GPU.",
         "steps", (NONE, *powers_of_two(1, 4096))),
    Knob("scheduler.max_num_batched_tokens", "Token budget (max_num_batched_tokens)",
         "Tokens of one step, decodes first and the rest for prefill; also known as max_num_scheduled_tokens. It "
         "limits how long prefill holds up decoding, so it cuts the ITL tail; it does not limit memory. Lower: "
         "shorter p99 ITL, longer TTFT.", "steps", (NONE, *powers_of_two(16, 131_072))),
)  # fmt: skip

CHOICES = (
    Knob("scheduler.batching", "Batching",
         "When requests may join. request: nobody joins a batch until its last member ends, so memory lies idle and "
         "TTFT grows with the longest answer. iteration: at every step.", "choice", (NONE, *get_args(Batching))),
    Knob("scheduler.prefill", "Prefill",
         "How prompts are computed. mixed and first: whole, which stalls everybody's tokens (ITL tail); chunked: cut "
         "to what decoding leaves of the token budget; alternate: chunks and decoding in turns.",
         "choice", (NONE, *get_args(Prefill))),
    Knob("scheduler.reserve", "Reservation",
         "KV memory that admission makes sure of. More: fewer preemptions, fewer requests at once, and what is set "
         "aside and not used shows as its own row of the memory curve.", "choice", (NONE, *get_args(Reserve))),
    Knob("scheduler.order", "Order",
         "Who is served first. Short answers first lift goodput and mean latency of most, and long ones wait: the "
         "right end of the latency curves moves out. It makes no more tokens a second.",
         "choice", (NONE, *get_args(Order))),
    Knob("scheduler.preemption_mode", "When memory runs out",
         "recompute: the time ledger shows tokens computed again. swap: it shows moving to host memory instead. "
         "restart: the answer begins anew. fail: the whole batch dies, as in an out-of-memory error.",
         "choice", (NONE, *get_args(Eviction))),
    Knob("scheduler.victim", "Who gives way",
         "Whose answer stalls when blocks run out: moves the ITL tail from one group of requests to another.",
         "choice", (NONE, *get_args(Victim))),
    Knob("scheduler.admission_interval_steps", "Admission every (steps)",
         "Requests join at every so many steps only. More: slots and memory lie idle after short answers have left, "
         "and TTFT grows.", "steps", powers_of_two(1, 1024)),
)  # fmt: skip

RULES = (
    Knob("scheduler.enable_prefix_caching", "Prefix caching",
         "Keeps the KV of finished texts. Where prompts begin alike TTFT falls; idle cached blocks show as a row of "
         "the memory curve and cost nothing.", "switch"),
    Knob("scheduler.enable_chunked_prefill", "Chunked prefill",
         "Cuts prompts to what is left of the token budget. Off: a prompt waits until all of it fits in one step, "
         "and TTFT rises.", "switch"),
    Knob("scheduler.long_prefill_token_threshold", "Longest prefill chunk (tokens; 0: no limit)",
         "Smaller chunks let decodes through more often: ITL tail shrinks, TTFT of long prompts grows.",
         "steps", ("0", *powers_of_two(16, 32_768))),
    Knob("scheduler.async_scheduling", "Asynchronous scheduling",
         "Each step is scheduled while the one before it runs, as a served vLLM does by default: an arrival waits a "
         "step longer, and a finished request keeps its memory for one more.", "switch"),
    Knob("scheduler.vllm_release", "vLLM release",
         "Whose scheduling rules apply. Before 0.19 admission looks at the first chunk only, which preempts more.",
         "choice", allowed(Scheduler, "vllm_release")),
    Knob("scheduler.watermark", "Watermark (share of blocks)",
         "Blocks that admission leaves free. More: fewer preemptions, but less memory in use and a longer queue.",
         "steps", (NONE, *even(0, 0.1, 0.01), *even(0.15, 0.5, 0.05))),
    Knob("scheduler.scheduler_reserve_full_isl", "Admit whole prompts only",
         "On: a request starts when all of its prompt fits. Off: when the first chunk fits; more preemptions near "
         "full memory.", "switch"),
    Knob("scheduler.scheduling_policy", "Scheduling policy",
         "fcfs: first come, first served. priority: smallest priority number first, where task types have one.",
         "choice", allowed(Scheduler, "scheduling_policy")),
    Knob("scheduler.hold", "Hold finished members",
         "On: finished requests keep slot and memory until the batch ends; the hatched rows of the memory curve are "
         "this waste.", "switch"),
    Knob("scheduler.delivery", "Delivery",
         "batch: all tokens come when the batch ends, so TPOT means nothing and E2E per token is shown. stream: as "
         "produced.", "choice", allowed(Scheduler, "delivery")),
    Knob("scheduler.batch_wait_s", "Wait for a full batch (s)",
         "Longer: fuller batches and more throughput, but TTFT starts later.",
         "steps", ("0", *preferred(0.01, 60))),
    Knob("scheduler.swap_space_gib", "Host memory for KV (GiB a GPU)",
         "Room for the KV of those who gave way. Full: their tokens are computed again, and TPOT grows.",
         "steps", ("0", *preferred(0.1, 1000))),
    Knob("scheduler.swap_gb_s", "Link to host memory (GB/s)",
         "Slower: every swap holds up the whole batch for longer, and the ITL tail grows.",
         "steps", preferred(1, 1000)),
    Knob("scheduler.starvation_threshold", "Promote after (steps without service; 0: never)",
         "Smaller: long answers come through sooner, which cuts the right end of TTFT and ITL and costs the short ones "
         "their lead.", "steps", ("0", *preferred(1, 10_000, whole=True))),
    Knob("scheduler.starvation_quantum", "Promoted for (steps)",
         "How long a promoted request stays first. Longer: fewer displacements, longer waits of short answers.",
         "steps", preferred(1, 10_000, whole=True)),
    Knob("scheduler.quantum_ms", "First queue's quantum (ms)",
         "Time before a request moves down a queue. Shorter: new requests get in front of long ones sooner, with more "
         "displacements. none: the system's own.", "steps", (NONE, *preferred(1, 100_000))),
    Knob("scheduler.quantum_growth", "Growth of the quantum (x)",
         "Quantum of each queue over that of the one before. Larger: fewer queues, nearer to first come, first served. "
         "none: the system's own.", "steps", (NONE, "1", "1.5", *powers_of_two(2, 64))),
    Knob("scheduler.starvation_s", "Back to the first queue after (s)",
         "Who has not run for so long starts over at the top. Shorter: less of a tail in TTFT and ITL, less of a lead "
         "for short answers.", "steps", preferred(0.1, 1000)),
    Knob("scheduler.keep_share", "Safe after this share of the estimate",
         "Nobody displaces a request that has come so far. 1: always displaced by a shorter one; 0: never. Lower: "
         "fewer preemptions, longer waits of short answers.", "steps", even(0, 1, 0.1)),
    Knob("scheduler.guard_wait_s", "Longest wait in the queue (s; 0: no limit)",
         "Whoever has waited so long goes first. Shorter: p99 TTFT falls, the mean rises.",
         "steps", ("0", *preferred(1, 10_000))),
    Knob("scheduler.guard_factor", "Longest wait (x own duration; 0: no limit)",
         "Whoever has waited so many times the time it needs goes first. Smaller: nearer to first come, first "
         "served.", "steps", ("0", *preferred(0.5, 1000))),
    Knob("scheduler.group_size", "Requests sorted together",
         "Larger groups: more alike answers in a batch and less padding, but the first wait for the group to fill.",
         "steps", powers_of_two(16, 4096)),
    Knob("scheduler.batch_by_length", "Larger batches of short answers (VBS)",
         "On: batch size by predicted length, so memory is filled. Off: all batches have the batch limit's size.",
         "switch"),
    Knob("scheduler.recollect", "Cut at the prediction, run again later (FCR)",
         "On: a batch ends at its longest prediction and whoever is not done starts over later, which costs tokens and "
         "saves padding.", "switch"),
    Knob("scheduler.conformal_window", "Past errors remembered",
         "More: steadier reservations, slower to follow a change of traffic.",
         "steps", preferred(10, 10_000, whole=True)),
    Knob("scheduler.history", "Past lengths remembered",
         "Finished outputs that future ones are drawn from. More: steadier admission, slower to follow a change.",
         "steps", preferred(10, 10_000, whole=True)),
    Knob("scheduler.peak_share", "KV memory that the peak may fill",
         "More: more requests at once and more preemptions when outputs turn out longer.",
         "steps", (*even(0.5, 0.95, 0.05), "0.98", "1")),
    Knob("scheduler.horizon", "Horizon (steps)",
         "Admission looks so far ahead. Longer: fewer preemptions, fewer requests at once.",
         "steps", powers_of_two(16, 8192)),
)  # fmt: skip

SGLANG = (
    Knob("scheduler.sglang.schedule_policy", "Order (schedule_policy)",
         "fcfs: first come, first served. lpm: the longest cached prefix first, as long as at most 128 wait. lof: the "
         "largest cap first.", "choice", allowed(Sglang, "schedule_policy")),
    Knob("scheduler.sglang.schedule_conservativeness", "Conservativeness",
         "Scales the share of their remaining caps that is set aside for running requests. More: fewer retractions, "
         "but less memory in use and a longer queue.", "steps", (*even(0, 1, 0.1), *even(1.2, 2, 0.2), "3", "5")),
    Knob("scheduler.sglang.chunked_prefill_size", "Prefill chunk (tokens; -1: no cut)",
         "Longest prefill of one step. Decoding stands still meanwhile: smaller chunks cut the ITL tail and lengthen "
         "TTFT. none: SGLang's default for the GPU.", "steps", (NONE, "-1", *powers_of_two(256, 131_072))),
    Knob("scheduler.sglang.enable_mixed_chunk", "Mixed chunks",
         "On: running requests decode in the steps that compute prompts, too. The ITL tail shrinks, TTFT grows.",
         "switch"),
    Knob("scheduler.sglang.disable_overlap_schedule", "No overlap",
         "On: a step is scheduled when the one before has ended. An arrival is seen sooner, an end at once.", "switch"),
    Knob("scheduler.sglang.disable_radix_cache", "No radix cache",
         "On: no KV of finished texts is kept. Where prompts begin alike TTFT rises.", "switch"),
    Knob("scheduler.sglang.page_size", "Page size (tokens)",
         "Tokens of a KV page. Larger pages waste more at their ends (fragmentation row) and find fewer cached "
         "prefixes.", "steps", powers_of_two(1, 256)),
    Knob("scheduler.sglang.clip_max_new_tokens", "Clip of the cap (tokens)",
         "Admission counts at most so many tokens for an answer. Less: more requests at once, more retractions.",
         "steps", powers_of_two(64, 32_768)),
)  # fmt: skip

PREDICTOR = (
    Knob("predictor.preset", "Published predictor",
         "Errors measured on a real predictor, in place of kind and spread. none: your own.",
         "choice", (NO_PRESET, *predictor_names())),
    Knob("predictor.kind", "Kind of prediction",
         "What the scheduler is told: nothing, the truth, a length, a class of lengths, only who is shorter, an "
         "interval, a distribution, or a length that is told anew while generating.",
         "choice", allowed(Predictor, "kind")),
    Knob("predictor.bias", "Error direction (bias, log units)",
         "Right over-predicts: memory is set aside for nothing, and fewer requests run at once. Left under-predicts: "
         "more run at once until memory is short, with preemptions and a longer TPOT tail. 0.7 is twice too long, "
         "-0.7 half as long.", "steps", even(-1.5, 1.5, 0.1)),
    Knob("predictor.spread", "Error size (spread, log units)",
         "How far predictions scatter around the truth. More: worse order, more memory set aside to be safe. Each "
         "request keeps its own share of luck.", "steps", even(0, 2, 0.1)),
    Knob("predictor.tau", "Order kept (Kendall's tau)",
         "1 puts every two requests in their true order, 0 is a coin flip. Lower: long answers get ahead of short "
         "ones, and the mean wait grows.", "steps", even(0, 1, 0.05)),
    Knob("predictor.quantile", "Reserved quantile",
         "How much of the predicted distribution a reservation covers. Higher: fewer preemptions, fewer requests at "
         "once.", "steps", (*even(0.5, 0.95, 0.05), "0.99")),
    Knob("predictor.delay_ms", "Prediction delay (ms)",
         "From arrival to the prediction. Longer: requests count as longest until it is there, or everybody waits "
         "where the scheduler does.", "steps", ("0", *preferred(1, 10_000))),
    Knob("predictor.is_synchronous", "Scheduler waits for it",
         "On: the scheduler stands still while a prediction is made, and every ITL grows. Off: it goes on meanwhile.",
         "switch"),
)  # fmt: skip

SERVER = (
    Knob("deployment.model", "Model",
         "Larger models take longer a step and leave less room for KV: every curve moves.", "choice", model_names()),
    Knob("deployment.gpu", "GPU",
         "Memory bandwidth sets TPOT at small batches, compute sets prefill, memory size how many requests fit.",
         "choice", gpu_names()),
    Knob("deployment.tensor_parallel_size", "Tensor parallel (GPUs)",
         "More GPUs: shorter steps and more KV memory, at the price of communication.",
         "choice", allowed(Deployment, "tensor_parallel_size")),
    Knob("deployment.pipeline_parallel_size", "Pipeline parallel (stages)",
         "Layers dealt over stages: more KV memory for larger models, and no shorter steps; TPOT stays or grows, and "
         "stages stand empty (bubble row) while there are fewer batches than stages.",
         "choice", ("1", "2", "3", "4", "8")),
    Knob("deployment.weight_dtype", "Weight dtype",
         "Smaller weights are read faster (shorter TPOT) and leave more KV memory.",
         "choice", allowed(Deployment, "weight_dtype")),
    Knob("deployment.kv_cache_dtype", "KV cache dtype",
         "fp8 holds twice the tokens in the same memory and halves KV reading.",
         "choice", allowed(Deployment, "kv_cache_dtype")),
    Knob("deployment.gpu_memory_utilization", "GPU memory utilization",
         "Share of GPU memory the server may take. More is more KV blocks: fewer preemptions, shorter queue.",
         "steps", (*even(0.1, 0.95, 0.05), "0.98")),
    Knob("deployment.block_size", "Block size (tokens)",
         "Larger blocks waste more at their ends (fragmentation row) and find fewer cached prefixes.",
         "steps", powers_of_two(1, 256)),
    Knob("deployment.max_model_len", "Longest text (max_model_len, tokens)",
         "Prompt + output end here; longer outputs are cut. none: the model's context as far as memory holds it.",
         "steps", (NONE, *powers_of_two(256, 131_072))),
    Knob("deployment.num_gpu_blocks_override", "KV blocks (override)",
         "KV blocks instead of what the memory gives; as in vLLM one of them is not usable. Fewer: preemptions set "
         "in earlier. none: by the memory.", "steps", (NONE, *preferred(100, 1_000_000, whole=True))),
    Knob("cost.source", "Step time",
         "catalog: from model and GPU. constant: every step takes the same time, for thought experiments.",
         "choice", ("catalog", "constant")),
    Knob("cost.step_ms", "Step (ms)",
         "Duration of every step; all latencies scale with it.", "steps", preferred(0.1, 1000)),
)  # fmt: skip

TARGETS = (
    Knob("slo.ttft_ms", "TTFT limit (ms)",
         "Moves the dotted line on the TTFT curve; attainment and goodput count requests within all limits. The run "
         "itself does not change.", "steps", (NONE, *preferred(10, 100_000))),
    Knob("slo.tpot_ms", "TPOT limit (ms)",
         "Moves the dotted line on the TPOT curve; attainment and goodput follow. The run itself does not change.",
         "steps", (NONE, *preferred(1, 1000))),
    Knob("slo.e2e_ms", "E2E limit (ms)",
         "Counts in attainment and goodput. The run itself does not change.",
         "steps", (NONE, *preferred(100, 1_000_000))),
    Knob("seed", "Seed",
         "Other requests from the same distributions: how much of a difference is chance.", "steps", even(0, 50, 1)),
)  # fmt: skip

SECTIONS = (
    Section("Traffic", TRAFFIC, True),
    Section("Outputs", ANSWERS, True),
    Section("Scheduler", SCHEDULER, True),
    Section(RECOMBINE, CHOICES, False),
    Section("Server", SERVER, True),  # its stages decide which rules are read
    Section("Rules", (*RULES, *SGLANG), True),
    Section("Predictor", PREDICTOR, True),
    Section("Prompts", PROMPTS, False),
    Section("Targets and seed", TARGETS, False),
)
KNOBS = tuple(knob for section in SECTIONS for knob in section.knobs)


def section_of(refusal: str) -> str:
    """Title of the section that holds the field a refusal begins with; empty where no knob moves it."""
    path = refusal.split(" ", 1)[0]
    return next((section.title for section in SECTIONS for knob in section.knobs if knob.path == path), "")
