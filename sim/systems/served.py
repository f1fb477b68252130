"""Schedulers of serving engines: request-level, iteration-level, paged, chunked."""

from sim.systems.system import Choices, System

PAGED = ("watermark", "preemption_mode", "swap_space_gib", "swap_gb_s")

STATIC = System(
    name="static",
    title="Static batching",
    idea="request-level",
    source="the practice before Orca, as in FasterTransformer and Triton",
    knows="prompt and cap",
    reserves="prompt + cap, or max_model_len",
    gives_way="nobody: the reservation holds",
    choices=Choices("request", "mixed", "cap", "arrival"),
    knobs=("scheduling_policy", "hold", "delivery", "reserve", "batch_wait_s"),
    seats=32,
    budget="batch",
    engine="calendar",
)

ORCA = System(
    name="orca",
    title="Orca",
    idea="iteration-level",
    source="Yu et al., OSDI 2022",
    knows="prompt and cap",
    reserves="prompt + cap, max_model_len, or with foresight the true output or its power of two",
    gives_way="nobody: the reservation holds",
    choices=Choices("iteration", "mixed", "cap", "arrival"),
    knobs=("reserve",),
    seats=16,
    budget="batch",
)

VLLM_V0 = System(
    name="vllm_v0",
    title="vLLM V0",
    idea="paged",
    source="Kwon et al., SOSP 2023; vLLM's first engine",
    knows="prompt",
    reserves="the prompt's blocks, above a watermark of 1 %",
    gives_way="the latest arrival, recomputed or swapped out",
    choices=Choices("iteration", "first", "prompt", "arrival", "recompute", "latest_arrival"),
    knobs=PAGED,
    seats=256,
    budget="context",
    watermark=0.01,
)

VLLM_V1 = System(
    name="vllm_v1",
    title="vLLM V1",
    idea="chunked",
    source="vLLM release 0.33.0 and, by `vllm_release`, older ones",
    knows="prompt",
    reserves="the first chunk's blocks, if the whole prompt would fit",
    gives_way="the last admitted, or by priority the least important; recomputed",
    choices=Choices("iteration", "chunked", "chunk", "arrival"),
    knobs=(
        "enable_chunked_prefill",
        "long_prefill_token_threshold",
        "enable_prefix_caching",
        "scheduling_policy",
        "watermark",
        "scheduler_reserve_full_isl",
        "async_scheduling",
        "vllm_release",
    ),
    engine="calendar",
)

SARATHI = System(
    name="sarathi",
    title="Sarathi-Serve",
    idea="chunked",
    source="Agrawal et al., OSDI 2024",
    knows="prompt",
    reserves="the whole prompt's blocks, above a watermark of 1 %",
    gives_way="the latest arrival, recomputed",
    choices=Choices("iteration", "chunked", "prompt", "arrival", "recompute", "latest_arrival"),
    knobs=PAGED,
    seats=128,
    budget=512,
    watermark=0.01,
)

HYBRID_ONLY = System(
    name="hybrid_only",
    title="Sarathi without chunks",
    idea="chunked",
    source="Agrawal et al., OSDI 2024: ablation, a token budget of max_model_len",
    knows="prompt",
    reserves="the whole prompt's blocks, above a watermark of 1 %",
    gives_way="the latest arrival, recomputed",
    choices=Choices("iteration", "chunked", "prompt", "arrival", "recompute", "latest_arrival"),
    knobs=PAGED,
    seats=128,
    budget="max_model_len",
    watermark=0.01,
)

CHUNK_ONLY = System(
    name="chunk_only",
    title="Sarathi without mixed batches",
    idea="chunked",
    source="Agrawal et al., OSDI 2024: ablation, chunks and decoding in turns",
    knows="prompt",
    reserves="the whole prompt's blocks, above a watermark of 1 %",
    gives_way="the latest arrival, recomputed",
    choices=Choices("iteration", "alternate", "prompt", "arrival", "recompute", "latest_arrival"),
    knobs=PAGED,
    seats=128,
    budget=512,
    watermark=0.01,
)

VTC = System(
    name="vtc",
    title="Virtual token counter",
    idea="paged",
    source="Sheng et al., OSDI 2024; counter weights as in its repository",
    knows="prompt and task type, which stands for the client",
    reserves="the prompt's blocks",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "first", "prompt", "fair"),
    knobs=PAGED,
    seats=256,
    budget="context",
    watermark=0.01,
)

ROUTED = System(
    name="routed",
    title="Queues by task type",
    idea="paged",
    source="weighted round robin over task types in one engine",
    knows="prompt and task type",
    reserves="the prompt's blocks",
    gives_way="the last admitted, recomputed",
    choices=Choices("iteration", "chunked", "prompt", "by_type"),
    knobs=PAGED,
    seats=256,
    budget=2048,
    watermark=0.01,
)

SGLANG = System(
    name="sglang",
    title="SGLang",
    idea="prefix-aware",
    source="SGLang release 0.5.23",
    knows="prompt and cap",
    reserves="the prompt, if it and the cap fit beside a share of what the running may still produce",
    gives_way="who has produced least, recomputed",
    choices=Choices("iteration", "first", "prompt", "arrival", "recompute", "fewest_generated"),
    knobs=("sglang",),
    engine="sglang",
)

SYSTEMS = (STATIC, ORCA, VLLM_V0, VLLM_V1, SARATHI, HYBRID_ONLY, CHUNK_ONLY, VTC, ROUTED, SGLANG)
