"""Schedulers that reserve or order by what they believe of the output's length."""

from sim.systems.system import Choices, System

SWAP = ("swap_space_gib", "swap_gb_s")
RANKED = ("starvation_threshold", "starvation_quantum", *SWAP)
FUTURE = ("peak_share",)

SEQ_SCHED = System(
    name="seq_sched",
    title="Sequence scheduling",
    idea="length-aware",
    source="Zheng et al., NeurIPS 2023",
    knows="a predicted length",
    reserves="prompt + cap",
    gives_way="nobody; with FCR who outlives the batch's cap runs again",
    choices=Choices("request", "mixed", "cap", "planned"),
    knobs=("group_size", "batch_by_length", "recollect", "delivery"),
    seats=16,
    budget="batch",
    details={"hold": 1, "is_grouped": 1, "rerun_size": 16},
)

S3 = System(
    name="s3",
    title="S3",
    idea="length-aware",
    source="Jin et al., NeurIPS 2023",
    knows="a predicted class of lengths",
    reserves="prompt + the class's upper end; doubled when outgrown",
    gives_way="who outgrows its reservation, swapped out",
    choices=Choices("iteration", "mixed", "predicted", "largest_need", "swap"),
    knobs=SWAP,
    seats=256,
    budget="batch",
    details={"doubles": 1, "reserve_offset": -1},
)

S3_THREE = System(
    name="s3_three",
    title="S3, three classes",
    idea="length-aware",
    source="common simplification of Jin et al.: a queue and a batch for short, medium and long",
    knows="one of three predicted classes",
    reserves="prompt + the class's upper end; doubled when outgrown",
    gives_way="who outgrows its reservation, swapped out",
    choices=Choices("request", "mixed", "predicted", "arrival", "swap"),
    knobs=SWAP,
    seats=256,
    budget="batch",
    details={"doubles": 1, "reserve_offset": -1, "is_grouped": 1},
)

QUANTILE = System(
    name="quantile",
    title="Reservation at a quantile",
    idea="length-aware",
    source="newsvendor rule: reserve a quantile of what is predicted",
    knows="a distribution of the length",
    reserves="prompt + the quantile of the predicted length",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "mixed", "quantile", "arrival"),
    knobs=("preemption_mode", *SWAP),
    seats=256,
    budget="batch",
    details={"reserve_offset": -1},
)

CONFORMAL = System(
    name="conformal",
    title="Conformal reservation",
    idea="length-aware",
    source="split conformal prediction over past truth / prediction",
    knows="a predicted length, and how wrong predictions were",
    reserves="prompt + prediction x quantile of past ratios",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "mixed", "conformal", "arrival"),
    knobs=("conformal_window", "preemption_mode", *SWAP),
    seats=256,
    budget="batch",
    details={"reserve_offset": -1},
)

RANK = System(
    name="rank",
    title="Learned ranking",
    idea="length-aware",
    source="Fu et al., NeurIPS 2024",
    knows="who is shorter",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, swapped out",
    choices=Choices("iteration", "chunked", "chunk", "rank", "swap", "last_in_order"),
    knobs=RANKED,
    seats=256,
    budget=768,
)

SELF_DECLARED = System(
    name="self_declared",
    title="Self-declared length",
    idea="length-aware",
    source="baseline of Fu et al., NeurIPS 2024: the model says how long it will be in its first 15 tokens",
    knows="a declared length, after 15 tokens",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, swapped out",
    choices=Choices("iteration", "chunked", "chunk", "declared", "swap", "last_in_order"),
    knobs=RANKED,
    seats=256,
    budget=768,
    details={"declare_tokens": 15},
)

CLASS10 = System(
    name="class10",
    title="Ten classes",
    idea="length-aware",
    source="baseline of Fu et al., NeurIPS 2024: rank by one of ten classes",
    knows="a predicted class of lengths",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, swapped out",
    choices=Choices("iteration", "chunked", "chunk", "rank", "swap", "last_in_order"),
    knobs=RANKED,
    seats=256,
    budget=768,
)

SJF = System(
    name="sjf",
    title="Shortest job first (oracle)",
    idea="length-aware",
    source="textbook order; upper bound of what ordering by length can give",
    knows="the true length",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, swapped out",
    choices=Choices("iteration", "chunked", "chunk", "true_length", "swap", "last_in_order"),
    knobs=RANKED,
    seats=256,
    budget=768,
)

SRTF = System(
    name="srtf",
    title="Shortest remaining time first (oracle)",
    idea="length-aware",
    source="textbook order; upper bound of what ordering by length can give",
    knows="the true length left",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, swapped out",
    choices=Choices("iteration", "chunked", "chunk", "true_remaining", "swap", "last_in_order"),
    knobs=RANKED,
    seats=256,
    budget=768,
)

MLFQ = System(
    name="mlfq",
    title="Multi-level feedback queue",
    idea="length-aware",
    source="baseline of Fu et al., NeurIPS 2024",
    knows="how long each request has run",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, swapped out",
    choices=Choices("iteration", "chunked", "chunk", "levels", "swap", "last_in_order"),
    knobs=("quantum_ms", "quantum_growth", *SWAP),
    seats=256,
    budget=768,
    details={"quantum_s": 0.03, "quantum_growth": 10.0},
)

