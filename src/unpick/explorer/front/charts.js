// Drawings in SVG, built element by element: no text ever becomes markup.
const SPACE = "http://www.w3.org/2000/svg";

export function element(name, options = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...inside.filter((each) => each != null));
  return made;
}

function shape(name, options, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(options)) made.setAttribute(key, value);
  if (text != null) made.textContent = text;
  return made;
}

function extent(values) {
  const known = values.filter((v) => v != null && Number.isFinite(v));
  if (!known.length) return [0, 1];
  const low = Math.min(...known), high = Math.max(...known);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

export function short(value) {
  if (value == null) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 100000)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

function frame(title, width, height) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  svg.append(shape("title", {}, title));
  return svg;
}

// Lines over x; each of `lines` is {values, kind, label}.
export function lineChart(title, x, lines, { log = false, width = 360, height = 190 } = {}) {
  const svg = frame(title, width, height);
  const box = [46, 14, width - 10, height - 30];
  const look = (v) => (v == null ? null : log ? Math.log10(Math.max(v, 1e-8)) : v);
  const [x0, x1] = extent(x);
  const [y0, y1] = extent(lines.flatMap((line) => line.values.map(look)));
  const px = (v) => box[0] + ((v - x0) / (x1 - x0)) * (box[2] - box[0]);
  const py = (v) => box[3] - ((look(v) - y0) / (y1 - y0)) * (box[3] - box[1]);
  svg.append(shape("path", { class: "axis", d: `M${box[0]} ${box[1]}V${box[3]}H${box[2]}` }));
  for (const [value, y] of [[y0, box[3]], [y1, box[1] + 4]]) {
    svg.append(shape("text", { x: box[0] - 5, y: y + 3, "text-anchor": "end" }, short(log ? 10 ** value : value)));
  }
  svg.append(shape("text", { x: box[0], y: height - 12 }, short(x0)));
  svg.append(shape("text", { x: box[2], y: height - 12, "text-anchor": "end" }, short(x1)));
  for (const { values, kind = "one", opacity = 1 } of lines) {
    const points = values.map((v, k) => (v == null ? null : `${px(x[k]).toFixed(1)} ${py(v).toFixed(1)}`));
    const path = points.filter(Boolean).join("L");
    if (path) svg.append(shape("path", { class: kind, d: "M" + path, opacity }));
  }
  return svg;
}

