"""A Plotly chart that stays alive: new numbers move its curves and leave zoom and hidden traces alone.

`st.plotly_chart` builds a chart anew whenever a number in it changes; this component updates the one that is there.
"""

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st

PLOTLY_URL = "/assets/plotly.min.js"  # served by app.py

_LOADER = """
function plotly(url) {   // one copy a page, whoever asks first
  window.longtailPlotly ??= new Promise((ok, fail) => {
    const tag = Object.assign(document.createElement('script'), {src: url, onerror: fail});
    tag.onload = () => ok(window.Plotly);
    document.head.append(tag);
  });
  return window.longtailPlotly;
}
"""
_PLOT = (
    _LOADER
    + """
const config = {responsive: true, displaylogo: false, displayModeBar: 'hover',
                plotlyServerURL: '', showSendToCloud: false,
                modeBarButtons: [['zoom2d', 'pan2d', 'resetScale2d', 'toImage']]};   // none that uploads
const turn = new WeakMap(), drawn = new WeakMap();
export default function ({data, parentElement}) {
  const host = parentElement.querySelector('.live-plot');
  const css = getComputedStyle(host);
  const ink = css.getPropertyValue('--st-text-color').trim();
  const line = css.getPropertyValue('--st-border-color').trim();
  const paper = css.getPropertyValue('--st-background-color').trim();
  const look = [data.spec, ink, line, paper].join();
  const unmount = () => { turn.delete(host); drawn.delete(host); window.Plotly?.purge(host); };
  if (drawn.get(host) === look) return unmount;   // the page ran again and nothing here has changed
  drawn.set(host, look);
  const {data: traces, layout} = JSON.parse(data.spec);
  const now = (turn.get(host) ?? 0) + 1;
  turn.set(host, now);
  delete layout.height;   // the style sheet gives it, by the window's height
  Object.assign(layout, {paper_bgcolor: 'transparent', plot_bgcolor: 'transparent',
                         font: {...layout.font, color: ink},
                         hoverlabel: {...layout.hoverlabel, bgcolor: paper, bordercolor: line},
                         modebar: {bgcolor: 'transparent', color: line, activecolor: ink}});
  for (const k of Object.keys(layout).filter(k => /^[xy]axis/.test(k)))
    layout[k] = {gridcolor: line, zerolinecolor: line, linecolor: line, tickcolor: line, ...layout[k]};
  host.setAttribute('role', 'group');
  host.setAttribute('aria-label', data.alt);
  plotly(data.lib).then(P => {
    if (turn.get(host) === now) P.react(host, traces, layout, config);
  });
  return unmount;
}
"""
)
_mount = st.components.v2.component(
    "longtail_live_plot", js=_PLOT, isolate_styles=False, html='<div class="live-plot"></div>'
)
_preload = st.components.v2.component(
    "longtail_preload", js=_LOADER + "export default function ({data}) { plotly(data.lib); }", html="<div></div>"
)


def preload() -> None:
    """Let the browser fetch plotly.js while the first run is still being computed."""
    _preload(key="preload_plotly", data={"lib": PLOTLY_URL})


def live_plot(figure: go.Figure, key: str, alt: str) -> None:
    """Draw a figure.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        With a constant `uirevision`; its height gives way to the style sheet's.
    key : str
        Identity of the chart; the same key keeps zoom and hidden traces.
    alt : str
        What the chart shows, for people who do not see it.
    """
    _mount(key=key, data={"spec": pio.to_json(figure, validate=False), "alt": alt, "lib": PLOTLY_URL})
