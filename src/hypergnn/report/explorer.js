// The explorer: a map of the vertices, and for a chosen one its classes, its hyperedges and the attention they get.

const explorer = read("networks"); // {datasets, networks, palette}
const FEW = 12; // hyperedges listed at first
const MANY = 60; // members of a hyperedge listed at first; larger hyperedges are not ringed
const PARTS = ["not in the split", "training", "validation", "test"];

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

const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const percent = (share) => (share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`);
const colour = (number) => explorer.palette.at(number < 0 ? -1 : number % (explorer.palette.length - 1)); // the last: unknown
const dot = (number) => make("i", { class: "dot", style: { "--c": colour(number) }, "aria-hidden": "true" });

const cache = { vertices: {}, nets: {} };
const state = { net: null, vertex: 0, map: null };

function open(number) {
  const packed = explorer.networks[number];
  cache.vertices[packed.dataset] ??= new Vertices(explorer.datasets[packed.dataset]);
  cache.nets[number] ??= new Net(packed, cache.vertices[packed.dataset]);
  const changesData = state.net?.dataset !== packed.dataset;
  state.net = cache.nets[number];
  if (changesData) state.vertex = firstVertex();
  const { noun, hyperedge_names } = state.net.vertices;
  byId("network").value = number;
  byId("map-name").textContent = packed.label;
  byId("map-note").textContent = `The trial with the lowest validation loss (seed ${packed.seed}), ${packed.accuracy} % test accuracy. Each dot is one ${noun}.`;
  byId("find").placeholder = hyperedge_names ? "number or word" : "number";
  drawMap();
  show();
}

// A test vertex with a wrong prediction and several hyperedges, as an interesting start.
function firstVertex() {
  const { vertices } = state.net;
  const isTelling = (v) => vertices.part[v] === 3 && vertices.hyperedgesOf(v).length > 3 && state.net.isWrong(v);
  for (let v = 0; v < vertices.n; v += 1) if (isTelling(v)) return v;
  return 0;
}

// The vertices to ring: the chosen one, and those that share a hyperedge of moderate size with it.
function around() {
  const { vertices } = state.net;
  const own = Array.from(vertices.hyperedgesOf(state.vertex));
  const small = own.filter((e) => vertices.size(e) <= MANY);
  const near = new Set(small.flatMap((e) => [...vertices.members(e)]));
  near.delete(state.vertex);
  return { near: [...near], nLarge: own.length - small.length };
}

function drawMap() {
  const { vertices, places, predicted } = state.net;
  byId("map-key").replaceChildren(...vertices.classes.map((name, number) => make("li", {}, dot(number), name)));
  const byTruth = byId("colour-by").value === "truth";
  const colours = Array.from({ length: vertices.n }, (_, v) => (byTruth ? vertices.truthOf(v) : predicted[v]));
  state.map.show(places, colours, (v) => `${vertices.title(v)}: ${vertices.className(colours[v])}`);
}

function choose(vertex) {
  const isInCard = byId("card").contains(document.activeElement);
  const losesFocus = isInCard || byId("matches").contains(document.activeElement);
  state.vertex = vertex;
  remember();
  byId("matches").replaceChildren();
  show();
  if (losesFocus) byId("card").querySelector("h3").focus({ preventScroll: !isInCard });
}

// The address of the page names what is shown: #cora-42-hyper-conv, or #cora-42 for the first network on Cora.
function remember() {
  history.replaceState(null, "", `#${state.net.dataset}-${state.vertex}-${state.net.model}`);
}