// Points in the plane, coloured from blue to orange by value.
export function scatterChart(title, x, y, values, labels, size = 320) {
  const svg = frame(title, size, size);
  const pad = 34, [x0, x1] = extent(x), [y0, y1] = extent(y), [v0, v1] = extent(values);
  svg.append(shape("path", { class: "axis", d: `M${pad} 8V${size - pad}H${size - 8}` }));
  x.forEach((value, k) => {
    const cx = pad + ((value - x0) / (x1 - x0)) * (size - pad - 12);
    const cy = size - pad - ((y[k] - y0) / (y1 - y0)) * (size - pad - 12);
    const hue = 215 - 185 * ((values[k] - v0) / (v1 - v0));
    svg.append(shape("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 2.2, fill: `hsl(${hue.toFixed(0)} 75% 48%)` }));
  });
  svg.append(shape("text", { x: size / 2, y: size - 8, "text-anchor": "middle" }, labels[0]));
  svg.append(shape("text", { x: 12, y: size / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${size / 2})` }, labels[1]));
  return svg;
}

// A matrix of shares between 0 and 1 as a heat map with numbers.
export function heatMap(title, matrix, names) {
  const cell = 40, pad = 44, n = matrix.length;
  const svg = frame(title, pad + cell * n + 4, pad + cell * n + 4);
  matrix.forEach((row, i) => row.forEach((value, j) => {
    const at = { x: pad + j * cell, y: pad + i * cell };
    svg.append(shape("rect", { ...at, width: cell - 1, height: cell - 1, fill: `rgb(0 95 158 / ${value})`, stroke: "var(--line)" }));
    const text = shape("text", { x: at.x + cell / 2, y: at.y + cell / 2 + 4, "text-anchor": "middle" }, value.toFixed(2));
    text.style.fill = value > 0.55 ? "#fff" : "var(--ink)";
    svg.append(text);
  }));
  names.forEach((name, k) => {
    svg.append(shape("text", { x: pad - 6, y: pad + k * cell + cell / 2 + 4, "text-anchor": "end" }, name));
    svg.append(shape("text", { x: pad + k * cell + cell / 2, y: pad - 8, "text-anchor": "middle" }, name));
  });
  return svg;
}

// Bars of signed values; `before` is drawn as a thin mark.
export function barChart(title, values, before, names, width = 340) {
  const height = 18 * values.length + 8, svg = frame(title, width, height);
  const [low, high] = extent([...values, ...(before || []), 0]);  // one scale for bars and marks
  const fits = names.map((name) => (name.length > 18 ? `${name.slice(0, 17)}…` : name));
  const left = 14 + 7 * Math.max(6, ...fits.map((name) => name.length));  // room for the longest name
  const px = (v) => left + ((v - low) / (high - low)) * (width - left - 10);
  values.forEach((value, k) => {
    const y = 4 + 18 * k, a = px(0), b = px(value);
    const label = shape("text", { x: left - 6, y: y + 12, "text-anchor": "end" }, fits[k]);
    label.append(shape("title", {}, names[k]));
    svg.append(label);
    svg.append(shape("rect", { x: Math.min(a, b), y: y + 2, width: Math.max(1, Math.abs(b - a)), height: 12, fill: "var(--blue)" }));
    if (before) svg.append(shape("rect", { x: px(before[k]) - 1, y, width: 2, height: 16, fill: "var(--orange)" }));
  });
  return svg;
}

// A cloud in space that can be turned by dragging or with the arrow keys, with curves through it.
export function cloudChart(title, points, curves, here, size = 420) {
  const dims = points[0].length;
  const svg = frame(title, size, size);
  svg.setAttribute("tabindex", "0");
  let turn = 0.7, tilt = 0.45;
  const ranges = [0, 1, 2].map((k) => (k < dims ? extent(points.map((p) => p[k])) : [0, 1]));
  const scale = Math.max(...ranges.slice(0, dims).map(([a, b]) => b - a)) * 1.5;
  const centre = ranges.map(([a, b]) => (a + b) / 2);
  const place = (p) => {
    const [x, y, z] = [0, 1, 2].map((k) => (k < p.length ? (p[k] - centre[k]) / scale : 0));
    if (dims < 3) return [size / 2 + x * size, size / 2 - y * size];
    const u = x * Math.cos(turn) - y * Math.sin(turn), w = x * Math.sin(turn) + y * Math.cos(turn);
    return [size / 2 + u * size, size / 2 - (z * Math.cos(tilt) + w * Math.sin(tilt)) * size];
  };
  const draw = () => {
    svg.replaceChildren(svg.firstChild);
    for (const p of points) {
      const [cx, cy] = place(p);
      svg.append(shape("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 1.4, fill: "var(--quiet)", opacity: 0.5 }));
    }
    curves.forEach(({ points: line }, k) => {
      const path = line.map((p) => place(p).map((v) => v.toFixed(1)).join(" ")).join("L");
      svg.append(shape("path", { class: k ? "two" : "one", d: "M" + path }));
    });
    if (here) {
      const [cx, cy] = place(here);
      svg.append(shape("circle", { cx, cy, r: 5, fill: "var(--bad)" }));
    }
  };
  const move = (a, b) => { turn += a; tilt = Math.max(-1.5, Math.min(1.5, tilt + b)); draw(); };
  svg.addEventListener("pointermove", (event) => { if (event.buttons) move(event.movementX / 150, event.movementY / 150); });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (step) { event.preventDefault(); move(...step); }
  });
  draw();
  return svg;
}

// The unit square in latent space: lines along either factor.
export function squareChart(title, codes, at, size = 240) {
  const svg = frame(title, size, size);
  const [x0, x1] = extent(codes.map((c) => c[0])), [y0, y1] = extent(codes.map((c) => c[1]));
  const scale = Math.max(x1 - x0, y1 - y0);
  const place = (c) => `${(10 + ((c[0] - x0) / scale) * (size - 20)).toFixed(1)} ${(size - 10 - ((c[1] - y0) / scale) * (size - 20)).toFixed(1)}`;
  for (const [factor, kind] of [[0, "one"], [1, "two"]]) {
    for (let level = 0.1; level < 1; level += 0.2) {
      const near = codes.map((c, k) => [c, at[k]]).filter(([, v]) => Math.abs(v[1 - factor] - level) < 0.02);
      near.sort((a, b) => a[1][factor] - b[1][factor]);
      if (near.length > 1) svg.append(shape("path", { class: kind, d: "M" + near.map(([c]) => place(c)).join("L") }));
    }
  }
  return svg;
}

export function saveSvg(svg, name) {
  const copy = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
  let text = new XMLSerializer().serializeToString(copy);
  text = text.replace(/var\((--\w+)\)/g, (_, key) => style.getPropertyValue(key).trim());
  const sheet = "<style>.axis{stroke:#999;fill:none}.one{stroke:#005f9e;fill:none}.two{stroke:#a34a00;fill:none}text{font:12px sans-serif}</style>";
  text = text.replace(/^(<svg[^>]*>)/, `$1${sheet}`);
  save(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function savePng(images, columns, name) {
  const first = images[0], side = [first.naturalWidth, first.naturalHeight].map((v) => v * Math.max(1, Math.round(96 / first.naturalWidth)));
  const canvas = document.createElement("canvas");
  canvas.width = columns * side[0];
  canvas.height = Math.ceil(images.length / columns) * side[1];
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = false;
  images.forEach((image, k) => pen.drawImage(image, (k % columns) * side[0], Math.floor(k / columns) * side[1], ...side));
  canvas.toBlob((blob) => save(blob, `${name}.png`));
}

function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
