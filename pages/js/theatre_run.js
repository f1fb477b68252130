// A recorded run and what holds in each of its steps. Its layout is that of sim/view/theatre.py.

const WAITING = 0, PREEMPTED = 5;
const FIELDS = 5;   // numbers a segment: first and last step, state, tokens after the first, growth

export class Run {
  constructor(play) {
    Object.assign(this, play.steps);
    this.last = this.start.length - 1;
    this.lines = play.lines;
    this.queues = play.queues;
    this.queueOrder = play.queueOrder;
    this.preemptions = play.jumps.preemptions;
    this.stall = play.jumps.stall && {step: play.jumps.stall[0], request: play.jumps.stall[1]};
    this.blocks = play.blocks;
    this.peak = play.blocks - this.free.reduce((least, free) => Math.min(least, free), play.blocks);
    this.blockSize = play.blockSize;
    this.lanes = play.lanes;
    this.states = play.states.map(([label, color, isHatched]) => ({label, color, isHatched}));
    this.owners = play.owners;
    this.requests = play.requests.map(([lane, prompt, output, isStraggler, story, flat]) => ({
      lane, prompt, output, isStraggler, story, segments: segmentsOf(flat),
    }));
  }

  /** What happens in a step. */
  wordsAt(step) {
    const line = lastUpTo(this.lines, step);
    return line ? line[1] : 'nothing is scheduled';
  }

  /** The queue right after a step's call: its entry, or undefined. */
  queueAt(step) { return lastUpTo(this.queues, step); }

  nextPreemption(step) {
    return this.preemptions.find(each => each > step) ?? this.preemptions[0];
  }

  isPreempted(i, step) { return this.segmentAt(i, step)?.state === PREEMPTED; }

  /** Looks of the states that occur. */
  statesSeen() {
    const seen = new Set(this.requests.flatMap(({segments}) => segments.map(({state}) => state)));
    return this.states.filter((_, state) => seen.has(state));
  }

  segmentAt(i, step) {
    const {segments} = this.requests[i];
    const at = firstReaching(segments, step);
    return at < segments.length && segments[at].first <= step ? segments[at] : undefined;
  }

  /** Segments of a request that lie at least partly within two steps, both included. */
  segmentsWithin(i, first, last) {
    const {segments} = this.requests[i];
    const found = [];
    for (let at = firstReaching(segments, first); at < segments.length && segments[at].first <= last; at++)
      found.push(segments[at]);
    return found;
  }

  /** Who holds KV blocks in a step: pairs of request and number of blocks. */
  holders(step) {
    const found = [];
    this.requests.forEach((_, i) => {
      const segment = this.segmentAt(i, step);
      if (!segment || segment.state === WAITING || segment.state === PREEMPTED) return;
      const tokens = segment.computed + segment.growth * (step - segment.first);
      if (tokens) found.push([i, Math.ceil(tokens / this.blockSize)]);
    });
    return found;
  }
}

function segmentsOf(flat) {
  const found = [];
  for (let at = 0; at < flat.length; at += FIELDS) {
    const [first, last, state, computed, growth] = flat.slice(at, at + FIELDS);
    found.push({first, last, state, computed, growth});
  }
  return found;
}

/** Last entry whose first number is at most `step`. */
function lastUpTo(entries, step) {
  let low = 0, high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle][0] <= step) low = middle + 1; else high = middle;
  }
  return entries[low - 1];
}

/** Index of the first segment that ends at `step` or later. */
function firstReaching(segments, step) {
  let low = 0, high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segments[middle].last < step) low = middle + 1; else high = middle;
  }
  return low;
}
