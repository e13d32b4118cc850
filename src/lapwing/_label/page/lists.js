// @ts-check
// Rows as lists: the table of those that are selected, the queue, and those to look at again.
import { MOST_ROWS, picture } from './api.js';
import { byId, make, number, percent, plural, rove } from './dom.js';
import { sign } from './palette.js';

const FIRST_ROWS = 25;
const SHORT = 90;
const UNDECIDED = 0.3; // difference of two probabilities

/** @typedef {import('./api.js').Row} Row */

/** Rows that were read, as long as nothing has changed. */
export class Shelf {
  /** @param {(ids: number[]) => Promise<Row[]>} read */
  constructor(read) {
    this.read = read;
    /** @type {Map<number, Row>} */
    this.known = new Map();
    this.edition = 0;
  }

  /** Forget the rows, whose labels or predictions have changed. */
  clear() {
    this.known.clear();
    this.edition++;
  }

  /** @param {number[]} ids @returns {Promise<Row[]>} */
  async get(ids) {
    const edition = this.edition;
    const found = new Map(this.known);
    const missing = ids.filter((id) => !found.has(id));
    for (let k = 0; k < missing.length; k += MOST_ROWS) {
      for (const row of await this.read(missing.slice(k, k + MOST_ROWS))) {
        found.set(row.row, row);
        if (edition === this.edition) this.known.set(row.row, row);
      }
    }
    return ids.flatMap((id) => found.get(id) ?? []);
  }
}

/** The selected rows: one as a card, several as a table. */
export class Selected {
  /** @param {Shelf} shelf @param {(row: number) => void} drop @param {(words: unknown) => void} failed */
  constructor(shelf, drop, failed) {
    this.shelf = shelf;
    this.drop = drop;
    this.failed = failed;
    this.shown = FIRST_ROWS;
    this.turn = 0;
    this.table = byId('table');
    rove(this.table, 'tbody tr', () => {});
    this.table.addEventListener('keydown', (event) => {
      const at = /** @type {HTMLElement | null} */ (document.activeElement?.closest('tbody tr'));
      if (event.key !== 'Delete' || !at) return;
      event.preventDefault();
      this.drop(Number(at.dataset.row));
    });
  }

