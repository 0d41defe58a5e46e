// The datasets and networks of the page, unpacked.

const STEPS = 65535; // of places, probabilities and attention between 0 and 1

function decode({ type, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array }[type](bytes.buffer);
}

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
  className = (number) => this.classes[number] ?? "unknown";
  title = (v) => `${this.noun[0].toUpperCase()}${this.noun.slice(1)} ${v}`;
  hyperedgesOf = (v) => this.hyperedge.subarray(this.offsets[v], this.offsets[v + 1]);
  hyperedgeName(e) {
    if (this.hyperedge_names) return `“${this.hyperedge_names[e]}”`;
    return this.centroid?.[e] ? `around ${this.noun} ${this.centroid[e] - 1}` : `hyperedge ${e}`;
  }
  words = (v) => (this.hyperedge_names ? Array.from(this.hyperedgesOf(v), (e) => this.hyperedge_names[e]) : []);
}

class Net {
  // The results of a network, unpacked.
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
