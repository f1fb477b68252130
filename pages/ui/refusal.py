"""What a page says whose scenario cannot run, and how it ends."""

from typing import NoReturn

import streamlit as st
from ui import runs
from ui.asked import Asked
from ui.header import header

from sim.scenario import Scenario

CANNOT_RUN = "This scenario cannot run."


def refusal(why: str, asked: Asked, sentence: str = CANNOT_RUN) -> None:
    """Draw the reason, and leave it to the page to draw no more: what comes after the page may still be due."""
    header(sentence, asked, can_pin=False)
    st.error(why)


def refuse(why: str, asked: Asked, sentence: str = CANNOT_RUN) -> NoReturn:
    """End the page, and the frame's run with it, with the reason."""
    refusal(why, asked, sentence)
    st.stop()


def runnable(asked: Asked) -> Scenario:
    """The scenario that is asked for, as soon as its kernels are there; ends the page where there is none."""
    if asked.scenario is None:
        refuse(asked.refusal, asked)
    runs.ready(asked.scenario)
    return asked.scenario
