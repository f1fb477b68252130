"""Where a slider's thumb is, and at which positions the curves can be shown at once: for `page.evaluate`."""

THUMB = """
key => {
  let part = document.querySelector(`.st-key-${key} input[type=range]`);
  while (!part.style.left) part = part.parentElement;
  const {x, y, width, height} = part.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}
"""
TEXTS = "async () => (await import('/assets/js/scrub.js')).texts()"
