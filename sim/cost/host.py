"""The serving engine's own time in each step, besides the GPU's. Source: cost.md."""

HOST_MS = {
    "vllm": 1.0,  # V1
    "sglang": 0.5,  # 2025 and later; before that up to 5
    "trtllm": 0.0,  # hidden behind the GPU
    "tensorrt": 0.0,
}


def host_ms_of(system: str) -> float:
    """Host time of a step under a scheduler, by the engine that the scheduler's name begins with.

    Policies that are no product's, such as static batching, are taken to run in vLLM.
    """
    return next((ms for engine, ms in HOST_MS.items() if system.startswith(engine)), HOST_MS["vllm"])
