// The explorer: a map of the vertices, and for a chosen one its classes, its hyperedges and the attention they get.

const explorer = read("networks"); // {datasets, networks}
const STEPS = 65535; // of places, probabilities and attention between 0 and 1
const FEW = 12; // hyperedges listed at first
const MANY = 60; // members listed at most
const PARTS = ["in no part of the split", "to train", "to validate", "to test"];

function decode({ type, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array }[type](bytes.buffer);
}

// make("li", {class: "x"}, "text", element, …): an element with attributes and content; functions listen for clicks.
function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener("click", value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...content);
  return element;
}

const percent = (share) => (share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`);
const dot = (number) => make("i", { class: "dot", style: { "--c": colour(number) }, "aria-hidden": "true" });

class Vertices {
  // The structure of a dataset, unpacked: hyperedges of each vertex and members of each hyperedge.
  constructor(packed) {
    Object.assign(this, packed);
    for (const name of ["truth", "part", "offsets", "hyperedge", "centroid", "pictures"]) {
      if (packed[name]) this[name] = decode(packed[name]);
    }
    this.starts = new Uint32Array(this.m + 1);
    for (const one of this.hyperedge) this.starts[one + 1] += 1;
    for (let e = 0; e < this.m; e += 1) this.starts[e + 1] += this.starts[e];
    this.vertices = new Uint32Array(this.hyperedge.length);
    const next = this.starts.slice();
    for (let v = 0; v < this.n; v += 1) {
      for (let at = this.offsets[v]; at < this.offsets[v + 1]; at += 1) this.vertices[next[this.hyperedge[at]]++] = v;
    }
  }
  members = (e) => this.vertices.subarray(this.starts[e], this.starts[e + 1]);
  size = (e) => this.starts[e + 1] - this.starts[e];
  truthOf = (v) => this.truth[v] - 1; // -1: unknown
  name = (v) => this.vertex_names?.[v] ?? String(v);
  title = (v) => `${this.noun[0].toUpperCase()}${this.noun.slice(1)} ${this.name(v)}`;
  hyperedgeName(e) {
    if (this.hyperedge_names) return `“${this.hyperedge_names[e]}”`;
    return this.centroid?.[e] ? `around ${this.noun} ${this.name(this.centroid[e] - 1)}` : `hyperedge ${e}`;
  }
  words(v) {
    const own = [...this.hyperedge.subarray(this.offsets[v], this.offsets[v + 1])];
    return this.hyperedge_names ? own.map((e) => this.hyperedge_names[e]) : [];
  }
}

class Net {
  // A network's findings, unpacked.
  constructor(packed, vertices) {
    Object.assign(this, packed);
    for (const name of ["places", "probability", "attention"]) if (packed[name]) this[name] = decode(packed[name]);
    this.vertices = vertices;
    this.nClasses = vertices.classes.length;
    this.predicted = Int32Array.from({ length: vertices.n }, (_, v) => {
      const shares = this.shares(v);
      return shares.indexOf(Math.max(...shares));
    });
  }
  shares = (v) => Array.from(this.probability.subarray(v * this.nClasses, (v + 1) * this.nClasses), (one) => one / STEPS);
  heat = (at) => this.heads.map((_, head) => this.attention[at * this.heads.length + head] / STEPS);
  isWrong = (v) => this.vertices.truth[v] > 0 && this.vertices.truthOf(v) !== this.predicted[v];
}

const cache = { vertices: {}, nets: {} };
const state = { net: null, vertex: 0, view: null };
const byId = (id) => document.getElementById(id);

function open(number) {
  const packed = explorer.networks[number];
  cache.vertices[packed.dataset] ??= new Vertices(explorer.datasets[packed.dataset]);
  cache.nets[number] ??= new Net(packed, cache.vertices[packed.dataset]);
  const changesData = state.net?.dataset !== packed.dataset;
  state.net = cache.nets[number];
  if (changesData) state.vertex = firstVertex();
  byId("map-note").textContent = `${packed.label}, ${packed.accuracy} % of the test vertices right. A dot is one ${state.net.vertices.noun}.`;
  drawMap();
  show();
}

// A test vertex that is predicted wrongly and has several hyperedges: there is something to see in it.
function firstVertex() {
  const { vertices } = state.net;
  const degree = (v) => vertices.offsets[v + 1] - vertices.offsets[v];
  for (let v = 0; v < vertices.n; v += 1) if (vertices.part[v] === 3 && degree(v) > 3 && state.net.isWrong(v)) return v;
  return 0;
}

function points() {
  const { vertices, places, predicted } = state.net;
  const byTruth = byId("colour-by").value === "truth";
  return Array.from({ length: vertices.n }, (_, v) => {
    const number = byTruth ? vertices.truthOf(v) : predicted[v];
    const name = vertices.classes[number] ?? "unknown";
    return { x: places[2 * v] / STEPS, y: places[2 * v + 1] / STEPS, colour: number, label: `${vertices.title(v)}: ${name}` };
  });
}

function around() {
  const { vertices, places } = state.net;
  const place = (v) => ({ x: places[2 * v] / STEPS, y: places[2 * v + 1] / STEPS });
  const own = vertices.hyperedge.subarray(vertices.offsets[state.vertex], vertices.offsets[state.vertex + 1]);
  const near = new Set([...own].filter((e) => vertices.size(e) <= MANY).flatMap((e) => [...vertices.members(e)]));
  near.delete(state.vertex);
  return { chosen: [place(state.vertex)], members: [...near].map(place) };
}

function drawMap() {
  const { classes, n } = state.net.vertices;
  byId("map-key").replaceChildren(...classes.map((name, number) => make("li", {}, dot(number), name)));
  const datasets = { points: points(), ...around() };
  const dotSize = Math.min(Math.max(70000 / n, 6), 30); // the more vertices, the smaller their dots
  draw(byId("map"), "map", { datasets, dotSize, renderer: "canvas", ready: listen });
}

function listen(view) {
  state.view = view;
  view.addEventListener("click", (event) => {
    const box = view.container().querySelector("canvas").getBoundingClientRect();
    const [left, top] = view.origin();
    const x = event.clientX - box.left - left;
    const y = event.clientY - box.top - top;
    const { places, vertices } = state.net;
    let best = -1;
    let nearest = 24 ** 2; // a finger's breadth
    for (let v = 0; v < vertices.n; v += 1) {
      const dx = view.scale("x")(places[2 * v] / STEPS) - x;
      const dy = view.scale("y")(places[2 * v + 1] / STEPS) - y;
      if (dx * dx + dy * dy < nearest) [best, nearest] = [v, dx * dx + dy * dy];
    }
    if (best >= 0) choose(best);
  });
}

function choose(vertex) {
  state.vertex = vertex;
  history.replaceState(null, "", `#${state.net.dataset}-${vertex}`);
  const { chosen, members } = around();
  state.view?.data("chosen", chosen).data("members", members).run();
  byId("matches").replaceChildren();
  show();
}