  /**
   * @param {number[]} ids @param {import('./api.js').State} state @param {boolean} fresh
   * @returns {Promise<boolean>} whether they are shown, and nothing newer
   */
  async show(ids, state, fresh) {
    if (fresh) this.shown = FIRST_ROWS;
    const turn = ++this.turn;
    byId('selection-title').textContent = ids.length ? `${plural(ids.length, 'row')} selected` : 'Selected rows';
    for (const id of ['take', 'unlabel', 'flag', 'clear']) {
      const button = /** @type {HTMLButtonElement} */ (byId(id));
      button.disabled = !ids.length || (id === 'take' && !state.model.fitted);
    }
    if (!ids.length) {
      byId('card').replaceChildren(make('p', { class: 'minor' }, 'Nothing is selected. Draw around points on the map, click one, or take a row from the queue.'));
      this.table.replaceChildren();
      return true;
    }
    try {
      const rows = await this.shelf.get(ids.slice(0, this.shown));
      if (turn !== this.turn) return false;
      const focused = document.activeElement?.closest('#table tbody tr');
      const row = focused instanceof HTMLElement ? focused.dataset.row : undefined;
      byId('card').replaceChildren(...(ids.length === 1 ? rows.map((found) => card(found, state)) : []));
      this.table.replaceChildren(...(ids.length > 1 ? this.#table(rows, ids.length, state) : []));
      if (row !== undefined) this.#focus(row);
    } catch (error) {
      this.failed(error);
      return false;
    } finally {
      this.again = () => this.show(ids, state, false);
    }
    return true;
  }

  /** @param {string} row */
  #focus(row) {
    const all = /** @type {HTMLElement[]} */ ([...this.table.querySelectorAll('tbody tr')]);
    const found = all.find((item) => item.dataset.row === row) ?? all[0];
    if (!found) return;
    for (const item of all) item.tabIndex = item === found ? 0 : -1;
    found.focus();
  }

  /** @param {Row[]} rows @param {number} all @param {import('./api.js').State} state */
  #table(rows, all, state) {
    const heads = ['Row', ...(state.has_image ? ['Picture'] : []), ...(state.has_text ? ['Text'] : []), 'Given', 'Model says', ...state.columns];
    const head = make('tr', {}, ...heads.map((name) => make('th', { scope: 'col' }, name)));
    const body = rows.map((row, k) =>
      make(
        'tr',
        { tabindex: k ? -1 : 0, 'data-row': row.row, 'aria-label': rowLabel(row) },
        make('th', { scope: 'row' }, row.id),
        state.has_image && make('td', {}, thumbnail(row)),
        state.has_text && make('td', { class: 'text' }, shorten(row.text ?? '')),
        make('td', {}, className(row.given, state)),
        make('td', {}, className(row.predicted, state), row.confidence === null ? null : `\u00a0${percent(row.confidence)}`),
        ...state.columns.map((name) => make('td', {}, shorten(row.cells[name] ?? ''))),
      ),
    );
    const table = make('table', {}, make('caption', { class: 'unseen' }, 'Selected rows. Delete takes a row out of the selection.'), make('thead', {}, head), make('tbody', {}, ...body));
    const rest = all - rows.length;
    const more = make('button', { type: 'button', onclick: () => this.#more() }, `Show more of ${number(rest)} others`);
    return rest > 0 ? [table, more] : [table];
  }

  #more() {
    this.shown += 2 * FIRST_ROWS;
    this.again?.();
  }
}

/**
 * Make a list of rows selectable by mouse and keys.
 * @param {HTMLElement} list
 * @param {(row: number) => void} choose
 */
export function makeSelectable(list, choose) {
  const take = (/** @type {HTMLElement} */ item) => choose(Number(item.dataset.row));
  rove(list, '[role=option]', take);
  list.addEventListener('click', (event) => {
    const item = event.target instanceof Element ? event.target.closest('[role=option]') : null;
    if (item instanceof HTMLElement) {
      item.focus();
      take(item);
    }
  });
  // Focus by Tab does not change the selection.
  list.addEventListener('keydown', (event) => {
    const item = event.target instanceof Element ? event.target.closest('[role=option]') : null;
    if (event.key !== ' ' || !(item instanceof HTMLElement)) return;
    event.preventDefault();
    take(item);
  });
}

/**
 * @param {HTMLElement} list
 * @param {Row[]} rows
 * @param {Set<number>} selected
 * @param {(row: Row, place: number) => (Node | string | null | false)[]} parts
 */
export function fill(list, rows, selected, parts) {
  const focused = document.activeElement?.parentElement === list;
  const kept = focused ? /** @type {HTMLElement} */ (document.activeElement).dataset.row : undefined;
  const at = Math.max(0, rows.findIndex((row) => selected.has(row.row)));
  list.replaceChildren(
    ...rows.map((row, k) =>
      make(
        'li',
        { role: 'option', tabindex: k === at ? 0 : -1, 'data-row': row.row, 'aria-selected': String(selected.has(row.row)) },
        ...parts(row, k),
      ),
    ),
  );
  if (!focused) return;
  const items = /** @type {HTMLElement[]} */ ([...list.children]);
  (items.find((item) => item.dataset.row === kept) ?? items[at] ?? list).focus();
}

/** @param {Row} row @param {number} place @param {import('./api.js').State} state */
export const queueParts = (row, place, state) => [
  make('span', { class: 'place' }, String(place + 1)),
  state.has_image && thumbnail(row),
  make('span', { class: 'what' }, summary(row)),
  row.predicted !== null && make('span', { class: 'says' }, className(row.predicted, state), row.confidence === null ? '' : `\u00a0${percent(row.confidence)}`),
];

/** @param {Row} row @param {import('./api.js').SuspiciousLabel} label @param {import('./api.js').State} state */
export const suspiciousParts = (row, label, state) => [
  state.has_image && thumbnail(row),
  make('span', { class: 'what' }, summary(row)),
  make('span', { class: 'says' }, className(label.given, state), ' → ', className(label.suggested, state)),
  make('span', { class: 'minor' }, label.against),
];

/** All of one row. @param {Row} row @param {import('./api.js').State} state */
export function card(row, state) {
  const names = [...row.first_columns, ...Object.keys(row.cells).filter((name) => !row.first_columns.includes(name))];
  return make(
    'article',
    { class: 'card', 'data-row': row.row, 'aria-label': rowLabel(row) },
    row.image && image(row, 'large', `Picture of row ${row.id}`),
    make(
      'div',
      { class: 'about' },
      make('p', { class: 'which' }, make('b', {}, row.id), row.flagged ? ' ⚑ flagged ' : ' ', className(row.given, state)),
      row.candidates.length > 0 && make('ul', { class: 'candidates', 'aria-label': 'The model says' }, ...row.candidates.map((one) => candidate(one, state))),
      row.given === null && make('p', { class: 'minor' }, why(row)),
      row.text !== null && make('div', { class: 'text', dir: 'auto', tabindex: 0, role: 'region', 'aria-label': 'Text' }, ...marked(row.text, row.supporting_words)),
      names.length > 0 && make('div', { class: 'cells', tabindex: 0, role: 'region', 'aria-label': 'Columns' }, make('dl', {}, ...names.map((name) => make('div', {}, make('dt', {}, name), make('dd', {}, row.cells[name] ?? ''))))),
    ),
  );
}

/**
 * Mark words in a text, regardless of case and of the punctuation between two words.
 * @param {string} text
 * @param {string[]} words
 */
function marked(text, words) {
  if (!words.length) return [text];
  const plain = (/** @type {string} */ word) => word.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&').replace(/ /gu, '[^\\p{L}\\p{N}_]+');
  const any = [...words].sort((a, b) => b.length - a.length).map(plain).join('|');
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}_])(${any})(?![\\p{L}\\p{N}_])`, 'giu'));
  return parts.map((part, k) => (k % 2 ? make('mark', {}, part) : part));
}

/** Summarise a row in a line. @param {Row} row */
function summary(row) {
  if (row.text) return shorten(row.text);
  if (row.image) return row.id;
  return shorten([row.id, ...row.first_columns.slice(0, 3).map((name) => `${name} ${row.cells[name] ?? ''}`)].join(' · '));
}

/** @param {{name: string, share: number}} one @param {import('./api.js').State} state */
function candidate({ name, share }, state) {
  const item = make('li', {}, className(name, state), make('span', { class: 'share' }, percent(share)));
  item.style.setProperty('--share', String(share));
  return item;
}

/** Why a row is suggested. Random draws are not revealed, which could bias labels. @param {Row} row */
function why({ candidates: [one, two] }) {
  if (!one) return 'There is no model yet. This row tells much about the others.';
  if (two && one.share - two.share < UNDECIDED) return `The model is undecided between ${one.name} and ${two.name}.`;
  return 'The model is fairly sure. Such rows show how often it is wrong, and which class similar rows have.';
}

/** Describe a row for screen readers. @param {Row} row */
export const rowLabel = (row) =>
  `Row ${row.id}${row.text ? `: ${shorten(row.text)}` : ''}${row.given === null ? '' : `, labelled ${row.given}`}` +
  (row.predicted === null ? '' : `, the model says ${row.predicted}`);

/** @param {Row} row */
const thumbnail = (row) => (row.image ? image(row, 'small', '') : null);

/** Small pictures are enlarged in whole pixels. @param {Row} row @param {string} size @param {string} words */
function image(row, size, words) {
  const found = /** @type {HTMLImageElement} */ (make('img', { src: picture(row.row), alt: words, class: size, loading: 'lazy' }));
  found.addEventListener('load', () => found.classList.toggle('pixels', found.naturalWidth <= 64));
  found.addEventListener('error', () => found.remove());
  return found;
}

/** @param {string | null} name @param {import('./api.js').State} state */
const className = (name, state) => (name === null ? make('span', { class: 'minor' }, '–') : make('span', { class: 'class-name' }, sign(Math.max(0, state.classes.indexOf(name))), make('bdi', {}, name)));

/** @param {string} text */
const shorten = (text) => (text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text);
