"""Files of the user's own: taken, read once, kept for the session."""

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile
from ui.files import LARGEST_UPLOAD_MB, is_too_large

from sim.benchmarks import read_data
from sim.errors import DataError
from sim.view.your_data import KINDS, Data

KEPT = "your_data"


def data_upload() -> Data | None:
    """The uploader, and what was read last."""
    uploads = st.file_uploader(
        f"A trace, a benchmark's result, or a server's metrics (at most {LARGEST_UPLOAD_MB} MB each)",
        key="data_upload",
        accept_multiple_files=True,
        help=f"{' '.join(f'{kind.title}: {kind.formats}' for kind in KINDS)} gzip too.",
    )
    if uploads:
        names = tuple(upload.file_id for upload in uploads)
        kept = st.session_state.get(KEPT)
        if kept is None or kept[0] != names:
            data = _read(uploads)
            if data is None:
                return None
            st.session_state[KEPT] = (names, data)
    kept = st.session_state.get(KEPT)
    if kept is None:
        return None
    if not uploads:  # taken earlier: the uploader forgets its files when the page changes
        st.button("Forget this file", key="data_forget", on_click=_forget)
    taken: Data = kept[1]
    return taken


def _forget() -> None:
    st.session_state.pop(KEPT, None)


def _read(uploads: list[UploadedFile]) -> Data | None:
    """What the files hold; says so where they are refused."""
    if any(map(is_too_large, uploads)):
        return None
    first, *rest = uploads
    try:
        return read_data(first.getvalue(), first.name, others={each.name: each.getvalue() for each in rest})
    except DataError as error:
        st.error(str(error))
        return None
