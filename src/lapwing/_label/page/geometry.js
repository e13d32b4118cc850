// @ts-check
// Geometry of points in a plane: scaling, points inside a line, nearest points.

/**
 * Places in a square from -1 to 1, as pairs. Axes keep their proportion unless one is so much
 * longer that the other would be a line.
 * @param {Float32Array} x
 * @param {Float32Array} y
 * @returns {Float32Array}
 */
export function square(x, y) {
  const [xLow, xHigh] = range(x);
  const [yLow, yHigh] = range(y);
  const wide = (xHigh - xLow) / 2 || 1;
  const high = (yHigh - yLow) / 2 || 1;
  const alike = wide / high < 3 && high / wide < 3;
  const xScale = alike ? Math.max(wide, high) : wide;
  const yScale = alike ? Math.max(wide, high) : high;
  const found = new Float32Array(2 * x.length);
  for (let i = 0; i < x.length; i++) {
    found[2 * i] = (x[i] - (xLow + xHigh) / 2) / xScale;
    found[2 * i + 1] = (y[i] - (yLow + yHigh) / 2) / yScale;
  }
  return found;
}

/** @param {Float32Array} values @returns {[number, number]} */
function range(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [-1, 1];
}

/**
 * Which points are inside a closed line, by how often a ray crosses it.
 * @param {Float32Array} points pairs
 * @param {[number, number][]} line
 * @returns {number[]}
 */
export function inside(points, line) {
  const xs = line.map((corner) => corner[0]);
  const ys = line.map((corner) => corner[1]);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [bottom, top] = [Math.min(...ys), Math.max(...ys)];
  const found = [];
  for (let i = 0; i < points.length / 2; i++) {
    const x = points[2 * i];
    const y = points[2 * i + 1];
    if (x < left || x > right || y < bottom || y > top) continue;
    let within = false;
    for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
      if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a]) {
        within = !within;
      }
    }
    if (within) found.push(i);
  }
  return found;
}

const SIDE = 256;

/** The points of a map in cells, so that the nearest is found without looking at all. */
export class Cells {
  /** @param {Float32Array} points pairs in the square from -1 to 1 */
  constructor(points) {
    this.points = points;
    const n = points.length / 2;
    const cells = new Uint32Array(n);
    this.starts = new Uint32Array(SIDE * SIDE + 1);
    for (let i = 0; i < n; i++) {
      cells[i] = cell(points[2 * i + 1]) * SIDE + cell(points[2 * i]);
      this.starts[cells[i] + 1]++;
    }
    for (let c = 0; c < SIDE * SIDE; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice(0, -1);
    this.members = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.members[next[cells[i]]++] = i;
  }

  /**
   * The point that is nearest to a place and not farther than a radius; -1 if there is none.
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   */
  nearest(x, y, radius) {
    let best = -1;
    let least = radius * radius;
    for (let row = cell(y - radius); row <= cell(y + radius); row++) {
      const from = this.starts[row * SIDE + cell(x - radius)];
      const to = this.starts[row * SIDE + cell(x + radius) + 1];
      for (let k = from; k < to; k++) {
        const i = this.members[k];
        const distance = (this.points[2 * i] - x) ** 2 + (this.points[2 * i + 1] - y) ** 2;
        if (distance <= least) [best, least] = [i, distance];
      }
    }
    return best;
  }
}

/** @param {number} place */
const cell = (place) => Math.max(0, Math.min(SIDE - 1, Math.floor(((place + 1) / 2) * SIDE)));
