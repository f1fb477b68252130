"""Where it is served: deployment, service-level targets, cost."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sim.catalog import gpu, model
from sim.part import MAX_TOKENS, Number, Part, Whole

MAX_MS = 86_400_000.0  # a day


class Deployment(Part):
    """A model on GPUs."""

    model: str = Field(default="Llama-3.1-8B", description="Name in the catalogue of models.")
    gpu: str = Field(default="H100-SXM", description="Name in the catalogue of GPUs.")
    tensor_parallel_size: Literal[1, 2, 4, 8, 16] = Field(
        default=1, description="GPUs that share every layer. More GPUs: faster steps, more room for KV, dearer tokens."
    )
    pipeline_parallel_size: Whole = Field(
        default=1,
        ge=1,
        le=16,
        description="Stages that the layers are dealt over, each on tensor_parallel_size GPUs. More stages: larger "
        "models and more KV fit, and no token comes sooner; a stage stands empty while there is no batch for it.",
    )
    weight_dtype: Literal["auto", "bf16", "fp8", "fp8_block", "fp4"] = Field(
        default="auto", description="Weights in memory; auto is as published. Smaller weights leave more room for KV."
    )
    kv_cache_dtype: Literal["auto", "fp8"] = Field(default="auto", description="fp8 halves the KV memory of a token.")
    gpu_memory_utilization: Number = Field(
        default=0.9,
        ge=0.1,
        le=0.99,
        description="Share of GPU memory that the server may take. More of it is more KV blocks.",
    )
    block_size: Whole = Field(
        default=16, ge=1, le=256, description="Tokens a KV block. Larger blocks waste more at their ends."
    )
    max_model_len: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_TOKENS,
        description="Longest prompt + output. None: the model's context, cut to what the KV memory holds.",
    )
    num_gpu_blocks_override: Whole | None = Field(
        default=None,
        ge=2,
        le=100_000_000,
        description="KV blocks, whatever the memory holds. As in vLLM it counts the null block: one fewer is usable.",
    )

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size

    @property
    def named_gpus(self) -> str:
        """`2 x H100-SXM`, and of a pipeline `4 x H100-SXM in 2 stages`."""
        stages = f" in {self.pipeline_parallel_size} stages" if self.pipeline_parallel_size > 1 else ""
        return f"{self.gpus} x {self.gpu}{stages}"

    @model_validator(mode="after")
    def _in_catalogue(self) -> Self:
        model(self.model)
        gpu(self.gpu)
        return self


class AssumedLengths(Part):
    """The output lengths that a service-level target was written for, in tokens."""

    mean: Number | None = Field(default=None, ge=1, le=MAX_TOKENS, description="Mean.")
    p50: Number | None = Field(default=None, ge=1, le=MAX_TOKENS, description="Median.")
    p95: Number | None = Field(default=None, ge=1, le=MAX_TOKENS, description="95th percentile.")
    p99: Number | None = Field(default=None, ge=1, le=MAX_TOKENS, description="99th percentile.")
    cap: Whole | None = Field(default=None, ge=1, le=MAX_TOKENS, description="Largest allowed.")


class Slo(Part):
    """Limits a request must meet to be good, and the lengths they assume."""

    ttft_ms: Number | None = Field(
        default=None, gt=0, le=MAX_MS, description="Time to the first token. None: no limit."
    )
    tpot_ms: Number | None = Field(
        default=None, gt=0, le=MAX_MS, description="Mean time of each further token. None: no limit."
    )
    e2e_ms: Number | None = Field(default=None, gt=0, le=MAX_MS, description="Time to the last token. None: no limit.")
    assumed: AssumedLengths | None = Field(default=None, description="Output lengths that the limits assume.")

    @property
    def limits_ms(self) -> dict[str, float]:
        """The limits that are set, in milliseconds, by field."""
        limits = {"ttft_ms": self.ttft_ms, "tpot_ms": self.tpot_ms, "e2e_ms": self.e2e_ms}
        return {field: limit for field, limit in limits.items() if limit is not None}


class CalibratedStep(Part):
    """Step-time coefficients fitted to measurements of one deployment, as `longtail calibrate` writes them."""

    model: str = Field(min_length=1, max_length=100, description="Model that was measured.")
    gpu: str = Field(min_length=1, max_length=100, description="GPU that it ran on.")
    tensor_parallel_size: Whole = Field(ge=1, le=16, description="GPUs that it ran on.")
    weight_dtype: str = Field(min_length=1, max_length=20, description="Data type of its weights.")
    kv_cache_dtype: Literal["auto", "fp8"] = Field(description="Data type of its KV cache.")
    fixed_ms: Number = Field(
        ge=0, le=1000, description="What every step takes besides weights and KV: launches, collectives, host."
    )
    inv_eff_mem: Number = Field(ge=0.1, le=100, description="Reading weights, over the datasheet's time.")
    inv_eff_kv: Number = Field(ge=0.1, le=100, description="Reading KV cache, over the datasheet's time.")
    inv_eff_flop: Number = Field(ge=0.1, le=100, description="Matrix products, over the datasheet's time.")
    inv_eff_attn: Number = Field(ge=0.1, le=100, description="Attention of prefill, over the datasheet's time.")
    points: Whole = Field(ge=1, le=1_000_000, description="Measured points it was fitted to.")
    error_percent: Number | None = Field(
        default=None, ge=0, le=1e6, description="Mean TPOT error on points left out of the fit. None: not known."
    )
    measured: str = Field(default="", max_length=200, description="Where the measurements come from.")


class Cost(Part):
    """How long a step takes and what an hour costs."""

    source: Literal["catalog", "constant", "calibrated"] = Field(
        default="catalog",
        description="catalog: step time of model and GPU. constant: every step takes step_ms. calibrated: fitted to "
        "measurements of this deployment.",
    )
    step_ms: Number = Field(default=10.0, gt=0, le=3_600_000, description="Step time where the source is constant.")
    host_ms: Number | None = Field(
        default=None,
        ge=0,
        le=1000,
        description="Host time of each step on top of the GPU's; source catalog only. None: the engine's usual.",
    )
    coefficients: CalibratedStep | None = Field(
        default=None, description="What was fitted, where the source is calibrated."
    )
    price_per_gpu_hour: Number | None = Field(
        default=None, ge=0, le=10_000, description="USD. None: the catalogue's indicative price."
    )

    @model_validator(mode="after")
    def _calibrated_has_coefficients(self) -> Self:
        if self.source == "calibrated" and self.coefficients is None:
            raise ValueError("coefficients is none; cost.source calibrated needs those that calibration fitted")
        return self

    @property
    def calibrated_step(self) -> CalibratedStep | None:
        """What was fitted, if it is to be used."""
        return self.coefficients if self.source == "calibrated" else None
