"""Ask documents on a page: `pip install 'clew[models]' streamlit; streamlit run examples/app.py`.

The folder of documents is examples/polar, or the one named behind `--`:
`streamlit run examples/app.py -- ~/notes`.
"""

import sys
from pathlib import Path

import streamlit as st

import clew

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("polar"))


@st.cache_resource(show_spinner=f"Reading {FOLDER} …")
def open_index() -> clew.Index:
    """Return the index of the folder, brought up to date once."""
    index = clew.open(f"{FOLDER.name}.clew")
    index.add(FOLDER)
    return index


st.set_page_config(layout="wide")
index = open_index()
st.title("Ask your documents")
question = st.text_input("Question", "In which town was the man born who built Nansen's ship Fram?")
method = st.sidebar.selectbox("Method", ["auto", "walk", "clue", "hybrid", "bm25", "dense"])
st.sidebar.metric("Documents", len(index))

if question.strip():
    answer = index.ask(question, method=method, quotes=3)
    if answer.kind == "refused":
        st.warning("Nothing in these documents answers this. What is nearest:")
        st.write([hit.title for hit in answer.evidence.hits[:3]])
    else:
        for cited in answer.citations:
            st.text(f"[{cited.number}] {cited.document_id}\n{cited.quote}")
