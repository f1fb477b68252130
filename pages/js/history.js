// The browser's Back button undoes a knob: Streamlit writes a moved knob over the address, this adds it behind.

let last = null;   // address and length of the history when the page ran before
let isBack = false;

/** Called after every run of the page that changed the address. */
export function mount() {
  const now = {path: location.pathname, search: location.search, length: history.length};
  if (last === null) window.addEventListener('popstate', () => { isBack = true; }, true);
  const isOverwritten = last && !isBack && now.path === last.path && now.search !== last.search
    && now.length === last.length;
  if (isOverwritten) {
    history.replaceState(history.state, '', last.path + last.search);
    history.pushState(history.state, '', now.path + now.search);
  }
  isBack = false;
  last = {...now, length: history.length};
}
