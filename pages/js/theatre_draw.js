// The pictures of the player, drawn on canvases: what a state looks like, slots over time, KV blocks by owner.

const FONT = '11px "Source Sans", sans-serif';
const LEAST_LABEL_PX = 9;     // lanes lower than this carry no number
const FUTURE = {light: 0.28, dark: 0.45};   // opacity of what has not happened yet
const AXIS_PX = 18;
const BLOCK_ROWS = 14;

/** Colours of the page's theme. */
export function inksOf(host) {
  const css = getComputedStyle(host);
  const of = name => css.getPropertyValue(name).trim();
  return {text: of('--st-text-color'), line: of('--st-border-color'), paper: of('--st-background-color'),
          scheme: css.colorScheme};
}

/** A name beside each state's look. */
export function legend(element, states) {
  element.replaceChildren(...states.map(({label, color, isHatched}) => {
    const item = document.createElement('span');
    const swatch = document.createElement('i');
    swatch.style.background = isHatched
      ? `repeating-linear-gradient(135deg, ${color} 0 2px, transparent 2px 4px)` : color;
    swatch.style.borderColor = color;
    item.append(swatch, label);
    return item;
  }));
}

/** Lanes of requests against time; the present step is framed, what comes after it is faint. */
export function drawSlots(canvas, run, step, span, seen, inks) {
  const {pen, width, height} = clean(canvas);
  const [first, last] = around(step, span, run.last);
  const begin = run.start[first], scale = width / Math.max(run.end[last] - begin, 1e-9);
  const x = ms => (ms - begin) * scale;
  const lane = (height - AXIS_PX) / Math.max(run.lanes, 1);
  const gap = lane >= 4 ? 1 : 0;
  const future = FUTURE[inks.scheme] ?? FUTURE.light;
  run.requests.forEach((request, i) => {
    for (const segment of run.segmentsWithin(i, first, last)) {
      const from = Math.max(segment.first, first), to = Math.min(segment.last, last);
      bar(pen, run, segment.state, x(run.start[from]), x(run.end[Math.min(to, step)]), request.lane * lane, lane - gap,
          from <= step ? 1 : 0);
      if (to > step) {
        const left = x(run.start[Math.max(from, step + 1)]);
        bar(pen, run, segment.state, left, x(run.end[to]), request.lane * lane, lane - gap, future);
      }
    }
  });
  marks(pen, run, step, x, lane, seen, inks, width, height);
  canvas.requestAt = (px, py) => {
    const wanted = Math.floor(py / lane), time = px / scale + begin;
    return run.requests.findIndex((request, i) => request.lane === wanted
      && run.segmentsWithin(i, first, last).some(s => run.start[s.first] <= time && time <= run.end[s.last]));
  };
}

function marks(pen, run, step, x, lane, seen, inks, width, height) {
  const left = x(run.start[step]), right = x(run.end[step]);
  pen.globalAlpha = 1;
  pen.font = FONT;
  pen.fillStyle = pen.strokeStyle = inks.text;
  pen.lineWidth = 1.5;
  pen.strokeRect(left, 0.75, Math.max(right - left, 2), height - AXIS_PX - 1.5);
  const text = `${(run.start[step] / 1000).toFixed(2)} s`;
  pen.fillText(text, Math.min(left, width - pen.measureText(text).width - 2), height - 5);
  run.requests.forEach((request, i) => {
    if (!run.segmentAt(i, step)) return;
    const top = request.lane * lane;
    if (i === seen) { pen.lineWidth = 2; pen.strokeRect(1, top, width - 2, Math.max(lane - 1, 3)); }
    if (lane >= LEAST_LABEL_PX || i === seen) label(pen, String(i), Math.max(right, left + 2) + 3, top + lane / 2, inks);
  });
}

