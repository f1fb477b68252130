// A Plotly chart that stays alive: new numbers move its curves and leave zoom and hidden traces alone.

import {follow} from './feed.js';

const CONFIG = {
  responsive: true, displaylogo: false, displayModeBar: 'hover', plotlyServerURL: '', showSendToCloud: false,
  modeBarButtons: [['zoom2d', 'pan2d', 'resetScale2d', 'toImage']],   // none that uploads
};
const RETRY_MS = 1000;
const STAGED = 'another figure';
const STILL_MS = 120;   // a page that is still being laid out is not worth a drawing
const charts = new WeakMap();   // by element: {look, data, stop}

const sizes = new ResizeObserver(entries => {   // a card that grows with its neighbour; Plotly sees the window only
  for (const {target} of entries) {
    const chart = charts.get(target);
    if (!chart) continue;
    clearTimeout(chart.fitting);
    chart.fitting = setTimeout(fit, STILL_MS, target);
  }
});

let loading = null;

/** plotly.js, fetched once a page. */
export function plotly(url) {
  loading ??= new Promise((ok, fail) => {
    const tag = Object.assign(document.createElement('script'), {src: url});
    tag.onload = () => ok(window.Plotly);
    tag.onerror = () => { loading = null; tag.remove(); fail(new Error(`${url} cannot be loaded`)); };
    document.head.append(tag);
  });
  return loading;
}

/**
 * Draw a chart into its component and follow its feed, where it has one; returns what to do on unmount.
 *
 * When Streamlit calls again before an earlier call has returned, the two may come in either order (ui/order.py), and
 * it runs the earlier call's clean-up at once, while the chart is still on the page.
 */
export function mount({data, parentElement}) {
  const host = parentElement.querySelector('.live-plot');
  const chart = charts.get(host) ?? {look: null, data: null, stop: null};
  charts.set(host, chart);
  sizes.observe(host);
  if (data.given < chart.data?.given) return () => {};   // a later picture is there
  chart.stop?.abort();
  chart.stop = new AbortController();
  draw(host, chart, data);
  if (data.feed) follow(data.feed, chart.stop.signal, answer => draw(host, chart, {...data, ...answer}));
  return () => {
    if (host.isConnected) return;
    chart.stop.abort();
    chart.look = null;
    charts.delete(host);
    sizes.unobserve(host);
    window.Plotly?.purge(host);
  };
}

/** Draw a chart's own figure once more, where another one has taken its place. */
export function redraw(host) {
  const chart = host && charts.get(host);
  if (chart?.look === STAGED) draw(host, chart, chart.data);
}

/** Draw another figure in a chart's place for a while; what somebody has zoomed stays as it is. */
export function restage(lib, host, {data, layout}) {
  const chart = charts.get(host);
  const own = JSON.parse(chart.data.spec).layout;
  for (const edited of Object.keys(host._fullLayout._preGUI ?? {})) {
    const axis = edited.split('.')[0];
    if (axis in own) layout[axis] = own[axis];
  }
  chart.look = STAGED;
  host.dataset.staged = '';
  const colors = themeOf(host);
  return lib.react(host, brightened(data, colors, chart.data.dark), themed(layout, colors), CONFIG);
}

function draw(host, chart, data) {
  chart.data = data;
  const colors = themeOf(host);
  const look = [data.spec, ...Object.values(colors)].join();
  if (chart.look === look) return;   // the page ran again and nothing here has changed
  chart.look = look;
  host.setAttribute('role', 'group');
  host.setAttribute('aria-label', data.alt);
  const {data: traces, layout} = JSON.parse(data.spec);
  return plotly(data.plotly)
    .then(lib => {
      if (chart.look !== look) return;
      delete host.dataset.staged;
      return lib.react(host, brightened(traces, colors, data.dark), themed(layout, colors), CONFIG);
    })
    .catch(error => {
      console.error(error);
      if (chart.look !== look) return;
      chart.look = null;
      setTimeout(() => { if (chart.look === null && charts.get(host) === chart) draw(host, chart, data); }, RETRY_MS);
    });
}

/** Draw a chart anew where it no longer has the size of its place. */
function fit(host) {
  const {clientWidth: width, clientHeight: height} = host, layout = host._fullLayout;
  const isOff = (drawn, place) => Math.abs(drawn - place) >= 1;   // the one has fractions, the other none
  if (host.isConnected && layout && height && (isOff(layout.width, width) || isOff(layout.height, height)))
    window.Plotly.Plots.resize(host);
}

function themeOf(host) {
  const css = getComputedStyle(host);
  const color = name => css.getPropertyValue(`--st-${name}`).trim();
  const isDark = css.colorScheme === 'dark';
  return {ink: color('text-color'), line: color('border-color'), paper: color('background-color'), isDark};
}

/** Lines and marks, on a dark page in the colours that stand out there; areas and bars stand out anyway. */
function brightened(traces, {isDark}, inDark) {
  for (const {type, stackgroup, line, marker} of isDark ? traces : [])
    for (const part of type === 'scatter' && !stackgroup ? [line, marker] : [])
      if (part?.color in inDark) part.color = inDark[part.color];
  return traces;
}

/** The layout in the page's light or dark colours; its height is the style sheet's, by the window's. */
function themed({height, ...layout}, {ink, line, paper}) {
  Object.assign(layout, {
    paper_bgcolor: 'transparent', plot_bgcolor: 'transparent', font: {...layout.font, color: ink},
    hoverlabel: {...layout.hoverlabel, bgcolor: paper, bordercolor: line},
    modebar: {bgcolor: 'transparent', color: line, activecolor: ink},
  });
  const pointer = layout.hovermode === 'x unified' ? {spikethickness: -1} : {};   // below 0 without a seam over marks
  for (const key of Object.keys(layout).filter(key => /^[xy]axis/.test(key)))
    layout[key] = {
      ...(key[0] === 'x' ? pointer : {}),
      gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line, autorange: !layout[key].range, ...layout[key],
    };
  return layout;
}
