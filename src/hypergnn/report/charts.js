// Charts: each <div class="chart" data-chart="name"> gets the specification of that name, in the page's colours.

const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

const charts = read("charts"); // {specs, themes, palette}
const palette = charts.palette;
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map(); // element → its last drawing, {name, options, shown}: drawn again when the colours change

const colour = (number) => (number < 0 ? "var(--line)" : palette[number % palette.length]);

// Options: datasets, a function that returns the current data; dotSize; renderer; ready, called with the view.
function draw(element, name, options = {}) {
  const before = drawn.get(element);
  const drawing = { name, options };
  drawn.set(element, drawing);
  element.view = null;
  drawing.shown = embed(element, drawing, before?.shown);
}

// One drawing after the other: an element never holds two, and only the last of several waiting ones is made.
async function embed(element, drawing, before) {
  (await before)?.finalize();
  if (drawn.get(element) !== drawing) return null;
  const { datasets, dotSize, renderer = "svg", ready } = drawing.options;
  const config = charts.themes[dark.matches ? "dark" : "light"];
  const spec = structuredClone(charts.specs[drawing.name]);
  spec.description = element.getAttribute("aria-label"); // else Vega replaces it with its own text
  if (datasets) spec.datasets = datasets();
  if (dotSize) spec.layer[0].mark.size = dotSize;
  const shown = await window.vegaEmbed(element, spec, { actions: false, ast: true, config, renderer, hover: false });
  if (drawn.get(element) === drawing) {
    element.view = shown.view;
    element.dataset.drawn = drawing.name;
    ready?.(shown.view);
  }
  return shown;
}

// Charts are drawn when they come near the screen.
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        nearby.unobserve(target);
        draw(target, target.dataset.chart);
      }
    }
  },
  { rootMargin: "800px" },
);

function start() {
  for (const element of document.querySelectorAll(".chart[data-chart]")) nearby.observe(element);
  dark.addEventListener("change", () => drawn.forEach(({ name, options }, element) => draw(element, name, options)));
  addEventListener("beforeprint", () => {
    for (const element of document.querySelectorAll(".chart[data-chart]:not([data-drawn])")) draw(element, element.dataset.chart);
  });
  const curves = document.getElementById("curve");
  curves?.addEventListener("change", () => {
    const element = document.getElementById("curve-chart");
    const [chosen] = curves.selectedOptions;
    element.dataset.chart = chosen.value;
    element.setAttribute("aria-label", chosen.dataset.alt);
    draw(element, chosen.value);
  });
}