/** Blocks the run ever uses, row by row: each owner's side by side in its colour, with its number; the rest is free. */
export function drawBlocks(canvas, run, step, seen, inks) {
  const {pen, width, height} = clean(canvas);
  const row = height / BLOCK_ROWS, perRow = Math.max(run.peak, 1) / BLOCK_ROWS;
  const used = run.blocks - run.free[step];
  const holders = run.holders(step);
  const sum = holders.reduce((total, [, blocks]) => total + blocks, 0);
  const share = sum > used ? used / sum : 1;   // blocks that several share are there once
  const places = [];
  let at = 0;
  for (const [i, blocks] of holders) {
    const rects = ribbon(at, at + blocks * share, perRow, width, row);
    rects.forEach(rect => fillOwner(pen, run, i, rect, i === seen, inks));
    places.push([at, at + blocks * share, i]);
    at += blocks * share;
  }
  if (used - at > 0.5)   // set aside, and nothing in it yet
    for (const [left, top, w, h] of ribbon(at, used, perRow, width, row)) {
      pen.fillStyle = hatch(pen, inks.text);
      pen.globalAlpha = 0.5;
      pen.fillRect(left, top, w, h);
      pen.globalAlpha = 1;
    }
  pen.strokeStyle = inks.line;
  pen.lineWidth = 1;
  for (let i = 0; i <= BLOCK_ROWS; i++) {
    const y = Math.min(Math.max(i * row, 0.5), height - 0.5);
    pen.beginPath(); pen.moveTo(0, y); pen.lineTo(width, y); pen.stroke();
  }
  pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  canvas.requestAt = (px, py) => {
    const block = (Math.floor(py / row) + px / width) * perRow;
    return places.find(([from, to]) => from <= block && block < to)?.[2] ?? -1;
  };
}

function fillOwner(pen, run, i, [left, top, w, h], isSeen, inks) {
  pen.fillStyle = run.owners[i % run.owners.length];
  pen.fillRect(left, top, w, h);
  if (run.requests[i].isStraggler) { pen.fillStyle = hatch(pen, '#000'); pen.fillRect(left, top, w, h); }
  pen.strokeStyle = isSeen ? inks.text : inks.paper;
  pen.lineWidth = isSeen ? 2.5 : 1;
  pen.strokeRect(left + 0.5, top + 0.5, Math.max(w - 1, 0.5), h - 1);
  pen.font = FONT;
  const text = String(i);
  if (w > pen.measureText(text).width + 6) label(pen, text, left + 3, top + h / 2, inks);
}

/** Rectangles, row by row, of a range of blocks. */
function ribbon(from, to, perRow, width, row) {
  const rects = [];
  for (let i = Math.floor(from / perRow); i * perRow < to; i++) {
    const left = Math.max(from - i * perRow, 0) / perRow * width;
    const right = Math.min(to - i * perRow, perRow) / perRow * width;
    if (right > left) rects.push([left, i * row + 1, right - left, row - 2]);
  }
  return rects;
}

function bar(pen, run, state, left, right, top, height, alpha) {
  if (!alpha || right < left) return;
  const {color, isHatched} = run.states[state];
  pen.globalAlpha = alpha;
  pen.fillStyle = isHatched && height >= 3 ? hatch(pen, color) : color;
  if (isHatched && height < 3) pen.globalAlpha = alpha * 0.45;
  pen.fillRect(left, top, Math.max(right - left, 0.7), Math.max(height, 1));
}

/** A number on a plate of the page's own colour, so that it can be read on any colour below it. */
function label(pen, text, left, middle, inks) {
  const width = pen.measureText(text).width;
  pen.fillStyle = inks.paper;
  pen.fillRect(left - 1, middle - 5.5, width + 2, 11);
  pen.fillStyle = inks.text;
  pen.fillText(text, left, middle + 4);
}

const hatches = new Map();

function hatch(pen, color) {
  if (!hatches.has(color)) {
    const tile = Object.assign(document.createElement('canvas'), {width: 5, height: 5});
    const ink = tile.getContext('2d');
    ink.strokeStyle = color;
    ink.lineWidth = 1.6;
    ink.beginPath();
    for (const shift of [-5, 0, 5]) { ink.moveTo(shift, 5); ink.lineTo(shift + 5, 0); }
    ink.stroke();
    hatches.set(color, pen.createPattern(tile, 'repeat'));
  }
  return hatches.get(color);
}

/** First and last step shown around the present one. */
function around(step, span, last) {
  if (!span || span > last) return [0, last];
  const first = Math.min(Math.max(step - Math.round(span * 0.6), 0), last - span);
  return [first, first + span];
}

/** An empty canvas at the screen's own resolution. */
function clean(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, dots = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * dots)) canvas.width = Math.round(width * dots);
  if (canvas.height !== Math.round(height * dots)) canvas.height = Math.round(height * dots);
  const pen = canvas.getContext('2d');
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.globalAlpha = 1;
  pen.clearRect(0, 0, width, height);
  return {pen, width, height};
}
