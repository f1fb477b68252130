"""What SGLang's knobs come to on a deployment: pages, seats, lengths, chunks."""

from typing import TYPE_CHECKING, NamedTuple

from sim.errors import ScenarioError

if TYPE_CHECKING:
    from sim.catalog import Gpu
    from sim.scenario import Scenario
    from sim.sglang_spec import Sglang

FEWEST_SEATS, MOST_SEATS = 2048, 4096
SEATS_A_CONTEXT = 512  # requests for each text of full length that the KV memory holds
KEPT_BY_CONTEXT = 2  # tokens of the context that SGLang never uses


class SglangLimits(NamedTuple):
    """What the knobs come to on a deployment."""

    pages: int
    max_model_len: int  # prompt and output of one request, tokens
    max_running_requests: int
    chunk: int  # longest prefill of a step, tokens


def default_chunk(card: "Gpu") -> int:
    """SGLang's `chunked_prefill_size` by the GPU's memory."""
    for memory_gib, tokens in ((35, 2048), (60, 4096), (160, 8192)):
        if card.usable_memory_gib < memory_gib:
            return tokens
    return 16_384


def chunk_of(knobs: "Sglang", card: "Gpu") -> int:
    """Tokens of a prompt that one step computes; 0: all."""
    if not knobs.cuts_prompts:
        return 0
    return knobs.chunked_prefill_size or default_chunk(card)


def limits_of(scenario: "Scenario", card: "Gpu", kv_tokens: int, context: int) -> SglangLimits:
    """Pages, seats and lengths of an SGLang server.

    Parameters
    ----------
    kv_tokens : int
        What the KV memory holds.
    context : int
        Longest text that the deployment allows.

    Raises
    ------
    ScenarioError
        No request fits, or mixed chunks leave no room for prompts.

    Source: README of the SGLang goldens, findings 10 and 25.
    """
    knobs = scenario.scheduler.sglang
    pages = kv_tokens // knobs.page_size
    pool = pages * knobs.page_size
    longest = min(context - KEPT_BY_CONTEXT, pool - 2 * knobs.page_size)
    if longest < 2:
        raise ScenarioError(
            f"scheduler.sglang.page_size is {knobs.page_size}; the KV memory holds {kv_tokens} tokens and "
            f"max_model_len is {context}: two pages, a prompt and an answer must fit"
        )
    chunk = chunk_of(knobs, card)
    most = chunk - knobs.page_size if knobs.enable_mixed_chunk and chunk else MOST_SEATS
    asked = knobs.max_running_requests or scenario.scheduler.max_num_seqs
    if asked is None:
        usual = min(max(pool * SEATS_A_CONTEXT // context, FEWEST_SEATS), MOST_SEATS)
        seats = max(1, min(usual, pool // 2, most))
    elif knobs.enable_mixed_chunk and chunk and asked > most:
        field = "sglang.max_running_requests" if knobs.max_running_requests else "max_num_seqs"
        raise ScenarioError(
            f"scheduler.{field} is {asked}; with enable_mixed_chunk at most {most} is allowed: "
            f"chunked_prefill_size ({chunk}) less a page"
        )
    else:
        seats = asked
    return SglangLimits(pages, longest, seats, chunk or longest)
