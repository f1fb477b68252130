"""The naive SGLang's requests and batches. Lengths in tokens."""

from collections.abc import Container
from dataclasses import dataclass, field

from sim.engine.sglang.inputs import END_OF_TEXT, SglangRules
from sim.golden.sglang_run import SglangRequests
from tests.naive.sglang_tree import Node
from tests.naive.state import members_of


@dataclass(eq=False)
class Member:
    """One request and everything that changes about it."""

    id: int
    arrival: float  # iteration that sees it, or seconds
    prompt: int
    output: int  # true length
    max_new: int  # largest output, after the clip at arrival
    ends_by_text: bool  # its last token is the end-of-sequence token
    ignore_eos: bool
    text: list[int]  # content ids of prompt and whole true output
    emitted: int = 0
    is_finished: bool = False
    is_retracted: bool = False  # and not yet admitted again
    filled: int = 0  # tokens known when its newest batch was built
    prefix: int = 0  # tokens with KV before the newest prefill
    extend_end: int = 0  # tokens with KV after it
    committed: int = 0  # tokens with KV, those of the step in flight included
    protected: int = 0  # of these, tokens whose KV belongs to the tree
    lock: Node | None = None  # end of the locked path
    middle_chunks: int = 0  # prefills in flight or processed next that end before the prompt does
    # what the timed loop keeps
    is_straggler: bool = False
    is_rejected: bool = False
    high_water: int = 0  # tokens that a retraction has thrown away
    first_cached: int | None = None  # tokens hit at the first admission
    num_preemptions: int = 0
    recomputed: int = 0

    @property
    def is_done(self) -> bool:
        return self.is_finished

    @property
    def known(self) -> int:
        return self.prompt + self.emitted


@dataclass
class Batch:
    """Requests in order. The running batch is one; so is what an iteration runs."""

    members: list[Member] = field(default_factory=list)
    is_full: bool = False  # sticky: no admission is tried
    is_prefill: bool = False  # or mixed
    prefill: list[tuple[Member, int, int]] = field(default_factory=list)  # request, new tokens, tokens before
    decoding: list[Member] = field(default_factory=list)
    chunked: Member | None = None  # whose prompt goes on after this batch
    hit: int = 0

    def drop(self, members: Container[Member | None] = ()) -> int:
        """Leave out these and everybody who has finished; how many left."""
        kept = [member for member in self.members if member not in members and not member.is_finished]
        num_left = len(self.members) - len(kept)
        self.members = kept
        return num_left


def sglang_members(rules: SglangRules, asked: SglangRequests, has_end_token: bool = True) -> list[Member]:
    """Requests in order of arrival, their texts written out token by token.

    `has_end_token`: answers that end by themselves end with one and the same token.
    """
    members = []
    for plain, arrival, ignore_eos in zip(
        members_of(asked.requests), asked.requests.arrival_s, asked.ignore_eos, strict=True
    ):
        ends_by_text = plain.output < plain.cap
        written = [plain.id] * (plain.output - 1) + [END_OF_TEXT if ends_by_text and has_end_token else plain.id]
        members.append(
            Member(
                id=plain.id,
                arrival=float(arrival),
                prompt=plain.prompt,
                output=plain.output,
                max_new=largest_output(rules, plain.prompt, plain.cap),
                ends_by_text=ends_by_text,
                ignore_eos=bool(ignore_eos),
                text=plain.text + written,
                is_straggler=plain.is_straggler,
            )
        )
    return members


def largest_output(rules: SglangRules, prompt: int, asked: int) -> int:
    """Finding 10: what fits an empty pool."""
    longest = min(rules.context_len, rules.pool_tokens) - 1
    pages = -(-prompt // rules.page_size) * rules.page_size
    return max(0, min(asked, longest - prompt - 1, rules.pool_tokens - pages - rules.page_size - 1))
