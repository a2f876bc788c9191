// The page: sliders on the left, one panel on the right. Everything shown comes from `ask`.
import { barChart, cloudChart, element, heatMap, lineChart, savePng, saveSvg, scatterChart, short, squareChart } from "./charts.js";

const find = (id) => document.getElementById(id);
const stored = find("data") && JSON.parse(find("data").textContent);  // a static page has its answers inside
const slider = Math.random().toString(36).slice(2);
const MOST = 4;  // models beside the first
const state = { model: "", others: [], row: 0, seed: 0, z: [], tab: "Latents", told: {}, starts: {}, pairs: {}, moved: null };
const runs = new Map(), turns = new Map();

async function ask(question, asked = {}) {
  if (stored) return answerFromStore(question, asked);
  const response = await fetch(`api/${question}`, { method: "POST", body: JSON.stringify(asked) });
  const found = await response.json().catch(() => ({ error: "The connection was lost." }));
  if (!response.ok) throw Object.assign(new Error(found.error), { status: response.status });
  return found;
}

function answerFromStore(question, asked) {
  if (question === "overview") return { models: Object.keys(stored.models), report: [] };
  const model = stored.models[asked.model];
  const at = model.rows[asked.row ?? state.row] || Object.values(model.rows)[0];
  if (question === "decode") return nearestFrame(model, at, asked);
  const found = { start: at.start, traversals: at.traversals, geometry: at.geometry, cloud: at.cloud, plane: at.plane }[question] ?? model[question];
  if (question === "scatter") return storedScatter(model, asked);
  if (found?.error) throw new Error(found.error);
  if (!found) throw new Error("This is a page without a model behind it: it shows what was stored.");
  return found;
}

function nearestFrame(model, at, { z }) {
  const row = at.traversals.rows.find((each) => each.latent === state.moved);
  if (!row) return { decoded: at.start.decoded };
  const gaps = row.at.map((value) => Math.abs(value - z[row.latent]));
  return { decoded: row.frames[gaps.indexOf(Math.min(...gaps))] };
}

function storedScatter(model, { latent, other, factor }) {
  return { x: model.codes.map((c) => c[latent]), y: model.codes.map((c) => c[other]), values: model.factorValues[factor] };
}

function say(text) {
  const box = find("message");
  box.textContent = text;
  box.classList.add("shown");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => box.classList.remove("shown"), 3500);
}

const told = (name = state.model) => state.told[name];

async function describe(name) {
  state.told[name] ??= await ask("describe", { model: name });
  return state.told[name];
}

// Any observation: an image, or numbers as bars.
function view(content, caption, model = state.model, before = null) {
  const figure = element("figure", { title: caption }, element("figcaption", {}, caption));
  figure.prepend(typeof content === "string"
    ? element("img", { src: content, alt: caption })
    : barChart(caption, content.slice(0, 40), before && before.slice(0, 40), told(model).columns));
  return figure;
}

async function chooseModel(name, keep = null) {
  const about = await describe(name);
  find("row").max = about.observations - 1;
  if (stored) find("row").replaceWith(rowPicker(stored.models[name]));
  await restart(keep, name);
}

function rowPicker(model) {
  const picker = element("select", { id: "row", onchange: (event) => { state.row = Number(event.target.value); restart(); } });
  for (const row of Object.keys(model.rows)) picker.append(element("option", { value: row }, row));
  state.row = Number(Object.keys(model.rows)[0]);
  return picker;
}

async function restart(keep = null, name = state.model) {
  const starts = {}, pairs = {}, others = state.others.filter((each) => each !== name);
  for (const each of [name, ...others]) {
    await describe(each);
    starts[each] = await ask("start", { model: each, row: state.row, seed: state.seed });
  }
  for (const each of others) {
    try {
      pairs[each] = (await ask("match", { model: name, other: each })).pairs;
    } catch (error) { say(error.message); }
  }
  Object.assign(state, { model: name, others, starts, pairs, moved: null, z: keep ?? [...starts[name].z] });  // at once
  find("model").value = name;
  drawSliders();
  await showEdited();
  await drawPanel();
  remember();
}

