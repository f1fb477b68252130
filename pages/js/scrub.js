// Dragging a knob replays curves that were computed ahead: no round trip, and only the paths of the lines move.
//
// The slider stays Streamlit's own. While it moves, positions that have come through the feed are drawn on a stage:
// each chart once with axes that hold them all. When the page's next run arrives, or the knob is let go where it was,
// the charts show their own figures again. A position that has not come leaves the curves where they are.

import {follow} from './feed.js';
import {pathOf, stackOf, values} from './paths.js';
import {plotly, redraw, restage} from './live_plot.js';

const HOVER_MS = 120;   // a pointer that only passes wants nothing
const REST_MS = 1000;   // nor do keys in quick succession: what is computed ahead would delay each of them

let given = null;   // what the page says: {feed, plotly, charts}
let knob = null;    // whose positions are here or on their way
let stop = null;
let stages = {};    // by chart: figure with all lines and fixed axes
let positions = new Map();   // by text of the slider: {charts, tiles, verdict}
let staged = new Set();   // charts on stage
let isStaging = false;
let home = null;    // text of the slider before it moved
let wanted = null;  // position to be drawn in the next frame
let isDragged = false;
let asking = 0;     // timer

/** Take over what a new run of the page says. */
export function mount({data}) {
  const isFirst = given === null;
  given = data;
  if (isFirst) listen();
  settle();
  soon(isDragged ? HOVER_MS : REST_MS, knob);
}

function listen() {
  new MutationObserver(records => {
    for (const {target, oldValue} of records) moved(target, oldValue);
  }).observe(document.body, {subtree: true, attributeFilter: ['aria-valuetext'], attributeOldValue: true});
  document.addEventListener('focusin', event => soon(REST_MS, knobOf(event.target)));
  document.addEventListener('keydown', event => soon(REST_MS, knobOf(event.target)), true);
  document.addEventListener('pointerover', event => soon(HOVER_MS, knobOf(event.target)));
  document.addEventListener('pointerdown', event => {
    isDragged = true;
    soon(HOVER_MS, knobOf(event.target));
  }, true);
  for (const end of ['pointerup', 'pointercancel'])
    document.addEventListener(end, () => {
      isDragged = false;
      soon(REST_MS, knob);
    }, true);
  for (const end of ['pointerup', 'keyup', 'pointercancel'])
    document.addEventListener(end, () => setTimeout(() => { if (wanted === null || wanted === home) settle(); }));
}

/** Key of the knob an element belongs to; undefined where it is no slider. */
function knobOf(element) {
  const slider = element.closest?.('[data-testid="stSidebar"] [data-testid="stSlider"]');
  return slider?.closest('[class*="st-key-"]').className.match(/st-key-(\S+)/)[1];
}

/** Ask for the positions around a knob after a while in which nothing else happens. */
function soon(wait, name) {
  clearTimeout(asking);
  if (name) asking = setTimeout(ask, wait, name);
}

/** Have the server compute the positions around a knob, unless they are here. */
function ask(name) {
  if (!given || (name === knob && stop?.signal.feed === given.feed)) return;
  stop?.abort();
  stop = new AbortController();
  stop.signal.feed = given.feed;
  if (name !== knob) positions = new Map();
  knob = name;
  const url = `${given.feed}?of=${encodeURIComponent(name)}`;
  follow(url, stop.signal, answer => {
    if (!staged.size) stages = parsed(answer.stages);
    for (const [text, position] of Object.entries(answer.positions))
      positions.set(text, {...position, charts: parsed(position.charts)});
    if (wanted !== null && isDragged) requestAnimationFrame(show);
  });
}

/** Texts of the slider at which the curves can be shown at once. */
export function texts() {
  return [...positions.keys()];
}

function parsed(specs) {
  return Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, JSON.parse(spec)]));
}

function moved(input, before) {
  if (!given || knobOf(input) !== knob || (document.activeElement !== input && !input.matches(':active'))) return;
  const isStep = home === null && !isDragged;   // a single key: the page itself is as quick
  home ??= before;
  const isWaiting = wanted !== null;
  wanted = input.getAttribute('aria-valuetext');
  if (!isStep && (!isWaiting || !isStaging)) requestAnimationFrame(show);
}

/** Draw the position that is wanted now. */
async function show() {
  const position = positions.get(wanted);
  if (!position || isStaging) return;
  const missing = Object.keys(stages).filter(name => !staged.has(name) && hostOf(name)?.data);
  if (missing.length) {
    isStaging = true;
    try {
      const lib = await plotly(given.plotly);
      await Promise.all(missing.map(name => restage(lib, hostOf(name), structuredClone(stages[name]))));
      missing.forEach(name => staged.add(name));
    } finally { isStaging = false; }
    if (wanted !== null) requestAnimationFrame(show);
    return;
  }
  for (const name of staged) place(hostOf(name), position.charts[name]);
  tell(position);
}

