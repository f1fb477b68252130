"""How fast the page answers many people at once: prints times of ten sessions that each move a knob every 2 s.

Run it on an otherwise idle machine: `python tests/browser/sessions_timing.py`. The sessions speak Streamlit's own
protocol over its WebSocket, as ten browsers on other machines would. A repaint is from the message that reports the
knob to the moment when the tiles and the run's three curves have all arrived.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

sys.path.insert(0, str(Path(__file__).resolve().parent))
from launch import start_server

SESSIONS, MOVES, EVERY_S = 10, 15, 2.0
PRESET = "chat"
KNOB, POSITIONS = "outputmean", ["100", "120", "150", "200", "250", "300", "400", "500"]
CURVES = {"plot_throughput", "plot_latency", "plot_memory"}
TILES = 8
LARGEST_MESSAGE = 2**26


class Session:
    """One browser tab, as far as the server can tell."""

    def __init__(self, socket: ClientConnection, query: str) -> None:
        self.socket, self.query = socket, query
        self.page_hash = ""
        self.ids: dict[str, str] = {}  # of widgets, by their key in the address
        self.texts: dict[str, str] = {}  # what stands in those that are texts

    async def run(self, position: str | None = None) -> float | None:
        """Ask for a run of the page, with the knob at a position; seconds until tiles and curves are there."""
        message = BackMsg()
        client = message.rerun_script
        client.query_string, client.page_script_hash = self.query, self.page_hash
        if position is not None:
            for key, text in self.texts.items():
                client.widget_states.widgets.add(id=self.ids[key], string_value=text)
            client.widget_states.widgets.add(id=self.ids["preset"], string_value=PRESET)
            client.widget_states.widgets.add(id=self.ids["at"]).string_array_value.data.append("as asked")
            client.widget_states.widgets.add(id=self.ids[KNOB]).string_array_value.data.append(position)
            client.query_string = self.query.rpartition("&")[0] + f"&{KNOB}={position}"
        began = time.perf_counter()
        await self.socket.send(message.SerializeToString())
        missing, num_tiles, painted = set(CURVES), 0, None
        while True:
            forward = ForwardMsg.FromString(await self.socket.recv())
            kind = forward.WhichOneof("type")
            if kind == "script_finished":
                return painted
            if kind == "new_session":
                self.page_hash = forward.new_session.page_script_hash
            if kind == "delta":
                num_tiles += self._read(forward.delta, missing)
            if painted is None and not missing and num_tiles >= TILES:
                painted = time.perf_counter() - began

    def _read(self, delta: Delta, missing: set[str]) -> bool:
        """Note widgets and curves; whether it is a tile."""
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind in {"slider", "selectbox", "button_group", "text_input"}:
            widget = getattr(element, kind)
            self.ids[widget.query_param_key] = widget.id
            if kind == "text_input":
                self.texts[widget.query_param_key] = widget.value if widget.set_value else widget.default
        if kind == "bidi_component":
            missing -= {name for name in missing if element.bidi_component.id.endswith(name)}
        return kind == "metric"


async def work(url: str, seed: int, times: list[float]) -> None:
    """Open the page, then move the knob again and again."""
    address = url.replace("http", "ws") + "/_stcore/stream"
    async with connect(address, subprotocols=["streamlit"], max_size=LARGEST_MESSAGE) as socket:
        session = Session(socket, f"preset={PRESET}&seed={seed}&{KNOB}={POSITIONS[-1]}")
        await session.run()
        await asyncio.sleep(5 + EVERY_S * seed / SESSIONS)  # not all at the same moment
        due = time.perf_counter()
        for move in range(MOVES):
            took = await session.run(POSITIONS[move % len(POSITIONS)])
            if took is not None:
                times.append(took)
            due += EVERY_S
            await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def main() -> None:
    """Print how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        process, url = start_server(Path(folder) / "log")
        try:
            times: list[float] = []
            await asyncio.gather(*(work(url, seed, times) for seed in range(SESSIONS)))
        finally:
            process.terminate()
            process.wait(15)
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{SESSIONS} sessions, each moving {KNOB} every {EVERY_S:g} s")
    print(f"  tiles and three curves at the browser   median {statistics.median(times):5.2f} s, p95 {p95:5.2f} s, "
          f"slowest {max(times):5.2f} s, n = {len(times)} of {SESSIONS * MOVES}")  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main())
