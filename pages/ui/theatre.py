"""The player of a recorded run: the run travels to the browser once, and pages/js/theatre.js draws every frame."""

import json

import streamlit as st
from ui.asked import Asked
from ui.order import stamp

from sim.studies.theatre_play import Play, play
from sim.view.theatre import payload

_JS = """
const script = () => import(`${location.origin}/assets/js/theatre.js`);
export default async given => (await script()).mount(given);
"""
_CSS = """
.theatre {display: flex; flex-direction: column; gap: .45rem; font-size: .88rem; color: var(--st-text-color);}
.theatre :is(p, h3) {margin: 0; padding: 0; font-size: .88rem;}
.theatre .hint {font-size: .78rem;}
.theatre h3 {font-size: .9rem; font-weight: 600;}
.theatre .controls {display: flex; flex-wrap: wrap; gap: .4rem .5rem; align-items: center;}
.theatre :is(button, select, input[type=number]) {
  font: inherit; color: inherit; background: var(--st-background-color); border: 1px solid var(--st-border-color);
  border-radius: .4rem; padding: .2rem .6rem; min-height: 1.9rem;
}
.theatre button {cursor: pointer;}
.theatre button:disabled {cursor: default; opacity: .5;}
.theatre [data-do=play] {min-width: 4.2rem; font-weight: 600;}
.theatre input[type=number] {width: 4.6rem;}
.theatre :is(button, select, input, canvas):focus-visible {
  outline: 2px solid var(--st-primary-color); outline-offset: 1px;
}
.theatre .where {display: flex; gap: .6rem; align-items: center;}
.theatre .where input {flex: 1; accent-color: var(--st-primary-color);}
.theatre output {min-width: 13rem; font-variant-numeric: tabular-nums; text-align: right;}
.theatre .words {font-size: 1.02rem; font-weight: 600; min-height: 1.6em;}
.theatre .pictures {display: grid; grid-template-columns: 3fr 2fr; gap: .9rem; align-items: start;}
.theatre .pictures > div {display: flex; flex-direction: column; gap: .35rem; min-width: 0;}
.theatre canvas {width: 100%; display: block;}
.theatre [data-of=slots] {height: clamp(320px, calc(100vh - 23.5rem), 800px);}
.theatre [data-of=blocks] {height: clamp(200px, calc((100vh - 23.5rem) * .56), 460px);}
.theatre .legend {display: flex; flex-wrap: wrap; gap: .1rem .8rem; font-size: .8rem;}
.theatre .legend i {
  display: inline-block; width: .95rem; height: .7rem; border: 1px solid; margin-right: .3rem; vertical-align: -1px;
}
.theatre .queue {
  display: flex; flex-wrap: wrap; gap: .2rem; margin: 0; padding: 0; list-style: none;
  height: 2.95rem; overflow: hidden;
}
.theatre .queue li {
  border: 1px solid var(--st-border-color); border-radius: .3rem; padding: 0 .35rem; margin: 0; height: 1.35rem;
  font-variant-numeric: tabular-nums; font-size: .8rem; line-height: 1.3rem;
}
.theatre .queue li.back {border: 2px dashed #D55E00; line-height: 1.15rem;}
.theatre .story {min-height: 4.2em; border-top: 1px solid var(--st-border-color); padding-top: .35rem;}
@media (max-width: 900px) {.theatre .pictures {grid-template-columns: 1fr;}}
"""
_mount = st.components.v2.component(
    "longtail_theatre", js=_JS, css=_CSS, isolate_styles=False, html='<div class="theatre"></div>'
)


def recorded(asked: Asked, num_requests: int) -> tuple[Play, str]:
    """The recorded run of the scenario on screen, and the same as text for the player; made once.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    assert asked.scenario is not None
    sha256 = asked.trace.sha256 if asked.trace else ""
    key = asked.scenario.model_dump_json(exclude={"about", "slo"})
    return _recorded(key, sha256, asked.is_saturated, num_requests, asked)


def theatre(text: str) -> None:
    """Draw the player of a run, whose layout is that of `sim.view.theatre.payload`."""
    _mount(key="theatre", data={"play": text, "given": stamp("theatre", text)})


@st.cache_resource(max_entries=16, show_spinner=False)
def _recorded(key: str, sha256: str, is_saturated: bool, num_requests: int, _asked: Asked) -> tuple[Play, str]:
    assert _asked.scenario is not None
    run = play(_asked.scenario, _asked.trace, is_saturated=is_saturated, num_requests=num_requests)
    return run, json.dumps(payload(run), separators=(",", ":"))
