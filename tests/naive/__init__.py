"""The oracles of the engine's tests: every scheduler once more, slow and obvious, as plain loops over members.

With the engine they share the types of their inputs and nothing else. `synchronous` and `asynchronous` are vLLM V1's
loops, whose rules stand in `vllm`; `static` is static batching. `general_loop` runs all combinations of choices, the
families of schedulers in `served`, `length_aware`, `batches` and `ranked`. `pipeline` and `stages` are both over
several stages. `sglang` is SGLang's.
"""