function hostOf(name) {
  return document.querySelector(`.st-key-plot_${name} .live-plot`);
}

/** Move every line, marker, shape and note of a chart to where a figure has it. */
export function place(host, figure) {
  const layout = host._fullLayout, bases = new Map();
  const wantedTraces = new Map(figure.data.map(trace => [trace.uid, trace]));
  for (const [calc] of host.calcdata) {
    const trace = wantedTraces.get(calc.trace.uid);
    const xaxis = layout[axisName(calc.trace.xaxis, 'x')], yaxis = layout[axisName(calc.trace.yaxis, 'y')];
    const x = trace ? values(trace.x).map(v => xaxis.c2p(v)) : [];
    let y = trace ? values(trace.y) : [];
    let base = null;
    if (calc.trace.stackgroup) [base, y] = stackOf(bases, calc.trace.stackgroup, y);
    const top = y.map(v => yaxis.c2p(v));
    const group = calc.node3?.node();
    if (!group) continue;
    const [line, ...more] = group.querySelectorAll('.js-line');
    line?.setAttribute('d', pathOf(x, top));
    more.forEach(each => each.setAttribute('d', ''));
    if (base) fillOf(host, calc.trace)?.setAttribute('d', pathOf(x, top, base.map(v => yaxis.c2p(v))));
    placeMarkers(group, x, top);
  }
  (figure.layout.shapes ?? []).forEach((shape, i) => placeShape(host, shape, i));
  const notes = figure.layout.annotations ?? [];
  host.querySelectorAll('.annotation').forEach(each => {
    const note = notes[each.dataset.index];
    each.style.opacity = note ? 1 : 0;
    if (note) each.querySelector('text').textContent = note.text;
  });
}

const axisName = (id, letter) => letter + 'axis' + (id ?? letter).slice(1);

/** Plotly draws the area of a stacked line either with the line itself or with the one below. */
function fillOf(host, trace) {
  const below = host._fullData.find(each => each._nexttrace === trace);
  return (trace._ownFill ?? below?._nextFill)?.node();
}

function placeMarkers(group, x, y) {
  group.querySelectorAll('.point').forEach((point, i) => {
    const isThere = i < x.length && Number.isFinite(y[i]);
    point.style.display = isThere ? '' : 'none';
    if (isThere) point.setAttribute('transform', `translate(${x[i]},${y[i]})`);
  });
  group.querySelectorAll('.textpoint text').forEach((label, i) => {
    if (i >= x.length || !Number.isFinite(y[i])) return;
    label.setAttribute('x', x[i]);
    label.setAttribute('y', y[i]);
  });
}

function placeShape(host, shape, i) {
  const {_size: size, ...layout} = host._fullLayout;
  const at = (value, ref, letter) => {
    if (ref === 'paper') return letter === 'x' ? size.l + size.w * value : size.t + size.h * (1 - value);
    const axis = layout[axisName(ref, letter)];
    return axis._offset + axis.c2p(value);
  };
  const [x0, x1] = [shape.x0, shape.x1].map(v => at(v, shape.xref, 'x'));
  const [y0, y1] = [shape.y0, shape.y1].map(v => at(v, shape.yref, 'y'));
  const d = shape.type === 'line' ? `M${x0},${y0}L${x1},${y1}` : `M${x0},${y0}H${x1}V${y1}H${x0}Z`;
  host.querySelectorAll(`.shapelayer path[data-index="${i}"]`).forEach(each => each.setAttribute('d', d));
}

/** The numbers above the curves, written over Streamlit's: its own text stays as it is below. */
function tell({verdict, tiles}) {
  const say = (element, text) => element?.setAttribute('data-scrub', text);
  say(document.querySelector('.st-key-verdict h1'), verdict);
  document.querySelectorAll('[data-testid="stMetric"]').forEach((tile, i) => {
    say(tile.querySelector('[data-testid="stMetricValue"]'), tiles[i]?.[0] ?? '');
    say(tile.querySelector('[data-testid="stMetricDelta"]'), tiles[i]?.[1] ?? '');
  });
}

/** Back to what the page itself says. */
function settle() {
  home = wanted = null;
  for (const name of staged) redraw(hostOf(name));
  staged = new Set();
  document.querySelectorAll('[data-scrub]').forEach(each => each.removeAttribute('data-scrub'));
}