function drawSliders() {
  const about = told(), passive = about.order.filter((k) => !about.active[k]);
  find("sliders").replaceChildren(...about.order.filter((k) => about.active[k]).map(oneSlider));
  find("passive").replaceChildren(...passive.map(oneSlider));
  const folded = find("folded");
  folded.hidden = !passive.length;
  folded.firstChild.textContent = `${passive.length} passive latent${passive.length === 1 ? "" : "s"}`;
  const beta = about.beta == null ? "" : `, beta ${short(about.beta)}`;
  const values = state.starts[state.model].values;
  const factors = values ? " Factors: " + Object.entries(values).map(([name, value]) => `${name} ${short(value)}`).join(", ") + "." : "";
  find("about").textContent = `${about.order.length - passive.length} of ${about.order.length} latents are active; likelihood ${about.likelihood}${beta}.${factors}`;
}

function oneSlider(latent) {
  const about = told(), id = `latent-${latent}`;
  const value = element("output", { for: id }, short(state.z[latent]));
  const input = element("input", {
    id, type: "range", step: "any", min: about.centre[latent] - about.reach[latent], max: about.centre[latent] + about.reach[latent],
    oninput: () => {
      state.z[latent] = Number(input.value);
      if (stored) resetOthers(latent);
      state.moved = latent;
      value.textContent = short(state.z[latent]);
      showEdited();
    },
    onchange: () => { drawPanel(); remember(); },
  });
  input.value = state.z[latent];
  const variance = about.variance ? `var. ${short(about.variance[latent])}` : `sd ${short(about.spread[latent])}`;
  const label = element("label", { for: id }, `latent ${latent}`, element("small", {}, variance));
  return element("div", { class: "slider" }, label, input, value);
}

function resetOthers(latent) {  // a static page has frames of one moved latent at a time
  const start = state.starts[state.model].z;
  state.z = start.map((value, k) => (k === latent ? state.z[k] : value));
  for (const input of document.querySelectorAll(".slider input")) {
    const k = Number(input.id.slice(7));
    if (k !== latent) input.value = state.z[k];
  }
}

// The same move in another model: as many deviations along each matched latent.
function matchedPoint(other) {
  const here = told(), there = told(other), from = state.starts[state.model].z;
  const z = [...state.starts[other].z];
  state.pairs[other].forEach((pair, latent) => {
    if (!pair || state.z[latent] === from[latent]) return;
    const deviations = (state.z[latent] - from[latent]) / (here.spread[latent] || 1);
    z[pair.latent] += pair.sign * deviations * there.spread[pair.latent];
  });
  return z;
}

let drawing = null, wanted = false;
function showEdited() {  // ends when the newest point is on the page; the latest wins
  wanted = true;
  drawing ??= drawEdited().finally(() => { drawing = null; });
  return drawing;
}

async function drawEdited() {
  while (wanted) {
    wanted = false;
    try {
      const start = state.starts[state.model], z = [...state.z];
      const edited = await ask("decode", { model: state.model, z, slider });
      const images = told().kind === "image";
      const seen = images
        ? [start.original && view(start.original, "original"), view(start.decoded, "reconstruction"), view(edited.decoded, "edited")]
        : [view(edited.decoded, start.original ? "edited (bars) and original (marks)" : "edited", state.model, start.original)];
      for (const other of Object.keys(state.pairs)) {
        const alike = await ask("decode", { model: other, z: matchedPoint(other), slider });
        seen.push(view(alike.decoded, `beside: ${other}`, other));
      }
      find("views").replaceChildren(...seen.filter(Boolean));
      find("views").dataset.z = JSON.stringify(z);
    } catch (error) {
      if (error.status !== 409) say(error.message);
    }
  }
}

function heading(text, tools) {
  const row = element("h2", {}, text);
  if (tools) row.append(element("span", { class: "tools" }, element("button", { type: "button", onclick: tools }, "Save")));
  return row;
}

