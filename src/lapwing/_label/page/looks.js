// @ts-check
// How each point of the map looks: its colour, shape, size and edge.
import { NOBODY } from './api.js';
import { shapeOf } from './palette.js';

/** @typedef {'prediction' | 'confidence' | 'given'} Colouring */

/**
 * @param {import('./api.js').Colours} colours
 * @param {Uint8Array} selected 1 for points that are selected
 * @param {boolean} fade whether the selected ones stand out, and the others fade
 * @param {Colouring} colouring
 * @param {import('./palette.js').Palette} palette
 */
export function looks(colours, selected, fade, colouring, palette) {
  const { given, predicted, confidence } = colours;
  const n = given.length;
  const inks = new Uint8Array(4 * n);
  const marks = new Uint8Array(4 * n);
  const size = 4 * sizeOf(n);
  const faint = fade ? 85 : 205;
  /** @type {number[]} */
  const top = [];
  for (let i = 0; i < n; i++) {
    const own = given[i] !== NOBODY;
    const code = own || colouring === 'given' ? given[i] : predicted[i];
    let ink = code === NOBODY ? palette.nobody : palette.of(code);
    if (colouring === 'confidence' && !own) {
      ink = predicted[i] === NOBODY ? palette.nobody : palette.along(confidence[i] / 256);
    }
    const chosen = fade && selected[i] === 1;
    if (chosen && code === NOBODY) ink = palette.edge;
    inks[4 * i] = ink[0];
    inks[4 * i + 1] = ink[1];
    inks[4 * i + 2] = ink[2];
    inks[4 * i + 3] = chosen || own ? 255 : faint;
    marks[4 * i] = code === NOBODY ? 0 : shapeOf(code);
    marks[4 * i + 1] = Math.min(255, own ? size + 20 : chosen ? size + 8 : size);
    marks[4 * i + 2] = own ? 255 : 0;
    if (own || chosen) top.push(i);
  }
  return { all: { inks, marks }, top: { points: top, inks: gather(inks, top), marks: gather(marks, top) } };
}

/** Pixels across a point: many points are small. @param {number} n */
const sizeOf = (n) => (n < 1000 ? 9 : n < 5000 ? 7 : n < 30000 ? 5 : n < 100000 ? 4 : 3);

/** @param {Uint8Array} fours @param {number[]} points */
function gather(fours, points) {
  const found = new Uint8Array(4 * points.length);
  points.forEach((i, k) => found.set(fours.subarray(4 * i, 4 * i + 4), 4 * k));
  return found;
}