FASTSERVE = System(
    name="fastserve",
    title="FastServe",
    idea="length-aware",
    source="Wu et al., 2023, constants as in its code",
    knows="its own profile of prefill times, and how long each request has run",
    reserves="the prompt's blocks",
    gives_way="the lowest queue, swapped out ahead of need",
    choices=Choices("iteration", "mixed", "chunk", "skip_levels", "swap", "last_in_order"),
    knobs=("quantum_ms", "quantum_growth", "starvation_s", *SWAP),
    seats=64,
    budget=2048,
    details={"quantum_s": 0.01, "quantum_growth": 2.0, "boost_steps": 1000, "boost_wait_s": 3.0},
)

TRAIL = System(
    name="trail",
    title="TRAIL",
    idea="length-aware",
    source="Shahout et al., 2024",
    knows="an estimate of what is left, refined at every token",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, recomputed",
    choices=Choices("iteration", "chunked", "chunk", "refined", "recompute", "last_in_order"),
    knobs=("keep_share",),
    seats=256,
    budget=768,
)

ELIS = System(
    name="elis",
    title="ELIS",
    idea="length-aware",
    source="Choi et al., 2025",
    knows="an estimate of what is left, refined every 50 tokens",
    reserves="the next chunk's blocks",
    gives_way="the last in the order, recomputed",
    choices=Choices("iteration", "chunked", "chunk", "refined", "recompute", "last_in_order"),
    seats=256,
    budget=768,
    details={"keep_share": 2.0, "refresh_every": 50},
)

SSJF = System(
    name="ssjf",
    title="Speculative shortest job first",
    idea="length-aware",
    source="Qiu et al., 2024",
    knows="a predicted length",
    reserves="the first chunk's blocks",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "chunked", "chunk", "shortest_guarded"),
    knobs=("guard_wait_s", "guard_factor"),
    seats=256,
    budget=2048,
)

TIE = System(
    name="tie",
    title="Tail-aware ordering",
    idea="length-aware",
    source="mean plus a share of the tail's mean, under a log-t belief",
    knows="a distribution of the length",
    reserves="the first chunk's blocks",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "chunked", "chunk", "tail_averse"),
    seats=256,
    budget=2048,
)

PAST_FUTURE = System(
    name="past_future",
    title="Past-Future",
    idea="length-aware",
    source="Gong et al., ASPLOS 2025",
    knows="the last 200 finished lengths",
    reserves="nothing; the future peak by lengths drawn from the past must stay under 95 % of memory",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "first", "peak_history", "arrival"),
    knobs=(*FUTURE, "history"),
    seats=256,
    budget="context",
)

AGGRESSIVE = System(
    name="aggressive",
    title="Aggressive admission",
    idea="length-aware",
    source="comparator of Gong et al., ASPLOS 2025: outputs end soon",
    knows="what was generated so far",
    reserves="nothing; the future peak must fit if outputs are 1,024 tokens or 1.1 times what they have",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "first", "peak_aggressive", "arrival"),
    knobs=FUTURE,
    seats=256,
    budget="context",
)

CONSERVATIVE = System(
    name="conservative",
    title="Conservative admission",
    idea="length-aware",
    source="comparator of Gong et al., ASPLOS 2025: outputs reach their caps",
    knows="the cap",
    reserves="nothing; the future peak must fit if all generate to their caps",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "first", "peak_cap", "arrival"),
    knobs=FUTURE,
    seats=256,
    budget="context",
)

MC_SF = System(
    name="mc_sf",
    title="Memory-constrained shortest first",
    idea="length-aware",
    source="Jaillet et al., 2025",
    knows="a predicted length, at least the true one",
    reserves="nothing; memory at each predicted completion must fit",
    gives_way="the last admitted, recomputed, where predictions were too short",
    choices=Choices("iteration", "mixed", "peak_predicted", "predicted"),
    seats=1024,
    budget="batch",
)

A_MAX = System(
    name="a_max",
    title="A_max: upper bounds",
    idea="length-aware",
    source="Chen et al., 2025: interval predictions",
    knows="an upper bound of the length",
    reserves="nothing; memory by upper bounds must fit",
    gives_way="nobody while the bounds hold",
    choices=Choices("iteration", "mixed", "peak_upper", "upper"),
    seats=1024,
    budget="batch",
)

A_MIN = System(
    name="a_min",
    title="A_min: lower bounds",
    idea="length-aware",
    source="Chen et al., 2025: interval predictions",
    knows="a lower bound of the length, which rises with what is generated",
    reserves="nothing; memory by present lower bounds must fit",
    gives_way="the smallest present bound, restarted or recomputed",
    choices=Choices("iteration", "mixed", "peak_lower", "lower", "restart", "smallest_bound"),
    seats=1024,
    budget="batch",
)

SYSTEMS = (
    SEQ_SCHED, S3, S3_THREE, QUANTILE, CONFORMAL, RANK, SELF_DECLARED, CLASS10, SJF, SRTF, MLFQ, FASTSERVE, TRAIL, ELIS,
    SSJF, TIE, PAST_FUTURE, AGGRESSIVE, CONSERVATIVE, MC_SF, A_MAX, A_MIN,
)  # fmt: skip