// Saves the images inside an element, or the drawings where there are none.
function pictureSaver(box, columns, name) {
  return () => {
    const images = [...box.querySelectorAll("img")];
    if (images.length) savePng(images, columns, name);
    else box.querySelectorAll("svg").forEach((svg) => saveSvg(svg, name));
  };
}

const svgHeading = (text, svg) => [heading(text, () => saveSvg(svg, text)), svg];

const panels = {
  async Latents() {
    const { rows } = await ask("traversals", { model: state.model, z: state.z });
    if (told().kind === "cloud") return cloudPanel();
    const strips = rows.map(({ latent, at, frames, width }) => element("div", { class: "strip" },
      element("span", {}, `latent ${latent}`, element("small", { class: "quiet", id: `width-${latent}` }, "")),
      element("div", { class: "frames" }, ...frames.map((frame, k) => stripButton(latent, at[k], frame, width && width[k])))));
    const pictures = () => [...find("panel").querySelectorAll(".strip img")];
    const save = rows[0] && typeof rows[0].frames[0] === "string" ? () => savePng(pictures(), rows[0].frames.length, "traversals") : null;
    const parts = [heading("One latent at a time, the others as the sliders say", save), ...strips,
      element("p", { class: "quiet" }, "Important latents come first. Point at a picture to see how finely the encoder tells values apart there; click it to go there.")];
    if (told().kind === "table") parts.push(element("div", { class: "columns" }, ...rows.map(movedColumns)));
    return parts;
  },

  async Geometry() {
    const z = state.z, found = await ask("geometry", { model: state.model, z });
    const columns = found.columns.map((column, k) => view(column, `latent ${found.order[k]}: ${short(found.lengths[k])}`));
    const shown = element("div", { class: "small" }, ...columns);
    const parts = [heading("Jacobian columns and their lengths: what a small step changes (red more, blue less)", pictureSaver(shown, columns.length, "columns")), shown];
    if (!found.active.length) return [...parts, element("p", {}, "Fewer than two latents are active, so there are no directions to compare.")];
    const map = heatMap("Singular directions as mixtures of latents", found.directions, found.active.map(String));
    const bars = barChart("Singular values", found.singular, null, found.singular.map((_, k) => `s${k + 1}`));
    const [first, second] = found.pair;
    const text = `Distance to orthogonality here ${found.here.toFixed(2)}, over the data ${found.overall.toFixed(2)}, by chance ${found.chance.toFixed(2)}.`;
    parts.push(element("p", { id: "dto" }, text), element("div", { class: "columns" },
      element("div", {}, ...svgHeading("Singular directions as mixtures of latents", map)),
      element("div", {}, ...svgHeading("Singular values", bars))));
    const plane = await planeView(z, found.pair);
    parts.push(heading(`Latents ${first} and ${second} mix most here (cosine ${found.cosine.toFixed(2)}): their plane`, pictureSaver(plane, 7, "plane")), plane);
    parts.push(...(await linearView(z, first)));
    return parts;
  },

  async Factors() {
    if (!told().factors.length) return [element("p", {}, "The factors of these data are not known.")];
    const { latents, factors, shares } = await ask("information", { model: state.model });
    const head = element("tr", {}, element("th", {}, ""), ...factors.map((name) => element("th", { scope: "col" }, name)));
    const rows = latents.map((latent, k) => element("tr", {}, element("th", { scope: "row" }, `latent ${latent}`),
      ...factors.map((factor, j) => factorCell(latents, latent, factor, shares[k][j]))));
    return [heading("Information of a latent about a factor, as a share of the factor's entropy"),
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
      element("p", { class: "quiet" }, "Click a number to see the codes coloured by that factor."), element("div", { id: "scatter" })];
  },

  async Training() {
    if (stored) return [element("p", {}, "Training is shown on the live page only.")];
    if (!runs.size) return [element("p", {}, "No run folder is being watched.")];
    const all = [...runs.values()], open = all.filter((run) => run.state !== "finished");
    const done = all.filter((run) => run.state === "finished").map((run) => {
      const fold = element("details", { ontoggle: async () => { if (fold.children.length < 2) fold.append(await runView(run)); } },
        element("summary", {}, `${run.name}: finished, ${run.steps} steps`));
      return fold;
    });
    const studies = element("div");
    ask("studies").then((found) => found.studies.length && studies.append(heading("Studies"), ...found.studies.map(studyView)));
    return [...(await Promise.all(open.slice(0, 20).map(runView))), heading(`${done.length} finished run${done.length === 1 ? "" : "s"}`), ...done, studies];
  },

  async Words() {
    const { findings } = await ask("words", { model: state.model });
    return [heading(`What unpick diagnose says of ${state.model}`), ...findings.map(({ title, text, mark }) =>
      element("p", { class: `finding ${mark}` }, element("strong", {}, title), element("br"), text))];
  },
};

