"""Knobs of the scheduler: which one, its five choices, its rules, and what only SGLang reads."""

from typing import get_args

from sim.scheduler_spec import Scheduler
from sim.sglang_spec import Sglang
from sim.systems import system_names
from sim.systems.system import Batching, Eviction, Order, Prefill, Reserve, Victim
from sim.view.knob import NONE, Knob, allowed
from sim.view.steps import even, powers_of_two, preferred

SYSTEM = "scheduler.system"  # the field that the choices and rules depart from

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
