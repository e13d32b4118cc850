// @ts-check
// Colours and shapes of classes. Colours alone are too few for ten classes and for people who see
// fewer of them, so that classes of the same shape were chosen to have colours far apart.
import { draw } from './dom.js';

const COLOURS = 10;
const STEPS = 7;
/** Shape of a class by its place among ten. */
const SHAPE_OF = [0, 1, 2, 3, 0, 3, 1, 2, 1, 2];
const PATHS = [
  'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z', // circle
  'M2 2h12v12H2z', // square
  'M8 14.5L15 2H1z', // triangle
  'M8 .5L15.5 8L8 15.5L.5 8z', // diamond
];

/** @typedef {[number, number, number]} Colour 0 to 255 */

/** Current values of the style sheet, which depend on light and dark mode. */
export class Palette {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    /** @param {string} name */
    const read = (name) => colour(style.getPropertyValue(name));
    this.classes = Array.from({ length: COLOURS }, (_, k) => read(`--k${k}`));
    this.steps = Array.from({ length: STEPS }, (_, k) => read(`--s${k}`));
    this.nobody = read('--nobody');
    this.edge = read('--ink');
  }

  /** @param {number} code @returns {Colour} */
  of(code) {
    return this.classes[code % COLOURS];
  }

  /** @param {number} share from 0 to 1 @returns {Colour} */
  along(share) {
    return this.steps[Math.min(STEPS - 1, Math.floor(share * STEPS))];
  }
}

/** @param {number} code The shape of a class; classes 10 apart have the same colour and another shape. */
export const shapeOf = (code) => (SHAPE_OF[code % COLOURS] + Math.floor(code / COLOURS)) % PATHS.length;

/** @param {number} code A sign of a class, for lists. */
export function sign(code) {
  const path = draw('path', { d: PATHS[shapeOf(code)] });
  const attributes = { class: `sign k${code % COLOURS}`, viewBox: '0 0 16 16', 'aria-hidden': 'true' };
  return draw('svg', attributes, path);
}

/** @param {string} text @returns {Colour} */
function colour(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