function follow() {
  const [, dataset, vertex, model] = location.hash.match(/^#(.+?)-(\d+)(?:-(.+))?$/) ?? [];
  const number = explorer.networks.findIndex((one) => one.dataset === dataset && (!model || one.model === model));
  if (number < 0 || Number(vertex) >= explorer.datasets[dataset].n) return false;
  if (state.net !== cache.nets[number]) open(number);
  choose(Number(vertex));
  byId("explorer").scrollIntoView();
  return true;
}

function show() {
  const { net, vertex } = state;
  const { vertices } = net;
  const [truth, predicted] = [vertices.truthOf(vertex), net.predicted[vertex]];
  const about = [PARTS[vertices.part[vertex]], ...(vertices.hyperedge_names ? [`words: ${vertices.words(vertex).join(", ") || "none"}`] : [])];
  const named = (number) => make("dd", {}, dot(number), vertices.className(number));
  const predictedName = named(predicted);
  if (net.isWrong(vertex)) predictedName.append(" ", make("span", { class: "wrong" }, "wrong"));
  const heading = make(
    "div",
    {},
    make("h3", { tabindex: "-1" }, vertices.title(vertex)),
    make("p", { class: "note" }, about.join(" · ")),
    make("dl", { class: "verdicts" },
      make("div", {}, make("dt", {}, "truth"), named(truth)),
      make("div", {}, make("dt", {}, "prediction"), predictedName)),
  );
  const top = make("header", {}, heading);
  if (vertices.pictures) top.append(picture(vertex));
  byId("card").replaceChildren(top, make("h4", {}, "Predicted probabilities"), shares(vertex), ...hyperedges(vertex));
  byId("card").dataset.vertex = vertex;
  byId("status").textContent = `${vertices.title(vertex)}: truth ${vertices.className(truth)}, prediction ${vertices.className(predicted)}`;
  const { near, nLarge } = around();
  state.map.ring(vertex, near);
  byId("ring-note").textContent = ringed(near, nLarge);
}

function ringed(near, nLarge) {
  const { noun } = state.net.vertices;
  const others = near.length ? `, and ${counted(near.length, noun)} that share a hyperedge with it` : "";
  const large = nLarge ? ` Not ringed: ${counted(nLarge, "hyperedge")} with more than ${MANY} members.` : "";
  return `Ringed: the chosen ${noun}${others}.${large}`;
}

function picture(vertex) {
  const side = Math.sqrt(state.net.vertices.pictures.length / state.net.vertices.n);
  const canvas = make("canvas", { class: "picture", width: side, height: side, role: "img", "aria-label": "the image" });
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
    rows.push({ e: vertices.hyperedge[at], heat, total: heat.reduce((sum, one) => sum + one, 0) });
  }
  rows.sort((a, b) => b.total - a.total || vertices.size(a.e) - vertices.size(b.e));
  const title = make("h4", {}, `Its ${rows.length === 1 ? "hyperedge" : `${rows.length} hyperedges`}`);
  if (!rows.length) return [make("h4", {}, "Its hyperedges"), make("p", { class: "note" }, "None: it is isolated.")];
  const note = `${reading(net)} Open a hyperedge to see its members.`;
  const listed = (some) => some.flatMap((row) => hyperedgeRows(row, vertex));
  const body = make("tbody", {}, ...listed(rows.slice(0, FEW)));
  const heads = net.attention ? net.heads.map((name) => make("th", { class: "head", scope: "col" }, name)) : [];
  const head = make("thead", {}, make("tr", {},
    make("th", { scope: "col" }, "hyperedge, classes of its members"), ...heads));
  const parts = [title, make("p", { class: "note" }, note), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Its hyperedges" }, make("table", { class: "hyperedges" }, head, body))];
  if (rows.length > FEW) {
    const more = make("button", { class: "more", click: () => {
      const rest = listed(rows.slice(FEW));
      body.append(...rest);
      more.remove();
      rest[0].querySelector("button").focus();
    } }, `all ${rows.length} hyperedges`);
    parts.push(more);
  }
  return parts;
}

// How the network uses hyperedges, if it does.
function reading({ reads, attends, structural, attention }) {
  const links = reads.includes("graph");
  if (attention) {
    const also = links ? " It also attends to linked vertices, which are not listed." : "";
    return `Attention in percent, one column per layer and head. Each column sums to 100 over the hyperedges of the vertex; a stronger colour means more than an equal share.${also}`;
  }
  if (reads.includes("hypergraph")) {
    const also = links ? " It also uses links between two vertices, which are not listed." : "";
    const how = structural
      ? "This network has no attention: the structure alone determines the weight of a hyperedge."
      : "The weight that this network gives a hyperedge is not listed.";
    return `${how}${also}`;
  }
  if (!links) return "This network uses only the features of the vertex itself. The hyperedges of the data are listed for reference.";
  const how = attends ? "attends to linked vertices" : "averages over linked vertices";
  return `This network does not use hyperedges; it ${how}. The hyperedges of the data are listed for reference.`;
}

function hyperedgeRows({ e, heat }, vertex) {
  const { vertices, heads } = state.net;
  const counts = vertices.classes.map(() => 0);
  for (const v of vertices.members(e)) if (vertices.truth[v]) counts[vertices.truthOf(v)] += 1;
  const words = vertices.classes.map((name, number) => [name, counts[number]]).filter(([, count]) => count);
  const label = words.map(([name, count]) => `${name} ${count}`).join(", ");
  const mix = make("span", { class: "mix", role: "img", "aria-label": label, title: label },
    ...counts.map((count, number) => make("i", { style: { flex: count, "--c": colour(number) } })));
  const room = make("td", { colspan: 1 + heads.length });
  const inside = make("tr", { hidden: "" }, room);
  const opener = make("button", { "aria-expanded": "false", click: () => {
    if (!room.hasChildNodes()) room.append(members(e, vertex));
    inside.hidden = !inside.hidden;
    opener.setAttribute("aria-expanded", String(!inside.hidden));
  } }, vertices.hyperedgeName(e));
  const degree = vertices.hyperedgesOf(vertex).length;
  const cells = heat.map((share, head) => {
    const strength = Math.min(Math.max(0.3 + 0.7 * Math.log2(Math.max(share * degree, 1e-9)), 0), 1); // 0.3: an equal share
    const text = (100 * share).toFixed(degree > 3 ? 1 : 0);
    return make("td", { class: "heat", style: { "--share": strength }, title: `layer and head ${heads[head]}: ${text} %` }, text);
  });
  const size = make("span", { class: "size" }, mix, counted(vertices.size(e), "member"));
  const row = make("tr", { "data-hyperedge": e }, make("th", { scope: "row" }, opener, size), ...cells);
  return [row, inside];
}

// The members of a hyperedge: the chosen vertex first; of many others, an evenly spaced sample.
function members(e, vertex) {
  const { vertices } = state.net;
  const others = vertices.members(e).filter((v) => v !== vertex);
  const list = make("div", { class: "members" });
  const note = make("span", { class: "note" });
  let count = MANY;
  const fill = () => {
    const some = Math.min(count - 1, others.length);
    const chosen = Array.from({ length: some }, (_, at) => others[Math.floor((at * others.length) / some)]);
    const isWhole = some === others.length;
    note.textContent = `${some + 1} of ${others.length + 1} members`;
    list.replaceChildren(member(vertex, true), ...chosen.map((v) => member(v, false)), ...(isWhole ? [] : [note, more]));
  };
  const more = make("button", { class: "more-members", click: () => {
    count *= 4;
    fill();
    (more.isConnected ? more : list.firstChild).focus();
  } }, "more");
  fill();
  return list;
}

function member(v, isChosen) {
  const { vertices } = state.net;
  const name = vertices.className(vertices.truthOf(v));
  const words = { title: name, "aria-label": `${v}, ${name}`, "aria-current": isChosen ? "true" : undefined };
  return make("button", { "data-vertex": v, ...words, click: () => choose(v) }, dot(vertices.truthOf(v)), String(v));
}

function search(text) {
  const { vertices } = state.net;
  const wanted = text.trim().toLowerCase();
  const found = [];
  const fits = (v) => String(v).startsWith(wanted) || vertices.words(v).some((word) => word.startsWith(wanted));
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
  if (!explorer.networks.length) return;
  state.map = new VertexMap(byId("map"), colour, { onChoose: choose });
  byId("map").map = state.map;
  byId("network").addEventListener("change", (event) => {
    open(Number(event.target.value));
    remember();
  });
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
  addEventListener("hashchange", follow);
  if (!follow()) open(0);
}

startCharts();
startExplorer();
