// Charts are drawn already. What their marks say appears beside the pointer, and one of the learning curves is shown.

const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
const byId = (id) => document.getElementById(id);

function showTip(words, { clientX, clientY }) {
  const tip = byId("tip");
  tip.textContent = words;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(clientX - width / 2, 8), innerWidth - width - 8);
  const top = clientY - height - 14 < 0 ? clientY + 18 : clientY - height - 14;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function hideTip() {
  byId("tip").hidden = true;
}

// The text of a mark: its <title>, taken out so that the browser does not show it as well.
function words(mark) {
  const title = mark?.querySelector(":scope > title");
  if (title) {
    mark.dataset.words = title.textContent;
    title.remove();
  }
  return mark?.dataset.words;
}

function hint(event) {
  const mark = event.target.closest?.(".trials circle, .hit");
  const text = words(mark);
  if (mark?.matches("circle")) words(mark.closest(".hit")); // else the browser shows the title around it
  if (text) showTip(text, event);
  else hideTip();
}

function startCharts() {
  for (const chart of document.querySelectorAll(".chart")) {
    chart.addEventListener("pointermove", hint);
    chart.addEventListener("pointerdown", hint);
    chart.addEventListener("pointerleave", hideTip);
  }
  addEventListener("scroll", hideTip, { passive: true });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });
  byId("curve")?.addEventListener("change", (event) => {
    const figures = document.querySelectorAll(".curve");
    figures.forEach((figure, number) => {
      figure.hidden = number !== event.target.selectedIndex;
    });
  });
}