function show() {
  const { net, vertex } = state;
  const { vertices } = net;
  const truth = vertices.truthOf(vertex);
  const predicted = net.predicted[vertex];
  const about = [PARTS[vertices.part[vertex]], ...(vertices.hyperedge_names ? [`words: ${vertices.words(vertex).join(", ") || "none"}`] : [])];
  const named = (number) => make("dd", {}, dot(number), vertices.classes[number] ?? "unknown");
  const predictedName = named(predicted);
  if (net.isWrong(vertex)) predictedName.append(" ", make("span", { class: "wrong" }, "wrong"));
  const heading = make(
    "div",
    {},
    make("h3", {}, vertices.title(vertex)),
    make("p", { class: "note" }, about.join(" · ")),
    make("dl", { class: "verdicts" },
      make("div", {}, make("dt", {}, "truth"), named(truth)),
      make("div", {}, make("dt", {}, "prediction"), predictedName)),
  );
  const top = make("header", {}, heading);
  if (vertices.pictures) top.append(picture(vertex));
  byId("card").replaceChildren(top, make("h4", {}, "What the network gives each class"), shares(vertex), ...hyperedges(vertex));
  byId("card").dataset.vertex = vertex;
}

function picture(vertex) {
  const side = Math.sqrt(state.net.vertices.pictures.length / state.net.vertices.n);
  const canvas = make("canvas", { class: "picture", width: side, height: side, role: "img", "aria-label": "the image itself" });
  const pixels = new ImageData(side, side);
  for (let at = 0; at < side * side; at += 1) {
    pixels.data.fill(255 - state.net.vertices.pictures[vertex * side * side + at], 4 * at, 4 * at + 3);
    pixels.data[4 * at + 3] = 255;
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

function shares(vertex) {
  const list = make("div", { class: "shares" });
  state.net.shares(vertex).forEach((share, number) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i", { style: { width: `${100 * share}%`, "--c": colour(number) } }));
    list.append(make("span", {}, state.net.vertices.classes[number]), bar, make("span", { class: "percent" }, percent(share)));
  });
  return list;
}

function hyperedges(vertex) {
  const { net } = state;
  const { vertices } = net;
  const rows = [];
  for (let at = vertices.offsets[vertex]; at < vertices.offsets[vertex + 1]; at += 1) {
    const heat = net.attention ? net.heat(at) : [];
    rows.push({ e: vertices.hyperedge[at], heat, mean: heat.reduce((sum, one) => sum + one, 0) });
  }
  rows.sort((a, b) => b.mean - a.mean || vertices.size(a.e) - vertices.size(b.e));
  const title = make("h4", {}, `Its ${rows.length === 1 ? "hyperedge" : `${rows.length} hyperedges`}`);
  if (!rows.length) return [make("h4", {}, "Its hyperedges"), make("p", { class: "note" }, "None: it is isolated.")];
  const note = net.attention
    ? "Attention by layer and head, in percent: a column sums to 100. The stronger the colour, the more beyond an equal share. Open a hyperedge to see its members."
    : "This network learns no attention: the structure alone decides. Open a hyperedge to see its members.";
  const body = make("tbody");
  const fill = (count) => body.replaceChildren(...rows.slice(0, count).flatMap((row) => hyperedgeRows(row, vertex)));
  fill(FEW);
  const heads = net.attention ? net.heads.map((name) => make("th", { class: "head", scope: "col" }, name)) : [];
  const head = make("thead", {}, make("tr", {},
    make("th", { scope: "col" }, "hyperedge, classes of its members"), ...heads));
  const parts = [title, make("p", { class: "note" }, note), make("div", { class: "scroll", tabindex: "0" }, make("table", { class: "hyperedges" }, head, body))];
  if (rows.length > FEW) {
    const more = make("button", { class: "more", click: () => { fill(rows.length); more.remove(); } }, `all ${rows.length} hyperedges`);
    parts.push(more);
  }
  return parts;
}

function hyperedgeRows({ e, heat }, vertex) {
  const { vertices, heads } = state.net;
  const counts = vertices.classes.map(() => 0);
  for (const v of vertices.members(e)) if (vertices.truth[v]) counts[vertices.truthOf(v)] += 1;
  const words = vertices.classes.map((name, number) => [name, counts[number]]).filter(([, count]) => count);
  const label = words.map(([name, count]) => `${name} ${count}`).join(", ");
  const mix = make("span", { class: "mix", role: "img", "aria-label": label, title: label },
    ...counts.map((count, number) => make("i", { style: { flex: count, "--c": colour(number) } })));
  const inside = make("tr", { hidden: "" }, make("td", { colspan: 1 + heads.length }, members(e, vertex)));
  const opener = make("button", { "aria-expanded": "false", click: () => {
    inside.hidden = !inside.hidden;
    opener.setAttribute("aria-expanded", String(!inside.hidden));
  } }, vertices.hyperedgeName(e));
  const degree = vertices.offsets[vertex + 1] - vertices.offsets[vertex];
  const cells = heat.map((share, head) => {
    const strength = Math.min(Math.max(0.3 + 0.7 * Math.log2(Math.max(share * degree, 1e-9)), 0), 1); // 0.3: an equal share
    const text = (100 * share).toFixed(degree > 3 ? 1 : 0);
    return make("td", { class: strength > 0.7 ? "heat strong" : "heat", style: { "--share": strength }, title: `layer and head ${heads[head]}: ${text} %` }, text);
  });
  const size = make("span", { class: "size" }, mix, `${vertices.size(e)} members`);
  const row = make("tr", { "data-hyperedge": e }, make("th", { scope: "row" }, opener, size), ...cells);
  return [row, inside];
}

function members(e, vertex) {
  const { vertices } = state.net;
  const all = vertices.members(e);
  const list = make("div", { class: "members" });
  for (const v of all.subarray(0, MANY)) {
    list.append(make("button", { "data-vertex": v, "aria-current": v === vertex ? "true" : undefined, click: () => choose(v) }, dot(vertices.truthOf(v)), vertices.name(v)));
  }
  if (all.length > MANY) list.append(make("span", { class: "note" }, `and ${all.length - MANY} more`));
  return list;
}

function search(text) {
  const { vertices } = state.net;
  const wanted = text.trim().toLowerCase();
  const found = [];
  const fits = (v) => vertices.name(v).toLowerCase().startsWith(wanted) || vertices.words(v).some((word) => word.startsWith(wanted));
  if (wanted) {
    const exact = Number(wanted);
    if (Number.isInteger(exact) && exact >= 0 && exact < vertices.n) found.push(exact);
    for (let v = 0; v < vertices.n && found.length < 8; v += 1) if (fits(v) && v !== exact) found.push(v);
  }
  byId("matches").replaceChildren(...found.map((v) =>
    make("li", {}, make("button", { "data-vertex": v, click: () => choose(v) }, dot(vertices.truthOf(v)), [vertices.title(v), vertices.words(v).join(", ")].filter(Boolean).join(": ")))));
  return found;
}

function anyVertex(fits) {
  const { vertices } = state.net;
  const all = Array.from({ length: vertices.n }, (_, v) => v).filter(fits);
  if (all.length) choose(all[Math.floor(Math.random() * all.length)]);
}

function startExplorer() {
  if (!explorer?.networks.length) return;
  byId("network").addEventListener("change", (event) => open(Number(event.target.value)));
  byId("colour-by").addEventListener("change", drawMap);
  byId("find").addEventListener("input", (event) => search(event.target.value));
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const [first] = search(event.target.value);
      if (first !== undefined) choose(first);
    } else if (event.key === "Escape") byId("matches").replaceChildren();
  });
  byId("any").addEventListener("click", () => anyVertex(() => true));
  byId("mistake").addEventListener("click", () => anyVertex((v) => state.net.vertices.part[v] === 3 && state.net.isWrong(v)));
  const [, dataset, vertex] = location.hash.match(/^#(.+)-(\d+)$/) ?? [];
  const linked = explorer.networks.findIndex((one) => one.dataset === dataset);
  byId("network").value = Math.max(linked, 0);
  open(Math.max(linked, 0));
  if (linked >= 0 && Number(vertex) < state.net.vertices.n) choose(Number(vertex));
}

start();
startExplorer();