function stripButton(latent, at, frame, width) {
  const label = `latent ${latent} at ${short(at)}`;
  const inside = typeof frame === "string" ? element("img", { src: frame, alt: label }) : element("span", { class: "quiet" }, short(at));
  const tell = () => { if (width != null) find(`width-${latent}`).textContent = ` ± ${short(width)}`; };
  return element("button", { type: "button", "aria-label": label, title: width == null ? label : `${label}, posterior ± ${short(width)}`,
    onmouseenter: tell, onfocus: tell,
    onclick: () => { state.z[latent] = at; state.moved = latent; drawSliders(); showEdited(); remember(); } }, inside);
}

// What a latent does to a table: the columns that change most from the left end of its row to the right.
function movedColumns({ latent, frames }) {
  const change = frames[0].map((value, k) => frames[frames.length - 1][k] - value);
  const most = [...change.keys()].sort((a, b) => Math.abs(change[b]) - Math.abs(change[a])).slice(0, 8);
  const title = `What latent ${latent} moves`;
  return element("div", {}, ...svgHeading(title, barChart(title, most.map((k) => change[k]), null, most.map((k) => told().columns[k]))));
}

async function cloudPanel() {
  const { points, curves } = await ask("cloud", { model: state.model, z: state.z });
  const here = (await ask("decode", { model: state.model, z: state.z })).decoded;
  const chart = cloudChart("The data and the curve that each latent draws through the point", points, curves, here);
  return [...svgHeading("The data, and the curve that each latent draws", chart),
    element("p", { class: "quiet" }, "Drag the cloud or use the arrow keys to turn it. Blue is the most important latent.")];
}

async function planeView(z, [first, second]) {
  const { frames, side } = await ask("plane", { model: state.model, z, first, second });
  const box = element("div", { class: "plane" });
  box.style.gridTemplateColumns = `repeat(${side}, max-content)`;
  box.append(...frames.map((frame) => typeof frame === "string" ? element("img", { src: frame, alt: "" }) : element("span", { class: "quiet" }, frame.map(short).slice(0, 2).join(" "))));
  return element("div", {}, box, element("p", { class: "quiet" }, `Latent ${first} grows to the right, latent ${second} upwards.`));
}

async function linearView(z, latent) {
  if (stored) return [];
  const step = told().reach[latent] / 3;
  const found = await ask("linear", { model: state.model, z, latent, step });
  const views = element("div", { class: "views" }, view(found.predicted, "predicted"), view(found.actual, "decoded"));
  return [heading(`A step of ${short(step)} along latent ${latent}: the Jacobian's prediction, and the decoder`, pictureSaver(views, 2, "step")), views,
    element("p", { class: "quiet" }, `The prediction misses ${(100 * found.missed).toFixed(0)} % of the change.`)];
}

function factorCell(latents, latent, factor, share) {
  const value = share ?? 0;
  const button = element("button", { type: "button", "aria-label": `latent ${latent} and ${factor}: ${value.toFixed(2)}`,
    onclick: async () => {
      const other = latents.find((k) => k !== latent);
      const { x, y, values } = await ask("scatter", { model: state.model, latent, other, factor });
      const chart = scatterChart(`Codes coloured by ${factor}`, x, y, values, [`latent ${latent}`, `latent ${other}`]);
      find("scatter").replaceChildren(...svgHeading(`Codes coloured by ${factor}`, chart));
    } }, value.toFixed(2));
  button.style.background = `color-mix(in srgb, var(--blue) ${Math.round(55 * value)}%, var(--paper))`;
  return element("td", {}, button);
}

