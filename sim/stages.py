"""How a model's layers are dealt over the stages of a pipeline."""

from typing import NamedTuple

from sim.catalog import Model


class Stage(NamedTuple):
    """The part of a model that the GPUs of one stage hold."""

    layers: int
    share: float  # of the model's layers
    is_first: bool  # has the input embedding
    is_last: bool  # has the output head

    @property
    def is_whole(self) -> bool:
        """Whether there is no other stage."""
        return self.is_first and self.is_last


def layers_of_stages(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each stage: as equal as can be, those left over from the last but one stage backwards.

    Source: vLLM, `get_pp_indices`: the last stage has the output head, the first the embedding.
    """
    each, left_over = divmod(layers, stages)
    return tuple(each + (0 < stages - 1 - stage <= left_over) for stage in range(stages))


def stages_of(model: Model, pipeline_parallel_size: int) -> tuple[Stage, ...]:
    """The stages of a model, first to last."""
    last = pipeline_parallel_size - 1
    return tuple(
        Stage(layers, layers / model.layers, stage == 0, stage == last)
        for stage, layers in enumerate(layers_of_stages(model.layers, pipeline_parallel_size))
    )
