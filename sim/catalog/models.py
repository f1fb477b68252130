"""Models: shapes, parameters, KV size, context."""

from functools import lru_cache
from typing import NamedTuple

from sim.catalog.table import rows, unknown


class Model(NamedTuple):
    """One row of models.csv. Parameter counts are plain numbers, not billions."""

    name: str
    hf_id: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    num_experts: int  # 0: dense
    experts_per_token: int
    moe_intermediate: int
    shared_experts: int
    first_dense_layers: int
    moe_layer_freq: int  # one layer in so many has experts, after the dense ones
    kv_lora_rank: int  # more than 0: multi-head latent attention (MLA)
    q_lora_rank: int
    qk_rope_dim: int
    qk_nope_dim: int
    v_head_dim: int
    sliding_window: int  # 0: none
    full_attn_every: int
    gated_mlp: bool
    tie_embeddings: bool
    dtype: str  # of the published weights
    max_context: int
    params: float
    active_params: float
    matmul_params: float  # without the input embedding
    active_matmul_params: float
    kv_elements_per_token: float  # over all layers and heads
    source: str

    @property
    def is_moe(self) -> bool:
        """Mixture of experts."""
        return self.num_experts > 0

    @property
    def is_mla(self) -> bool:
        """Multi-head latent attention: one compressed KV vector a token, the same on every GPU."""
        return self.kv_lora_rank > 0


COUNTS = ("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocab", "moe_intermediate",
          "shared_experts", "first_dense_layers", "moe_layer_freq", "kv_lora_rank", "q_lora_rank", "qk_rope_dim",
          "qk_nope_dim", "v_head_dim", "sliding_window", "full_attn_every", "max_context")  # fmt: skip


@lru_cache
def _models() -> dict[str, Model]:
    return {row["model"]: _model(row) for row in rows("models")}


def _model(row: dict[str, str]) -> Model:
    counts = {name: int(row[name]) for name in COUNTS}
    return Model(
        **counts,
        name=row["model"],
        hf_id=row["hf_id"],
        num_experts=int(row["n_experts"]),
        experts_per_token=int(row["experts_per_tok"]),
        gated_mlp=row["gated_mlp"] == "1",
        tie_embeddings=row["tie_embeddings"] == "1",
        dtype=row["dtype"],
        params=float(row["params_b"]) * 1e9,
        active_params=float(row["active_params_b"]) * 1e9,
        matmul_params=float(row["matmul_params_b"]) * 1e9,
        active_matmul_params=float(row["active_matmul_params_b"]) * 1e9,
        kv_elements_per_token=float(row["kv_bytes_per_token_16bit"]) / 2,
        source=row["source"],
    )


def model_names() -> tuple[str, ...]:
    """All models of the catalogue, in its order."""
    return tuple(_models())


def model(name: str) -> Model:
    """The model of that name.

    Raises
    ------
    ScenarioError
        No such model; the sentence lists the closest names.
    """
    if name not in _models():
        raise unknown("model", name, _models())
    return _models()[name]
