// From the numbers of a figure to the path of a line.

const KINDS = {f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array};

/** Numbers of a trace, as Plotly writes them: a list, or bytes in base 64. */
export function values(column) {
  if (!column?.bdata) return Array.from(column ?? [], v => v ?? NaN);
  const bytes = Uint8Array.from(atob(column.bdata), c => c.charCodeAt(0));
  return Array.from(new KINDS[column.dtype](bytes.buffer));
}

/** Path along points in pixels; closed along `base`, where there is one. Points that are no numbers leave a gap. */
export function pathOf(x, y, base = null) {
  let d = '', isOn = false;
  for (let i = 0; i < x.length; i++) {
    const isThere = Number.isFinite(x[i]) && Number.isFinite(y[i]);
    if (isThere) d += `${isOn ? 'L' : 'M'}${round(x[i])},${round(y[i])}`;
    isOn = isThere;
  }
  if (base && d) {
    for (let i = x.length - 1; i >= 0; i--) d += `L${round(x[i])},${round(base[i])}`;
    d += 'Z';
  }
  return d;
}

const round = v => Math.round(v * 100) / 100;

/** Lower and upper edge of a stacked line; the group's height grows by it. All its lines have the same places. */
export function stackOf(heights, group, y) {
  const base = heights.get(group) ?? y.map(() => 0);
  if (!y.length) return [[], []];
  const top = y.map((v, i) => base[i] + v);
  heights.set(group, top);
  return [base, top];
}
