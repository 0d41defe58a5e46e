// Charts: each <div class="chart" data-chart="name"> gets the specification of that name, in the page's colours.

const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

const charts = read("charts"); // {specs, themes, palette}
const palette = charts.palette;
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map(); // element → what it shows, to draw it again when the colours change

const colour = (number) => (number < 0 ? "var(--line)" : palette[number % palette.length]);

async function draw(element, name, options = {}) {
  const { datasets, dotSize, renderer = "svg", ready } = options;
  drawn.set(element, [name, options]);
  const config = charts.themes[dark.matches ? "dark" : "light"];
  const spec = structuredClone(charts.specs[name]);
  if (datasets) spec.datasets = datasets;
  if (dotSize) spec.layer[0].mark.size = dotSize;
  const shown = await window.vegaEmbed(element, spec, { actions: false, ast: true, config, renderer, hover: false });
  element.dataset.drawn = name;
  ready?.(shown.view);
  return shown.view;
}

// Charts far down the page wait until they are near the screen.
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
  dark.addEventListener("change", () => drawn.forEach(([name, options], element) => draw(element, name, options)));
  addEventListener("beforeprint", () => {
    for (const element of document.querySelectorAll(".chart[data-chart]:not([data-drawn])")) draw(element, element.dataset.chart);
  });
  const curves = document.getElementById("curve");
  curves?.addEventListener("change", () => {
    const element = document.getElementById("curve-chart");
    element.dataset.chart = curves.value;
    draw(element, curves.value);
  });
}
