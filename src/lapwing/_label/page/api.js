// @ts-check
// Requests to the server. Addresses are relative: the folder of the page is the token.

/**
 * @typedef {{version: number, source: string, n: number, n_shown: number, sample_note: string | null,
 *   columns: string[], has_text: boolean, has_image: boolean, maps: {key: string, title: string}[],
 *   classes: string[], hidden: string[], given: Record<string, number>, predicted: Record<string, number>,
 *   n_labeled: number, history: Step[], can_undo: boolean,
 *   model: {name: string, ready: boolean, fitted: boolean, version: number},
 *   evidence: {error: number, low: number, high: number, words: string} | null,
 *   target: number | null, finish: {reached: boolean, words: string} | null,
 *   curve: Estimate[], suggestions: number[], skipped: number[], suspicious: SuspiciousLabel[], warnings: string[],
 *   journal: string | null, fit_command: string | null}} State
 * @typedef {{batch: number, label: string | null, renamed: [string, string] | null, n_rows: number, n_classes: number,
 *   taken_back: boolean, by: string, time: string, checked: string}} Step
 * @typedef {{n_labels: number, error: number | null, low: number | null, high: number | null,
 *   volumes: Record<string, number>}} Estimate
 * @typedef {{row: number, given: string, suggested: string, against: string}} SuspiciousLabel
 * @typedef {{row: number, id: string, cells: Record<string, string>, text: string | null,
 *   supporting_words: string[], first_columns: string[], candidates: {name: string, share: number}[], image: boolean, flagged: boolean, given: string | null, predicted: string | null, confidence: number | null}} Row
 * @typedef {{version: number, model: number, given: Uint16Array, predicted: Uint16Array,
 *   confidence: Uint8Array}} Colours
 * @typedef {{rows: Int32Array, x: Float32Array, y: Float32Array}} Places
 * @typedef {{version: number, batch: number, n_rows: number}} Receipt
 */

/** No class, in the codes of `Colours`. */
export const NOBODY = 65535;

/** The most rows that one question may name. */
export const MOST_ROWS = 200;

/** The server rejected a request and gave a reason. */
export class Refused extends Error {}

/** The server did not answer. */
export class Lost extends Error {}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Lost('The server does not answer.');
  }
  if (answer.ok) return answer;
  let words = '';
  try {
    words = (await answer.json()).error;
  } catch {
    // Without a message from the server, report the status code.
  }
  throw new Refused(words || `The server refused this (${answer.status}).`);
}

/** @param {string} path @param {object} message */
async function post(path, message) {
  const body = JSON.stringify(message);
  const headers = { 'Content-Type': 'application/json' };
  return (await ask(path, { method: 'POST', headers, body })).json();
}

/** @returns {Promise<State>} */
export const state = async () => (await ask('api/state')).json();

/** @param {string} key @returns {Promise<Places>} */
export async function places(key) {
  const buffer = await (await ask(`api/map/${encodeURIComponent(key)}`)).arrayBuffer();
  const n = new Int32Array(buffer, 0, 1)[0];
  return {
    rows: new Int32Array(buffer, 4, n),
    x: new Float32Array(buffer, 4 + 4 * n, n),
    y: new Float32Array(buffer, 4 + 8 * n, n),
  };
}

/** @returns {Promise<Colours>} */
export async function colours() {
  const answer = await ask('api/colours');
  const buffer = await answer.arrayBuffer();
  const n = new Int32Array(buffer, 0, 1)[0];
  return {
    version: Number(answer.headers.get('X-Version')),
    model: Number(answer.headers.get('X-Model-Version')),
    given: new Uint16Array(buffer, 4, n),
    predicted: new Uint16Array(buffer, 4 + 2 * n, n),
    confidence: new Uint8Array(buffer, 4 + 4 * n, n),
  };
}

/** @param {number[]} ids @returns {Promise<Row[]>} */
export const rows = async (ids) => (ids.length ? (await ask(`api/rows?ids=${ids}`)).json() : []);

/** @param {Record<string, string>} query words, class, by, state; empty ones are left out @returns {Promise<number[]>} */
export const find = async (query) => (await ask(`api/find?${new URLSearchParams(Object.entries(query).filter(([, value]) => value))}`)).json();

/** @param {number[]} rows @param {'flagged' | 'skipped'} mark @param {boolean} on @returns {Promise<{version: number}>} */
export const mark = (rows, mark, on) => post('api/mark', { rows, mark, on });

/** @param {number} k @param {number[]} skip @returns {Promise<number[]>} */
export const suggest = async (k, skip) => (await ask(`api/suggest?k=${k}&skip=${skip}`)).json();

/** @param {number[]} rows @param {string | null} label @returns {Promise<Receipt>} */
export const give = (rows, label) => post('api/batch', { rows, label });

/** @param {number[]} rows @param {number} model what the user saw @returns {Promise<Receipt>} */
export const take = (rows, model) => post('api/batch', { rows, take: 'model', model });

/** @param {number} [batch] @returns {Promise<Receipt>} */
export const undo = (batch) => post('api/undo', batch === undefined ? {} : { batch });

/** @param {string} name @returns {Promise<{version: number}>} */
export const addClass = (name) => post('api/classes', { name });

/** @param {string} from @param {string} to @returns {Promise<Receipt>} */
export const renameClass = (from, to) => post('api/rename', { from, to });

/** Delete a class; its rows get another one, or lose their label. @param {string} name @param {string | null} into @returns {Promise<Receipt>} */
export const dropClass = (name, into) => post('api/drop', { class: name, into });

/** @param {string} percent of wrong answers to stop at, empty for none @returns {Promise<{version: number}>} */
export const setTarget = (percent) => post('api/target', { percent });

/** @param {number} row */
export const picture = (row) => `api/image/${row}`;

/**
 * Listen to changes made in this tab or another.
 * @param {(event: {version: number, part: string}) => void} changed
 * @param {(online: boolean) => void} connected whether the server answers
 */
export function follow(changed, connected) {
  const stream = new EventSource('api/events');
  stream.onopen = () => connected(true);
  stream.onerror = () => {
    connected(false);
    // The browser reconnects by itself, except after a rejected request.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => follow(changed, connected), 2000);
  };
  stream.onmessage = (message) => changed(JSON.parse(message.data));
}
