"""Figures for a wall: larger type and thicker lines."""

import plotly.graph_objects as go

FONT_PX, TICK_PX = 18, 16
THICKER = 1.5
WIDER = 1.5  # margins, which hold the larger type


def enlarged(figure: go.Figure) -> go.Figure:
    """The figure with type that can be read from the back of a room.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Changed in place.
    """
    margin = {side: (figure.layout.margin[side] or 0) * WIDER for side in ("l", "r", "t", "b")}
    figure.update_layout(font_size=FONT_PX, legend_font_size=FONT_PX - 1, hoverlabel_font_size=FONT_PX, margin=margin)
    figure.update_xaxes(title_font_size=FONT_PX, tickfont_size=TICK_PX, title_standoff=10)
    figure.update_yaxes(title_font_size=FONT_PX, tickfont_size=TICK_PX, title_standoff=10)
    figure.update_annotations(font_size=TICK_PX)
    for trace in figure.data:
        if trace.line.width:
            trace.line.width *= THICKER
        if trace.textfont.size:
            trace.textfont.size = TICK_PX
    return figure
