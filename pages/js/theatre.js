// Player of a recorded run: slots over time, KV blocks by owner, queue, and a line in words. Everything is on the page
// already, so a frame needs nobody else.

import {Run} from './theatre_run.js';
import {drawBlocks, drawSlots, inksOf, legend} from './theatre_draw.js';

const SPEEDS = [1, 5, 20, 100, 400];            // steps a second
const SPANS = {60: '60 steps', 240: '240 steps', 1000: '1,000 steps', 0: 'whole run'};   // shown around the step
const number = new Intl.NumberFormat('en-US');
const stages = new WeakMap();                   // by element

const MARKUP = `
  <div class="controls" role="group" aria-label="Player">
    <button type="button" data-do="first">First</button>
    <button type="button" data-do="back">Back</button>
    <button type="button" data-do="play" aria-pressed="false">Play</button>
    <button type="button" data-do="next">Step</button>
    <button type="button" data-do="preemption">Next preemption</button>
    <button type="button" data-do="stall">Worst stall</button>
    <label>Speed <select data-of="speed">${SPEEDS.map(s => `<option value="${s}">${s} steps/s</option>`)}</select></label>
    <label>Show <select data-of="span">${Object.entries(SPANS).map(([v, t]) => `<option value="${v}">${t}</option>`)}</select></label>
    <label>Request <input data-of="request" type="number" min="0" step="1"></label>
  </div>
  <label class="where"><span>Step</span> <input data-of="step" type="range" min="0" step="1"><output></output></label>
  <p class="words" aria-live="polite"></p>
  <div class="pictures">
    <div><h3>Slots over time</h3><div class="legend"></div>
      <canvas data-of="slots" tabindex="0" role="img" aria-label="Slots over time; arrow keys step, space plays"></canvas></div>
    <div><h3 class="memory"></h3><canvas data-of="blocks" role="img" aria-label="KV blocks by owner"></canvas>
      <p class="hint"></p>
      <h3 class="waiting"></h3><ol class="queue" aria-label="Queue"></ol>
      <p class="story" aria-live="polite"></p></div>
  </div>`;

/** Put the player into its component; returns what to do on unmount. */
export function mount({data, parentElement}) {
  const host = parentElement.querySelector('.theatre');
  const stage = stages.get(host) ?? new Stage(host);
  stages.set(host, stage);
  if (data.given < stage.given) return () => {};   // a later run is there: calls come in either order, ui/order.py
  stage.given = data.given;
  stage.show(data.play);
  return () => {
    if (host.isConnected) return;   // an overtaken call is cleaned up while the player is on the page
    stage.pause();
    stage.resized.disconnect();
    stages.delete(host);
  };
}

function hint({blocks, peak}) {
  const never = blocks - peak;
  return 'A colour is an owner; hatched: one of the longest answers; grey hatched: reserved, nothing in it.'
    + (never ? ` Left out: ${number.format(never)} blocks that this play never uses.` : '');
}

class Stage {
  constructor(host) {
    this.host = host;
    this.given = 0;
    this.text = '';
    host.innerHTML = MARKUP;
    this.part = name => host.querySelector(`[data-of="${name}"]`);
    this.part('speed').value = '20';
    this.part('span').value = '240';
    host.querySelector('.controls').addEventListener('click', event => this.act(event.target.dataset.do));
    this.part('step').addEventListener('input', event => { this.pause(); this.go(Number(event.target.value)); });
    this.part('span').addEventListener('change', () => this.draw());
    this.part('request').addEventListener('input', event => this.choose(event.target.value));
    this.part('slots').addEventListener('keydown', event => this.press(event));
    for (const name of ['slots', 'blocks']) {
      this.part(name).addEventListener('pointermove', event => this.point(name, event));
      this.part(name).addEventListener('pointerleave', () => this.look(this.chosen));
    }
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(host);
  }

  /** Show a run from its first step; the one that is there goes on. */
  show(text) {
    if (text === this.text) return this.draw();   // the theme may have changed
    this.text = text;
    this.run = new Run(JSON.parse(text));
    this.pause();
    this.chosen = this.seen = -1;
    this.part('step').max = this.run.last;
    this.part('request').max = this.run.requests.length - 1;
    this.part('request').value = '';
    this.isWrong = false;
    this.button('preemption').disabled = !this.run.preemptions.length;
    this.button('stall').disabled = !this.run.stall;
    legend(this.host.querySelector('.legend'), this.run.statesSeen());
    this.host.querySelector('.hint').textContent = hint(this.run);
    this.go(0);
    this.look(-1);
  }

