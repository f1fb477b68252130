"""What both families of the naive simulator share: one request, one chunk of work, the outcome of a call."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sim.engine.inputs import Requests, Rules


@dataclass(eq=False)
class Member:
    """One request and everything that changes about it. Lengths in tokens."""

    id: int
    arrival: float  # NaN: not known yet (closed loop)
    prompt: int
    output: int  # tokens it will produce; no scheduler looks ahead at it
    cap: int  # largest output a scheduler must expect
    priority: int
    is_straggler: bool
    text: list[int]  # content id of every prompt token; that of each output token is `id`
    computed: int = 0  # tokens with KV
    emitted: int = 0
    high_water: int = 0  # tokens computed at least once
    is_rejected: bool = False
    ahead: int = 0  # tokens being sampled by steps whose outputs are not applied
    in_flight: int = 0  # tokens scheduled by such steps
    has_sampled: bool = False  # a token since its last admission, and was served in every call after
    is_decoding: bool = False  # the same before the newest call that served it
    blocks: list[int] = field(default_factory=list)  # block ids in the order of the text
    first_cached: int | None = None  # tokens hit at the first admission
    num_preemptions: int = 0
    recomputed: int = 0

    @property
    def known(self) -> int:
        return self.prompt + self.emitted

    @property
    def is_done(self) -> bool:
        return self.emitted >= self.output

    def tokens(self, start: int, stop: int) -> tuple[int, ...]:
        """Content ids of a stretch of the known text."""
        written = max(0, stop - max(start, self.prompt))
        return (*self.text[start:stop], *[self.id] * written)


class Chunk(NamedTuple):
    """What one member gets in one call."""

    id: int
    tokens: int
    before: int  # computed tokens before the call
    blocks: int  # held after the call, shared ones included


@dataclass
class Applied:
    """What the outputs of one call bring."""

    delivered: list[int] = field(default_factory=list)  # a request's id once for each token that reaches its user
    finished: list[int] = field(default_factory=list)  # who produced the last token
    answered: list[int] = field(default_factory=list)  # who has the whole answer: as above, or a whole static batch
    late: list[int] = field(default_factory=list)  # whose token was delivered although they had been preempted
    dropped: list[int] = field(default_factory=list)  # whose token was thrown away: they had ended before


class Scheduler(Protocol):
    """What the loop and the ledgers need from a family of rules."""

    rules: Rules
    members: list[Member]
    waiting: list[Member]  # in the order of service
    running: list[Member]

    def can_run(self, member: Member) -> bool:
        """Whether the request is not refused outright."""

    def join(self, member: Member) -> None:
        """Take in an arrival."""

    def start_time(self, now: float, next_arrival: float) -> float:
        """When the next call is made unless somebody arrives before; infinite if there is nobody to serve."""

    def schedule(self) -> tuple[list[Chunk], list[tuple[int, int]]]:
        """Who gets how much, and who lost how many computed tokens."""

    def apply(self, chunks: list[Chunk]) -> Applied:
        """Take the outputs of a call."""

    def num_free(self) -> int:
        """Blocks an admission could take."""


def members_of(requests: Requests) -> list[Member]:
    """One member a request, its segments written out token by token."""
    return [
        Member(
            id=i,
            arrival=float("nan") if requests.users else float(requests.arrival_s[i] - requests.arrival_s[0]),
            prompt=int(requests.prompt_len[i]),
            output=int(requests.output_len[i]),
            cap=int(requests.cap[i]),
            priority=int(requests.priority[i]),
            is_straggler=bool(requests.is_straggler[i]),
            text=_text(requests, i),
        )
        for i in range(len(requests.arrival_s))
    ]


def _text(requests: Requests, i: int) -> list[int]:
    text: list[int] = []
    for segment in range(requests.segment_start[i], requests.segment_start[i + 1]):
        text += [int(requests.segment_content[segment])] * int(requests.segment_len[segment])
    prompt_len = int(requests.prompt_len[i])
    return text[:prompt_len] + [i] * (prompt_len - len(text))
