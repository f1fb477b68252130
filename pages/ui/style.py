"""Spacing of the frame: dense like an instrument, nothing wasted above the first line.

On a narrow projector everything is a little smaller; where a window is half as wide, as at twice the zoom, cards stand
one below the other.
"""

import streamlit as st

_CSS = """
<style>
[data-testid="stMainBlockContainer"] {padding: 3.1rem 1.1rem .6rem 1.1rem; max-width: none;}
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] {gap: .5rem;}
[data-testid="stHeader"] {height: 2.9rem; min-height: 2.9rem;}
[data-testid="stSidebarHeader"] {height: 2.4rem; margin-bottom: 0; padding: .3rem .8rem;}
[data-testid="stSidebarUserContent"] {padding: 0 0 1.5rem 0;}
[data-testid="stSidebarUserContent"] [data-testid="stVerticalBlock"] {gap: .4rem;}
[data-testid="stSidebarUserContent"] [data-testid="stHorizontalBlock"] {gap: .5rem;}
[data-testid="stSidebar"] label p {font-size: .82rem;}
[data-testid="stHeading"] :is(h1, h2, h3) {font-size: 1.35rem; padding: .3rem 0;}
.st-key-verdict [data-testid="stHeading"] h1 {
  font-size: 1.08rem; font-weight: 600; line-height: 1.35; padding: 0; margin: 0;
}
.st-key-verdict :is([data-testid="stHeadingWithActionElements"], [data-testid="stMarkdownContainer"]) {margin: 0;}
[data-testid="stSidebar"] [data-testid="stButtonGroup"] button {padding: 0 .6rem;}
.st-key-verdict {flex: 1 1 0; min-width: 0;}
.st-key-head {flex-wrap: nowrap; gap: .5rem; min-height: 3.1rem;}
[data-testid="stMetric"] {padding: .35rem .5rem .3rem .6rem; min-height: 5.2rem;}
[data-testid="stMetric"] > div {padding: 0;}
[data-testid="stMetricLabel"] p {font-size: .8rem; white-space: normal; line-height: 1.2;}
[data-testid="stMetricLabel"] [data-testid="stMarkdownContainer"] {overflow: visible;}
[data-testid="stMetricValue"] {font-size: 1.4rem; line-height: 1.25;}
[data-testid="stMetricValue"] * {white-space: normal; line-height: 1.1;}
[data-testid="stMetricDelta"] {font-size: .76rem;}
.st-key-banners {min-height: 1.75rem; justify-content: center;}
.st-key-banners [data-testid="stAlertContainer"] {padding: .1rem .7rem; min-height: 0;}
.st-key-banners p {font-size: .85rem; line-height: 1.5rem;}
.st-key-pin_legend {margin-top: -.45rem;}
.st-key-pin_legend [data-testid="stHtml"] {
  display: grid; grid-auto-flow: column; justify-content: start; column-gap: 1.2rem; font-size: .875rem; opacity: .82;
}
.st-key-pin_legend span {white-space: nowrap; overflow: hidden; text-overflow: ellipsis;}
[class*="st-key-card_"] {padding: .3rem .6rem .1rem .7rem;}
:is(
  .st-key-card_ledgers, .st-key-card_terms, .st-key-card_limits, .st-key-card_usages,
  [class*="st-key-card_"]:has(> [data-testid="stElementContainer"]:last-child [data-testid="stDataFrame"])
) {padding-bottom: .5rem;}
:is(.st-key-card_limits, .st-key-card_terms) :is(li, p):not([class*="st-key-cardhead_"] *) {
  font-size: .84rem; line-height: 1.35;
}
:is(.st-key-card_usages, .st-key-card_ledgers) :is(td, th) {font-size: .84rem; line-height: 1.3; padding: .2rem .5rem;}
.st-key-card_terms [data-testid="stMarkdownContainer"] > p {margin: .5rem 0 .1rem 0;}
[data-testid="stImage"] img {border-radius: 0;}
[class*="st-key-card_kind_"] code {font-size: .7rem;}
[class*="st-key-cardhead_"] {min-height: 1.9rem; gap: .8rem;}
[class*="st-key-cardhead_"] p {margin: 0;}
[class*="st-key-cardhead_"] [data-testid="stMarkdownContainer"] {margin-bottom: 0;}
[class*="st-key-cardhead_"] button {min-height: 1.6rem; padding: 0 .5rem;}
[class*="st-key-cardhead_"] button p {font-size: .8rem;}
[class*="st-key-even_"] [data-testid="stColumn"] > div > :is(
  :has(> [class*="st-key-card_"] .live-plot), :last-child:has(> [class*="st-key-card_"])
) {flex-grow: 1;}
[class*="st-key-even_"] :is([class*="st-key-plot_"], [class*="st-key-plot_"] div):has(.live-plot) {
  display: flex; flex-direction: column; flex: 1 0 auto;
}
[class*="st-key-even_"] [class*="st-key-card_"] [data-testid="stLayoutWrapper"]:has(.live-plot) {flex-grow: 1;}
[class*="st-key-even_"] .live-plot {flex: 1 0 auto;}
.live-plot {
  width: 100%;
  height: clamp(246px, calc((100vh - 21.9rem - var(--lines-above, 0rem) - var(--tiles-above, 0rem)) / 2), 460px);
}
[data-testid="stMain"]:has(.st-key-pin_legend) {--lines-above: 1.4rem;}
@media (max-width: 1600px) {
  .st-key-head:has(.st-key-pin) {min-height: 4.4rem;}
  [data-testid="stMain"]:has(.st-key-pin) {--lines-above: 1.3rem;}
  [data-testid="stMain"]:has(.st-key-pin_legend) {--lines-above: 2.7rem;}
  [data-testid="stMain"]:has(.st-key-tiles_tall) {--tiles-above: 1.1rem;}
}
@media (min-width: 1000px) and (max-width: 1360px) {html {font-size: 14px !important;}}
@media (max-width: 900px) {
  .st-key-head {flex-wrap: wrap; padding-bottom: .3rem;}
  .st-key-head > :has(.st-key-verdict) {min-width: 100%;}
  .st-key-pin_legend [data-testid="stHtml"] {grid-auto-flow: row;}
  [data-testid="stMain"] [data-testid="stHorizontalBlock"]:has(> [data-testid="stColumn"]) {flex-wrap: wrap;}
  [data-testid="stMain"] [data-testid="stColumn"] {min-width: 9.5rem;}
  [data-testid="stMain"] [data-testid="stColumn"]:has([class*="st-key-card_"]) {min-width: 100%;}
}
[class*="st-key-carried"], .st-key-scrub {display: none;}
[data-scrub] > * {display: none !important;}
[data-scrub]::after {content: attr(data-scrub); white-space: nowrap;}
h1[data-scrub]::after {white-space: normal;}
[data-testid="stMetricValue"][data-scrub] {height: 2rem; display: flex; align-items: center;}
[data-testid="stMetricValue"][data-scrub]::after {font-size: 1.1rem;}
.st-key-plot_compare_load .live-plot {height: 560px;}
.st-key-plot_compare_memory_1 .live-plot {height: 240px;}
.st-key-plot_compare_memory_2 .live-plot {height: 400px;}
[data-testid="stColumn"] > [data-testid="stVerticalBlock"] {gap: .5rem;}
[data-testid="stExpanderDetails"] {padding: .2rem .6rem .6rem .6rem;}
[data-testid="stSidebar"] [data-testid="stExpander"] summary {padding: .25rem .6rem; min-height: 0;}
[data-testid="stSidebar"] [data-testid="stCaptionContainer"] {margin-bottom: 0;}
[data-testid="stSidebar"] [data-testid="stCaptionContainer"] p {font-size: .8rem; line-height: 1.35;}
[data-testid="stSelectboxVirtualDropdown"] {min-width: 22rem;}
[data-testid="stSelectbox"] input {text-overflow: ellipsis;}
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p {color: inherit; opacity: 1;}
[data-testid="stCaptionContainer"] p {opacity: .82;}
[data-tag], [data-tag] button {background: transparent; color: inherit;}
[data-tag] {border: 1px solid currentColor;}
[data-testid="stStatusWidget"] {display: none;}
:is(h1, [data-testid="stMarkdownContainer"] p, [data-testid="stMarkdownContainer"] li) {text-wrap-style: pretty;}
.live-plot .modebar-container {top: auto !important; bottom: 1.3rem;}
</style>
"""


def style() -> None:
    """Put the style sheet on the page; once a run, in the frame."""
    st.html(_CSS)
