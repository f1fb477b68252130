"""SGLang's scheduler, compiled: prefix tree, new-token ratio, retraction, overlap."""

from sim.engine.sglang.inputs import END_OF_TEXT, SglangOrder, SglangRules, StepKind
from sim.engine.sglang.run import run

__all__ = ["END_OF_TEXT", "SglangOrder", "SglangRules", "StepKind", "run"]