function studyView({ name, scale, done, total, left, page }) {
  const text = done === total ? ` all ${total} runs are done` : ` ${done} of ${total} runs; time left on two cores: ${left}`;
  return element("p", {}, element("strong", {}, `${name}, ${scale} `), element("progress", { max: total, value: done, "aria-label": `${name}, ${scale}` }), text,
    page && element("a", { href: `report/${page}` }, " table and figures"));
}

async function runView(run) {
  const card = element("section", { "data-run": run.name }, heading(run.name));
  if (run.state === "damaged") return card.append(element("p", { class: "finding bad" }, run.reason)), card;
  const left = run.left == null ? "" : `, about ${run.left < 90 ? `${Math.ceil(run.left)} s` : `${Math.round(run.left / 60)} min`} left`;
  card.append(element("p", {}, element("progress", { max: run.steps || 1, value: run.step, "aria-label": "steps" }), ` ${run.state}, step ${run.step} of ${run.steps}${left}`));
  const charts = element("div", { class: "columns" });
  const { step = [], ...terms } = run.terms;
  for (const [name, values] of Object.entries(step.length > 1 ? terms : {})) charts.append(chartBox(name, lineChart(name, step, [{ values }])));
  if (run.latents.step?.length > 1) {
    charts.append(chartBox("error of the polarized KL", lineChart("Delta_KL", run.latents.step, [{ values: run.latents.delta_kl }], { log: true })));
    charts.append(chartBox("active latents", lineChart("active latents", run.latents.step, [{ values: run.latents.active }])));
  }
  card.append(charts);
  if (run.state === "training") await addSnapshot(card, charts, run);
  return card;
}

const chartBox = (name, chart) => element("div", {}, element("p", { class: "quiet" }, name, " ",
  element("button", { type: "button", "aria-label": `Save ${name}`, onclick: () => saveSvg(chart, name) }, "Save")), chart);

async function addSnapshot(card, charts, run) {
  try {
    const found = await ask("snapshot", { run: run.name });
    const turned = turns.get(run.name) ?? turns.set(run.name, []).get(run.name);
    if (found.dto != null && turned.at(-1)?.step !== found.step) turned.push(found);
    if (turned.length > 1) {
      const line = lineChart("distance to orthogonality", turned.map((each) => each.step), [{ values: turned.map((each) => each.dto) }]);
      charts.append(chartBox("distance to orthogonality, since the page was opened", line));
    }
    if (found.dto != null) card.append(element("p", {}, `Distance to orthogonality at step ${found.step}: ${found.dto.toFixed(2)}, by chance ${found.chance.toFixed(2)}.`));
    if (found.square) charts.append(chartBox("the square in latent space", squareChart("latent square", found.square.codes, found.square.at)));
  } catch (error) { card.append(element("p", { class: "quiet" }, error.message)); }
}

let asked = 0;
async function drawPanel() {
  const mine = ++asked;
  find("panel").setAttribute("aria-busy", "true");
  let parts;
  try {
    const ready = state.model || state.tab === "Training";
    parts = ready ? await panels[state.tab]() : [element("p", {}, "No model has finished yet; runs in progress are under Training.")];
  } catch (error) {
    parts = [element("p", { class: "finding bad" }, error.message)];
  }
  if (mine !== asked) return;
  find("panel").replaceChildren(...parts);
  find("panel").setAttribute("aria-busy", "false");
}