  button(name) { return this.host.querySelector(`[data-do="${name}"]`); }

  act(name) {
    if (name === 'play') return this.playing ? this.pause() : this.play();
    if (!name) return;
    this.pause();
    if (name === 'first') this.go(0);
    if (name === 'back') this.go(this.step - 1);
    if (name === 'next') this.go(this.step + 1);
    if (name === 'preemption') this.go(this.run.nextPreemption(this.step));
    if (name === 'stall') {
      this.go(this.run.stall.step);
      this.part('request').value = this.run.stall.request;
      this.choose(this.run.stall.request);
    }
  }

  press(event) {
    const keys = {ArrowRight: 'next', ArrowLeft: 'back', ' ': 'play', Home: 'first', p: 'preemption', s: 'stall'};
    const name = keys[event.key];
    if (!name || this.button(name).disabled) return;
    event.preventDefault();
    this.act(name);
  }

  play() {
    if (this.step === this.run.last) this.go(0);
    this.playing = true;
    this.label();
    let before = performance.now(), at = this.step;
    const frame = now => {
      if (!this.playing) return;
      at += (now - before) / 1000 * Number(this.part('speed').value);
      before = now;
      if (Math.floor(at) > this.step) this.go(Math.floor(at));
      if (this.step >= this.run.last) return this.pause();
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  pause() {
    this.playing = false;
    this.label();
  }

  label() {
    this.button('play').textContent = this.playing ? 'Pause' : 'Play';
    this.button('play').setAttribute('aria-pressed', String(Boolean(this.playing)));
    this.host.querySelector('.words').setAttribute('aria-live', this.playing ? 'off' : 'polite');
  }

  go(step) {
    this.step = Math.min(Math.max(step, 0), this.run.last);
    const {run} = this, k = this.step;
    this.part('step').value = k;
    this.part('step').setAttribute('aria-valuetext', `step ${k}`);
    this.host.querySelector('output').textContent =
      `${number.format(k)} of ${number.format(run.last)}, at ${(run.start[k] / 1000).toFixed(3)} s`;
    this.host.querySelector('.words').textContent = `Step ${number.format(k)}: ${run.wordsAt(k)}.`;
    this.host.querySelector('.memory').textContent =
      `KV memory: ${number.format(run.blocks - run.free[k])} of ${number.format(run.blocks)} blocks, `
      + `${number.format(run.running[k])} running`;
    this.host.querySelector('.waiting').textContent = run.waiting[k]
      ? `Queue: ${number.format(run.waiting[k])} waiting, ${run.queueOrder}` : 'Queue: nobody waits';
    this.queue(run.queueAt(k));
    this.draw();
  }

  queue(entry) {
    if (this.queued === entry && entry) return;
    this.queued = entry;
    const ids = entry ? entry[1] : [];
    this.host.querySelector('.queue').replaceChildren(...ids.map(i => {
      const item = document.createElement('li');
      item.textContent = i;
      item.title = this.run.requests[i].story;
      if (this.run.isPreempted(i, this.step)) item.className = 'back';
      return item;
    }));
  }

  draw() {
    if (!this.run || !this.host.clientWidth) return;
    const inks = inksOf(this.host);
    const seen = this.seen;
    drawSlots(this.part('slots'), this.run, this.step, Number(this.part('span').value), seen, inks);
    drawBlocks(this.part('blocks'), this.run, this.step, seen, inks);
  }

  choose(value) {
    const i = value === '' ? -1 : Number(value);
    this.chosen = Number.isInteger(i) && i >= 0 && i < this.run.requests.length ? i : -1;
    this.isWrong = value !== '' && this.chosen < 0;
    this.look(this.chosen);
  }

  point(name, event) {
    const i = this.part(name).requestAt?.(event.offsetX, event.offsetY) ?? -1;
    this.look(i >= 0 ? i : this.chosen);
  }

  look(i) {
    if (!this.run) return;
    if (i !== this.seen) { this.seen = i; this.draw(); }
    const hint = this.isWrong
      ? `There is no such request: those of this play are 0 to ${number.format(this.run.requests.length - 1)}.`
      : 'Point at a request, or type its number, for its story.';
    this.host.querySelector('.story').textContent = i >= 0 ? this.run.requests[i].story : hint;
  }
}
