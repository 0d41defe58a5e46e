// The map of the vertices: a dot for each, in the colour of its class, and rings around some of them.

const BORDER = 0.02; // share of the map around the outermost dots
const REACH = 24; // pixels: a pointer this close to a dot chooses it, about the width of a finger
const FULL = 2 * Math.PI;

class VertexMap {
  // Places are shares of the map, x and y in turn. Colours are numbers of classes, -1 if unknown.
  constructor(canvas, palette, { onChoose }) {
    Object.assign(this, { canvas, palette, places: [], colours: [], chosen: -1, near: [], label: null, width: 0, height: 0 });
    canvas.addEventListener("click", (event) => {
      const vertex = this.closest(event, REACH);
      if (vertex >= 0) onChoose(vertex);
    });
    canvas.addEventListener("pointermove", (event) => {
      const vertex = this.closest(event, 8);
      if (vertex >= 0) showTip(this.label(vertex), event);
      else hideTip();
    });
    canvas.addEventListener("pointerleave", hideTip);
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  show(places, colours, label) {
    Object.assign(this, { places, colours, label });
    this.draw();
  }

  ring(chosen, near) {
    Object.assign(this, { chosen, near });
    this.draw();
  }

  // Pixels from the left and the top.
  at(vertex) {
    const share = (value) => (value / STEPS + BORDER) / (1 + 2 * BORDER);
    return [share(this.places[2 * vertex]) * this.width, (1 - share(this.places[2 * vertex + 1])) * this.height];
  }

  closest(event, reach) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, nearest] = [-1, reach ** 2];
    for (let vertex = 0; vertex < this.colours.length; vertex += 1) {
      const [left, top] = this.at(vertex);
      const distance = (left - x) ** 2 + (top - y) ** 2;
      if (distance < nearest) [best, nearest] = [vertex, distance];
    }
    return best;
  }

  draw() {
    const { canvas, colours } = this;
    const scale = devicePixelRatio || 1;
    [this.width, this.height] = [canvas.clientWidth, canvas.clientHeight];
    [canvas.width, canvas.height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const radius = Math.sqrt(Math.min(Math.max(70000 / colours.length, 6), 30) / Math.PI); // the more dots, the smaller
    pen.globalAlpha = 0.72;
    for (let vertex = 0; vertex < colours.length; vertex += 1) {
      pen.fillStyle = this.palette(colours[vertex]);
      this.circle(pen, vertex, radius);
      pen.fill();
    }
    pen.strokeStyle = getComputedStyle(canvas).color;
    pen.globalAlpha = 0.8;
    pen.lineWidth = 1.3;
    for (const vertex of this.near) {
      this.circle(pen, vertex, 4.4);
      pen.stroke();
    }
    if (this.chosen < 0) return;
    pen.globalAlpha = 1;
    pen.lineWidth = 3;
    this.circle(pen, this.chosen, 9);
    pen.stroke();
  }

  circle(pen, vertex, radius) {
    pen.beginPath();
    pen.arc(...this.at(vertex), radius, 0, FULL);
  }
}