function drawTabs() {
  find("tabs").replaceChildren(...Object.keys(panels).map((name) => element("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(name === state.tab), "aria-controls": "panel",
    tabindex: name === state.tab ? "0" : "-1",
    onclick: () => { state.tab = name; drawTabs(); drawPanel(); remember(); },
    onkeydown: (event) => {
      const names = Object.keys(panels), step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      state.tab = names[(names.indexOf(name) + step + names.length) % names.length];
      drawTabs(); drawPanel(); remember(); find(`tab-${state.tab}`).focus();
    },
  }, name)));
  find("panel").setAttribute("aria-labelledby", `tab-${state.tab}`);
}

function remember() {
  const { model, others, row, seed, z, tab } = state;
  history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify({ model, others, row, seed, z, tab })));
}

function restored() {
  try {
    return JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch { return {}; }
}

function asPython() {
  return `${told().python}\n\nimport torch\n\nz = torch.tensor([${JSON.stringify(state.z)}])\nx = probe.decoder(z.to(probe.mean))`;
}

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch { say("Copying was refused; the text is in the console."); console.info(text); }
}

function listModels(names) {
  const chosen = find("model").value;
  const options = () => names.map((name) => element("option", { value: name }, name));
  find("model").replaceChildren(...options());
  find("others").replaceChildren(...options());
  if (chosen) find("model").value = chosen;
  for (const option of find("others").options) option.selected = state.others.includes(option.value);
  find("beside").hidden = names.length < 2;
}

function watchRuns() {
  const source = new EventSource("api/events");
  source.onmessage = async (event) => {
    const run = JSON.parse(event.data), before = runs.get(run.name);
    runs.set(run.name, run);
    if (before && before.state !== "finished" && run.state === "finished") {
      listModels((await ask("overview")).models);
      say(`${run.name} has finished.`);
      if (!state.model) { find("stage").hidden = false; await chooseModel(run.name); }
    }
    if (state.tab === "Training") { clearTimeout(watchRuns.timer); watchRuns.timer = setTimeout(drawPanel, 300); }
  };
}

async function begin() {
  const { models, report } = await ask("overview");
  const link = restored();
  state.others = (Array.isArray(link.others) ? link.others : []).filter((name) => models.includes(name)).slice(0, MOST);
  listModels(models);
  find("beside").open = state.others.length > 0;
  state.tab = link.tab in panels ? link.tab : models.length ? "Latents" : "Training";
  drawTabs();
  if (!stored) watchRuns();
  if (report.length) document.querySelector(".share").prepend(element("a", { href: `report/${report.includes("index.html") ? "index.html" : report[0]}` }, "Report"));
  find("stage").hidden = !models.length;
  if (!models.length) return drawPanel();
  state.row = Number.isInteger(link.row) || link.row === null ? link.row : 0;
  state.seed = link.seed || 0;
  find("row").value = state.row ?? 0;
  const name = models.includes(link.model) ? link.model : models[0];
  const latents = (await describe(name)).order.length;
  await chooseModel(name, Array.isArray(link.z) && link.z.length === latents && link.model === name ? link.z : null);
}

const failing = (action) => async (event) => {
  try { await action(event); } catch (error) { say(error.message); }
};
find("model").addEventListener("change", failing((event) => chooseModel(event.target.value)));
find("others").addEventListener("change", failing((event) => {
  state.others = [...event.target.selectedOptions].map((option) => option.value).slice(0, MOST);
  return restart([...state.z]);
}));
find("row").addEventListener("change", failing((event) => { state.row = Number(event.target.value); return restart(); }));
find("next").addEventListener("click", failing(() => {
  state.row = stored ? state.row : Math.floor(Math.random() * told().observations);
  find("row").value = state.row;
  return restart();
}));
find("prior").addEventListener("click", failing(() => { state.row = null; state.seed += 1; return restart(); }));
find("reset").addEventListener("click", failing(() => restart()));
find("save-views").addEventListener("click", () => pictureSaver(find("views"), find("views").children.length, "observations")());
find("copy-link").addEventListener("click", () => copy(location.href, "The link is copied; it restores this view."));
find("copy-python").addEventListener("click", () => copy(asPython(), "Python code is copied."));
if (stored) for (const id of ["next", "prior", "copy-python"]) find(id).hidden = true;
begin().catch((error) => say(error.message));
