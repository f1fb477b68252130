// Numbers as people read them: no line ends between a number and its unit, and a slider sets thousands apart.
//
// The texts stay Streamlit's own: one that it writes anew is changed again before the browser draws it. A slider's
// value itself, which the address holds, is left as it is.

const TEXTS =
  ':is([data-testid="stMarkdownContainer"], [data-testid="stCaptionContainer"], [data-testid="stMain"] h1)';
const STOPS = '[data-testid="stSliderThumbValue"], [data-testid="stSliderTickBar"]';
const UNIT = /(?<=\d) (?=%|(?:ms|s|min|h|T|x|GPUs?|(?:tokens|requests|answers)(?:\/s)?)(?![\w/]))/g;
const NO_BREAK = '\u00a0';

let isMounted = false;

/** Called by every run of the page; the first one begins to watch. */
export function mount() {
  if (isMounted) return;
  isMounted = true;
  document.querySelectorAll(TEXTS).forEach(read);
  new MutationObserver(records => records.forEach(changed))
    .observe(document.body, {subtree: true, childList: true, characterData: true});
}

function changed({type, target, addedNodes}) {
  if (type === 'characterData') {
    if (target.parentElement?.closest(TEXTS)) write(target);
    return;
  }
  const isText = target.closest?.(TEXTS);
  for (const node of addedNodes) {
    if (isText) read(node);
    else if (node instanceof HTMLElement) {
      if (node.matches(TEXTS)) read(node);
      else node.querySelectorAll(TEXTS).forEach(read);
    }
  }
}

/** All texts of an element. */
function read(element) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  if (element.nodeType === Node.TEXT_NODE) write(element);
  while (texts.nextNode()) write(texts.currentNode);
}

function write(text) {
  const isStop = /^\d{4,}$/.test(text.data) && text.parentElement?.closest(STOPS);
  const wanted = isStop ? Number(text.data).toLocaleString('en-US') : text.data.replace(UNIT, NO_BREAK);
  if (wanted !== text.data) text.data = wanted;
}
