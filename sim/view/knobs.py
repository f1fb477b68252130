"""All knobs of the dashboard by section; those of the predictor, the server and the targets are written here.

No widget is made here. A knob is shown when its field exists in the scenario, so that another kind of arrivals or
lengths brings its own knobs, and when the scheduler at hand reads it.
"""

from sim.catalog import gpu_names, model_names, predictor_names
from sim.predictor_spec import NO_PRESET, Predictor
from sim.system_spec import Deployment
from sim.view.knob import NONE, Knob, Section, allowed
from sim.view.scheduler_knobs import CHOICES, RULES, SCHEDULER, SGLANG
from sim.view.steps import even, powers_of_two, preferred
from sim.view.workload_knobs import ANSWERS, PROMPTS, TRAFFIC

RECOMBINE = "Recombine"  # title of the section of choices

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
