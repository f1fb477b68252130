"""What a scenario says about the predictor of output lengths: what it tells, how it errs, when, and at what price.

Errors are in log units: 0.7 is a factor of two. Source: schedulers.md, section 2.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from sim.catalog import published_predictor
from sim.part import MAX_TOKENS, Number, Part, Switch, Whole

Kind = Literal["none", "oracle", "point", "bucket", "rank", "interval", "distribution", "refined"]
NO_PRESET = "none"
NAMES_A_LENGTH: tuple[Kind, ...] = ("point", "interval", "distribution", "refined")  # whose error has a spread


class Predictor(Part):
    """A predictor of output lengths; what schedulers that know lengths are given instead of the truth."""

    preset: str = Field(
        default=NO_PRESET,
        description="A published predictor whose kind, classes and errors replace those below; bias and drift come "
        "on top. none: the values below.",
    )
    kind: Kind = Field(
        default="none",
        description="What it tells. oracle: the truth; point: a length; bucket: a class of lengths; rank: only who is "
        "shorter; interval: two lengths; distribution: a length and how sure; refined: a length, told anew while "
        "generating.",
    )
    bias: Number = Field(
        default=0.0,
        ge=-5,
        le=5,
        description="Direction of the error, log units: every prediction is exp(bias) times too long. Above 0 it "
        "over-predicts, below 0 it under-predicts.",
    )
    spread: Number = Field(
        default=0.5,
        ge=0,
        le=5,
        description="Standard deviation of the error of a point, interval, distribution or refined prediction, log "
        "units.",
    )
    within_prompt_spread: Number = Field(
        default=0.0,
        ge=0,
        le=5,
        description="How far answers to one prompt differ, log units. Above 0 the same kinds predict another answer to "
        "the prompt, errors on top: the best that anybody can do who sees the prompt only.",
    )
    tau: Number = Field(
        default=0.6,
        ge=0,
        le=1,
        description="Kendall's tau of predicted and true order: of a rank, and of a bucket without accuracy.",
    )
    num_classes: Whole = Field(default=10, ge=2, le=128, description="Classes of a bucket or refined prediction.")
    class_width: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_TOKENS,
        description="Tokens a class; the last is open. None: a bucket's divide the longest answer allowed, those of a "
        "refined prediction nearly all answers.",
    )
    accuracy: Number | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of bucket predictions that name the right class, whichever it is; each class further off is "
        "half as likely. None: errors by tau.",
    )
    confusion: Literal["none", "bert_5_class"] = Field(
        default="none", description="A published confusion matrix, with its classes, for bucket predictions."
    )
    refresh_tokens: Whole = Field(
        default=1, ge=1, le=MAX_TOKENS, description="Tokens between two looks of a refined prediction."
    )
    refresh_spread: Number = Field(
        default=1.4,
        gt=0,
        le=5,
        description="Error of each single look of a refined prediction, log units; looks err independently.",
    )
    coverage: Number = Field(
        default=0.9, gt=0, lt=1, description="Share of interval predictions that hold the truth while bias is 0."
    )
    quantile: Number = Field(
        default=0.9,
        ge=0.01,
        le=0.999,
        description="Which quantile of the predicted lengths a reservation takes. More: fewer preemptions, fewer "
        "running at once.",
    )
    drift_bias: Number = Field(
        default=0.0, ge=-5, le=5, description="Bias that came after the predictor was built, log units."
    )
    drift_spread: Number = Field(
        default=0.0,
        ge=0,
        le=5,
        description="Spread that came after it was built, log units: the predictor is less sure than it says.",
    )
    delay_ms: Number = Field(default=0.0, ge=0, le=3_600_000, description="From arrival to the prediction.")
    is_synchronous: Switch = Field(
        default=False,
        description="The scheduler stands still for delay_ms. Else a request counts as longest until it is predicted.",
    )
    cost_ms: Number = Field(
        default=0.0, ge=0, le=3_600_000, description="Time of the serving GPU that one prediction takes."
    )
    own_gpus: Number = Field(
        default=0.0,
        ge=0,
        le=10_000,
        description="GPUs of the whole service, of the replicas' kind, kept for the predictor alone: they are billed.",
    )

    @model_validator(mode="after")
    def _in_catalogue(self) -> Self:
        if self.preset != NO_PRESET:
            published_predictor(self.preset)
        return self

    @property
    def in_use(self) -> "Predictor":
        """The same with the figures of its preset in place."""
        if self.preset == NO_PRESET:
            return self
        found = published_predictor(self.preset)
        return self.model_copy(
            update={
                "preset": NO_PRESET,
                "kind": found.kind,
                "bias": self.bias + found.bias,
                "spread": found.spread,
                "within_prompt_spread": found.within_prompt_spread,
                "tau": self.tau if found.tau is None else found.tau,
                "num_classes": found.num_classes or self.num_classes,
                "class_width": found.class_width,
                "accuracy": found.accuracy if found.tau is None else None,
                "confusion": found.confusion,
            }
        )
