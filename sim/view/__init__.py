"""Figures, tiles and sentences made from results: Plotly and plain values, no Streamlit."""
