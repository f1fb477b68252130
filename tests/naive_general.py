"""A slow and obvious simulator of the schedulers in schedulers.md, sections 3 and 4: a plain loop over members.

It shares nothing with the general engine but its inputs. Every iteration visits every member; memory is what the
members hold, added up anew each time. The families of schedulers are in `naive_served`, `naive_length_aware`,
`naive_batches` and `naive_ranked`.

Where the page is silent: an iteration that took memory from somebody admits nobody; an empty server does not wait for
a watermark, an admission interval or a future that fits, since nothing that it waits for could come.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sim.engine.inputs import Predictions, Refinement, Requests, StepTime
from sim.scheduler_spec import Scheduler as Knobs
from tests.naive import linear_time
from tests.naive_arrivals import Arrivals
from tests.naive_state import members_of


class Case(NamedTuple):
    """What a scheduler and its server are, in the words of schedulers.md; tokens, blocks and seconds."""

    system: str
    knobs: Knobs
    requests: Requests
    predictions: Predictions
    step_time: StepTime
    block: int
    capacity: int  # blocks
    seats: int  # max_num_seqs
    budget: int  # max_num_batched_tokens
    max_model_len: int
    watermark: float  # share of the blocks
    host_blocks: int
    swap_block_s: float
    quantile: float
    seed: int
    client: list[int]  # task type of each request, which stands for the client
    shares: list[float]  # of the task types
    predict_delay_s: float = 0.0
    predict_step_s: float = 0.0
    timeout_s: float = math.inf
    refinement: Refinement | None = None
    posterior: object = None


@dataclass(eq=False)
class Member:
    """One request and everything that changes about it. Lengths in tokens."""

    id: int
    arrival: float
    prompt: int
    output: int  # no scheduler looks at it, but those that are said to know the truth
    cap: int
    is_straggler: bool
    generated: int = 0  # output tokens that it has now
    delivered: int = 0  # output tokens that its user has: more than `generated` after a restart
    computed: int = 0  # tokens with KV on the GPU
    host: int = 0  # tokens with KV in host memory
    high_water: int = 0  # tokens that were computed at least once
    reserved: int = 0  # blocks set aside
    in_prompt: bool = False  # some of its known text was not computed since it was admitted
    output_slots: int | None = None  # what its next admission reserves, or believes, in place of the prediction
    status: str = "unfinished"
    first_scheduled: float = math.nan
    times: list[float] = field(default_factory=list)  # of its tokens
    stopped: float | None = None  # since when it waits to be served again
    pause: float = 0.0
    num_preemptions: int = 0
    recomputed: int = 0
    memory_token_s: float = 0.0

    @property
    def known(self) -> int:
        return self.prompt + self.generated

    @property
    def left(self) -> int:
        """Known tokens without KV."""
        return self.known - self.computed - self.host


class Chunk(NamedTuple):
    """What one member computes in one iteration."""

    member: Member
    tokens: int
    before: int

    @property
    def is_decode(self) -> bool:
        """One token, the newest of the answer; everything else is prefill."""
        return self.tokens == 1 and self.before == self.member.known - 1 >= self.member.prompt


class Row(NamedTuple):
    """One iteration: a row of the step table."""

    start: float
    end: float
    scheduled: list[tuple[int, int, int]]  # request, tokens, computed before
    preempted: list[tuple[int, int]]  # request, tokens that left the GPU
    running: int
    waiting: int
    free_scheduled: int
    finished: list[int]
    free_end: int


class Moment(NamedTuple):
    """What holds between two instants, right after scheduling; while nothing runs there are no chunks."""

    start: float
    end: float
    chunks: list[Chunk]
    preempted: list[tuple[int, int]]
    swap_s: float
    predictor_s: float
    is_iteration: bool = True  # else nothing could run


class Observer(Protocol):
    """Told of every stretch of time before its outputs are applied."""

    def __call__(self, moment: Moment, scheduler: "Scheduler") -> None: ...


class Scheduler:
    """Queue, running members and memory; a family of schedulers says who joins and who gives way."""

    def __init__(self, case: Case, members: list[Member]) -> None:
        self.case = case
        self.members = members
        self.waiting: list[Member] = []
        self.running: list[Member] = []  # in order of admission
        self.now = 0.0
        self.step = 0  # iterations so far
        self.out_of_memory = 0
        self.seats = case.seats
        self.delivers_batches = False
        self.start_iteration()

    # what a family may say

    def can_run(self, member: Member) -> bool:
        """Whether the request is not refused outright."""
        return member.prompt < self.case.max_model_len

    def join(self, member: Member) -> None:
        self.waiting.append(member)

    def start_time(self, next_arrival: float) -> float:
        """When the next iteration may begin."""
        return self.now if self.running or self.waiting else next_arrival

    def schedule(self) -> None:
        """Serve, admit, preempt."""
        raise NotImplementedError

    def note_token(self, member: Member) -> None:
        """A token came out."""

    def is_cut(self, member: Member) -> bool:
        """Whether its batch has just cut the request."""
        return False

    def end(self, member: Member) -> None:
        """The request has its last token."""
        self.seats = self.case.seats
        self.running.remove(member)
        member.computed = member.reserved = 0

    def end_iteration(self) -> None:
        """All outputs are applied."""

    def padding(self) -> list[Chunk]:
        """Finished members of a held batch, computed all the same."""
        return []

    # primitives

    def start_iteration(self) -> None:
        self.chunks: list[Chunk] = []
        self.preempted: list[tuple[int, int]] = []
        self.moved = 0  # blocks between GPU and host
        self.was_open = True  # whether this iteration may admit, as far as the interval goes
        self.handed_over: list[Member] = []  # whose answers come with the end of their batch

    def blocks(self, tokens: int) -> int:
        return -(-tokens // self.case.block)

    def holding(self) -> list[Member]:
        """Everybody with memory of the GPU."""
        return self.running

    def decoding(self) -> list[Member]:
        """Members that take a token in this iteration if they find room."""
        return [member for member in self.running if not member.in_prompt]

    def held(self, member: Member) -> int:
        return max(member.reserved, self.blocks(member.computed))

    def free(self) -> int:
        return self.case.capacity - sum(self.held(member) for member in self.holding())

    def free_host(self) -> int:
        return self.case.host_blocks - sum(self.blocks(member.host) for member in self.members)

    def watermark(self) -> int:
        """Blocks that admission leaves free."""
        return int(self.case.watermark * self.case.capacity) if self.running else 0

    def is_ready(self, member: Member) -> bool:
        """Whether its prediction is there."""
        return member.arrival + self.case.predict_delay_s <= self.now

    def is_open(self) -> bool:
        """Whether this iteration may admit; to be asked before anybody is served."""
        self.was_open = self.step % self.case.knobs.admission_interval_steps == 0 or not self.running
        return not self.preempted and self.was_open

    def growth(self, member: Member, tokens: int) -> int:
        """Blocks that so many more tokens take from the pool."""
        return max(self.blocks(member.computed + tokens), self.held(member)) - self.held(member)

    def serve(self, member: Member, tokens: int) -> None:
        """Let the member compute tokens; its blocks are there."""
        if tokens == 0:
            return
        chunk = Chunk(member, tokens, member.computed)
        member.recomputed += max(0, min(member.high_water, member.computed + tokens) - member.computed)
        member.computed += tokens
        member.high_water = max(member.high_water, member.computed)
        self.chunks.append(chunk)

    def admit(self, member: Member, reserved: int = 0) -> None:
        """Give the request a seat and its reservation; KV in host memory comes back."""
        self.waiting.remove(member)
        self.running.append(member)
        member.reserved = reserved
        self.moved += self.blocks(member.host)
        member.computed, member.host = member.host, 0
        member.in_prompt = True
        self.note_service(member)

    def note_service(self, member: Member) -> None:
        """The member is served from now on."""
        if math.isnan(member.first_scheduled):
            member.first_scheduled = self.now
        if member.stopped is not None:
            member.pause += self.now - member.stopped
            member.stopped = None

    def preempt(self, member: Member, how: str | None = None) -> None:
        """The member loses its seat and its memory."""
        how = how or self.case.knobs.choices.eviction
        self.preempted.append((member.id, member.computed))
        self.take_from(member)
        if how == "swap" and self.blocks(member.computed) <= self.free_host():
            member.host = member.computed
            self.moved += self.blocks(member.host)
        if how in ("restart", "fail"):
            member.generated = 0
        member.computed = member.reserved = 0
        member.num_preemptions += 1
        if member.stopped is None:
            member.stopped = self.now
        self.waiting.append(member)

    def take_from(self, member: Member) -> None:
        self.running.remove(member)

    def give_up_all(self) -> None:
        """Out of memory: the whole batch dies. Half as many start again, or it would die the same way for ever."""
        self.out_of_memory += 1
        self.seats = max(len(self.running) // 2, 1)
        for member in list(reversed(self.running)):  # the first admitted is first in the queue again
            self.preempt(member)

    def drop(self, member: Member) -> None:
        """The client went away; where answers come with the end of a batch, perhaps from one that is whole."""
        if member in self.waiting:
            self.waiting.remove(member)
        if member in self.running:
            self.running.remove(member)
        member.computed = member.reserved = member.host = 0


@dataclass(frozen=True)
class NaiveRun:
    """Rows in order, the requests in their final state."""

    rows: list[Row]
    members: list[Member]
    duration: float
    scheduler: Scheduler


def simulate(
    case: Case, family: type[Scheduler], *, observe: Observer | None = None, max_steps: float = math.inf
) -> NaiveRun:
    """Run all requests of a case through a family of schedulers."""
    asked = members_of(case.requests)
    arrivals = Arrivals(case.requests, asked)
    members = [Member(each.id, each.arrival, each.prompt, each.output, each.cap, each.is_straggler) for each in asked]
    scheduler = family(case, members)
    rows: list[Row] = []
    newcomers = 0  # whose prediction lengthens the next iteration
    now = 0.0
    while scheduler.step < max_steps:
        scheduler.now = now
        _time_out(scheduler, arrivals)
        while arrivals.next_time() <= now:  # who is refused may ask again at once
            newcomers += _take(scheduler, arrivals)
        start = scheduler.start_time(arrivals.next_time())
        if start == math.inf:
            break
        if start > now:
            ends = [each.arrival + case.timeout_s for each in scheduler.waiting]
            start = max(now, min([start, *ends]))  # patience may have ended while an iteration ran
            _observe(Moment(now, start, [], [], 0.0, 0.0, is_iteration=False), scheduler, observe)
            now = start
            continue
        scheduler.start_iteration()
        scheduler.schedule()
        now, row = _pass(scheduler, newcomers, arrivals, observe)
        newcomers = 0
        if row.scheduled or row.preempted:
            rows.append(row)
        elif row.end == row.start:
            break  # nothing can ever move
    return NaiveRun(rows, members, now, scheduler)


def _take(scheduler: Scheduler, arrivals: Arrivals) -> int:
    """Everybody who has come by now joins or is rejected; how many joined."""
    joined = 0
    for each in arrivals.take(scheduler.now):
        member = scheduler.members[each.id]
        member.arrival = each.arrival
        if scheduler.can_run(member):
            scheduler.join(member)
            joined += 1
        else:
            member.status = "rejected"
            arrivals.answered(scheduler.now)
    return joined


def _time_out(scheduler: Scheduler, arrivals: Arrivals) -> None:
    """Clients whose patience is over go away, all at once: first those whose answers a batch holds for the others."""
    late = [member for member in scheduler.members if member.arrival + scheduler.case.timeout_s <= scheduler.now]
    held = {chunk.member for chunk in scheduler.padding()}
    late.sort(key=lambda member: member not in held)
    for member in late + late:  # whom the end of a batch sends back to the queue is only then found there
        done = {chunk.member for chunk in scheduler.padding()}  # which go when their batch ends
        is_here = member in scheduler.waiting or (member in scheduler.holding() and member.status == "unfinished")
        if is_here and member not in done:
            scheduler.drop(member)
            member.status = "aborted"
            arrivals.answered(scheduler.now)
        elif scheduler.delivers_batches and member in done and member.status == "finished":
            member.status = "aborted"  # nobody waits for its answer any more
            arrivals.answered(scheduler.now)
    _hand_over(scheduler, arrivals)  # by a batch that waited for somebody who has gone


def _hand_over(scheduler: Scheduler, arrivals: Arrivals) -> None:
    """Answers of a batch that has ended reach their users."""
    for _ in scheduler.handed_over:
        arrivals.answered(scheduler.now)
    scheduler.handed_over = []


def _pass(scheduler: Scheduler, newcomers: int, arrivals: Arrivals, observe: Observer | None) -> tuple[float, Row]:
    """The iteration takes its time, and its outputs come."""
    case, start = scheduler.case, scheduler.now
    chunks = scheduler.chunks
    swap_s, predictor_s = scheduler.moved * case.swap_block_s, newcomers * case.predict_step_s
    extra = swap_s + predictor_s
    held = scheduler.padding() if chunks else []
    end = start + (duration_of(chunks, held, case.step_time) + extra if chunks else extra)
    _observe(Moment(start, end, chunks, scheduler.preempted, swap_s, predictor_s), scheduler, observe)
    counts = (len(scheduler.running), len(scheduler.waiting), scheduler.free())
    scheduler.step += 1
    finished: list[int] = []
    for chunk in chunks:
        member = chunk.member
        if member.computed == member.known:
            member.generated += 1
            member.in_prompt = False
            scheduler.note_token(member)
            if member.generated > member.delivered:
                member.delivered = member.generated
                if not scheduler.delivers_batches:
                    member.times.append(end)
    scheduler.now = end
    for chunk in sorted(chunks, key=lambda chunk: chunk.member.id):
        member = chunk.member
        if scheduler.is_cut(member):
            finished.append(member.id)
        elif member.generated == member.output and member.status == "unfinished":
            member.status = "finished"
            finished.append(member.id)
            scheduler.end(member)
            if not scheduler.delivers_batches:
                arrivals.answered(end)
    scheduler.end_iteration()
    _hand_over(scheduler, arrivals)
    scheduled = [(chunk.member.id, chunk.tokens, chunk.before) for chunk in chunks]
    return end, Row(start, end, scheduled, list(scheduler.preempted), *counts, finished, scheduler.free())


def duration_of(chunks: list[Chunk], held: list[Chunk], step_time: StepTime) -> float:
    """`linear_s[tokens] + kv_s * KV read + attention_s * prefill work`.

    A decode reads all of its KV, its own token included, a held member that is done what it has; a prefill chunk of q
    tokens after c reads c and works q * c + q * q / 2.
    """
    kv_read, work = sum(chunk.before for chunk in held), 0.0
    for chunk in chunks:
        if chunk.is_decode:
            kv_read += chunk.before + 1
        else:
            kv_read += chunk.before
            work += chunk.tokens * chunk.before + chunk.tokens * chunk.tokens / 2
    linear = linear_time(sum(chunk.tokens for chunk in chunks) + len(held), step_time)
    return linear + step_time.kv_s * kv_read + step_time.attention_s * work


def _observe(moment: Moment, scheduler: Scheduler, observe: Observer | None) -> None:
    held = {chunk.member for chunk in scheduler.padding()}
    for member in [each for each in scheduler.holding() if each not in held]:
        member.memory_token_s += member.computed * (moment.end - moment.start)
    if observe is not None:
        observe(moment, scheduler)
