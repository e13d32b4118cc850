// @ts-check
// Progress: estimated error and class volumes against the number of labels.
import { byId, draw, make, number, percent, plural } from './dom.js';

const WIDTH = 340;
const HEIGHT = 120;
const LEFT = 40;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;

/** @param {import('./api.js').State} state */
export function showProgress(state) {
  const { curve, evidence, n_labeled: labels, n } = state;
  const measured = curve.filter((point) => point.error !== null);
  const parts = [make('p', { class: 'big' }, make('b', {}, number(labels)), ` of ${plural(n, 'row')} labelled`)];
  if (evidence && labels < n) parts.push(make('p', {}, evidence.words));
  else parts.push(make('p', { class: 'minor' }, waiting(state)));
  if (state.finish && labels < n) parts.push(make('p', { class: state.finish.reached ? 'big' : null }, state.finish.words));
  if (measured.length > 1) parts.push(errors(measured));
  const volumes = curve.filter((point) => Object.keys(point.volumes).length > 0);
  if (volumes.length > 1) parts.push(shares(volumes, state.classes));
  byId('progress').replaceChildren(...parts);
  const target = /** @type {HTMLInputElement} */ (byId('target'));
  if (document.activeElement !== target) target.value = state.target === null ? '' : String(round(1000 * state.target) / 10);
}

/** @param {import('./api.js').State} state */
function waiting(state) {
  if (!state.model.ready) return 'The graph of the rows is being made. You can label meanwhile.';
  if (state.n_labeled === state.n) return 'Every row has a label. There is no answer left to estimate an error of.';
  const given = Object.values(state.given).filter((count) => count > 0).length;
  if (given < 2) return 'The model answers as soon as two classes have labels.';
  return 'Its error is estimated from rows drawn at random, some of those that you are asked. None of them has a label yet.';
}

/** @param {import('./api.js').Estimate[]} points */
function errors(points) {
  const top = Math.max(0.02, ...points.map((point) => point.high ?? point.error ?? 0));
  const [across, up] = scales(points, top);
  const at = (/** @type {import('./api.js').Estimate} */ point, /** @type {number | null} */ value) => `${across(point.n_labels)},${up(value ?? point.error ?? 0)}`;
  const band = [...points.map((point) => at(point, point.high)), ...[...points].reverse().map((point) => at(point, point.low))];
  const last = points[points.length - 1];
  const words = `Estimated error: ${percent(points[0].error ?? 0)} at ${plural(points[0].n_labels, 'label')}, ${percent(last.error ?? 0)} at ${number(last.n_labels)}.`;
  return figure('Estimated error', words, points, top, [
    draw('polygon', { class: 'band', points: band.join(' ') }),
    draw('polyline', { class: 'curve', points: points.map((point) => at(point, point.error)).join(' ') }),
    draw('circle', { class: 'dot', cx: across(last.n_labels), cy: up(last.error ?? 0), r: 3 }),
  ]);
}

/** @param {import('./api.js').Estimate[]} points @param {string[]} classes */
function shares(points, classes) {
  const parts = points.map((point) => {
    const all = Object.values(point.volumes).reduce((sum, volume) => sum + volume, 0) || 1;
    return { n_labels: point.n_labels, of: (/** @type {string} */ name) => (point.volumes[name] ?? 0) / all };
  });
  const top = Math.max(...classes.flatMap((name) => parts.map((part) => part.of(name))));
  const [across, up] = scales(points, top);
  const last = parts[parts.length - 1];
  const words = `Volumes: ${classes.map((name) => `${name} ${percent(last.of(name))}`).join(', ')}.`;
  const lines = classes.map((name, code) => draw('polyline', { class: `share k${code % 10}`, points: parts.map((part) => `${across(part.n_labels)},${up(part.of(name))}`).join(' ') }));
  return figure('Volumes of the classes', words, points, top, lines);
}

/** @param {import('./api.js').Estimate[]} points @param {number} top */
function scales(points, top) {
  const first = points[0].n_labels;
  const span = points[points.length - 1].n_labels - first || 1;
  /** @param {number} labels */
  const across = (labels) => round(LEFT + ((labels - first) / span) * (WIDTH - LEFT - RIGHT));
  /** @param {number} value */
  const up = (value) => round(HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM));
  return [across, up];
}

/**
 * @param {string} title
 * @param {string} words
 * @param {import('./api.js').Estimate[]} points
 * @param {number} top
 * @param {SVGElement[]} lines
 */
function figure(title, words, points, top, lines) {
  const [across, up] = scales(points, top);
  const last = points[points.length - 1].n_labels;
  const axes = [0, top].flatMap((value) => [
    draw('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: up(value), y2: up(value) }),
    draw('text', { x: LEFT - 6, y: up(value) + 4, 'text-anchor': 'end' }, percent(value)),
  ]);
  const ends = [
    draw('text', { x: LEFT, y: HEIGHT - 5 }, number(points[0].n_labels)),
    draw('text', { x: across(last), y: HEIGHT - 5, 'text-anchor': 'end' }, plural(last, 'label')),
  ];
  const picture = draw('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': words }, ...axes, ...lines, ...ends);
  return make('figure', {}, make('figcaption', {}, title), picture);
}

/** @param {number} value */
const round = (value) => Math.round(value * 10) / 10;
