// @ts-check
// The list of classes with their counts and keys, and the box to type a class.
import { byId, make, number, percent, showItems } from './dom.js';
import { sign } from './palette.js';

/** Keys that give classes. */
export const DIGITS = '1234567890';

/**
 * The key of each class, by its code: classes named like a key have that key, the others the
 * remaining keys in order.
 * @param {string[]} classes
 * @returns {(string | undefined)[]}
 */
export function keysOf(classes) {
  const digits = [...DIGITS];
  const left = digits.filter((key) => !classes.includes(key));
  return classes.map((name) => (digits.includes(name) ? name : left.shift()));
}

/**
 * @param {import('./api.js').State} state
 * @param {(name: string) => void} give
 * @param {(name: string) => void} rename
 */
export function showClasses(state, give, rename) {
  const { given, predicted } = state;
  const gone = new Set(state.hidden);
  const classes = state.classes.filter((name) => !gone.has(name));
  const all = classes.reduce((sum, name) => sum + (predicted[name] ?? 0), 0);
  const hint = classes.length ? (all ? 'given · volume' : 'given') : '';
  byId('classes-hint').textContent = hint;
  byId('no-classes').hidden = classes.length > 0;
  const keys = keysOf(classes);
  const codes = classes.map((name) => state.classes.indexOf(name));
  const names = classes.map((name, k) => JSON.stringify([name, codes[k], keys[k] ?? '']));
  const rows = showItems(byId('classes'), names, (k) => rowOf(classes[k], codes[k], keys[k], give, rename));
  rows.forEach((row, code) => {
    const name = classes[code];
    fill(row, given[name] ?? 0, all ? (predicted[name] ?? 0) / all : null);
  });
}

/**
 * @param {string} name
 * @param {number} code
 * @param {string | undefined} key
 * @param {(name: string) => void} give
 * @param {(name: string) => void} rename
 */
function rowOf(name, code, key, give, rename) {
  const button = make(
    'button',
    { type: 'button', class: 'class', 'aria-keyshortcuts': key ?? null, onclick: () => give(name) },
    make('kbd', { class: key ? null : 'none' }, key ?? ''),
    sign(code),
    make('bdi', { class: 'what' }, name),
    make('span', { class: 'count' }),
    make('span', { class: 'unseen' }, 'labels'),
    make('span', { class: 'share' }),
    make('span', { class: 'unseen' }, 'of the rows. Give it to the selected rows.'),
    make('span', { class: `volume k${code % 10}` }),
  );
  const pen = make('button', { type: 'button', class: 'pen', title: 'Rename', 'aria-label': `Rename ${name}`, onclick: () => rename(name) }, '✎');
  return make('li', {}, button, pen);
}

/**
 * @param {HTMLElement} row
 * @param {number} given
 * @param {number | null} share null where there is no answer yet
 */
function fill(row, given, share) {
  /** @param {string} part */
  const of = (part) => /** @type {HTMLElement} */ (row.querySelector(part));
  of('.count').textContent = number(given);
  of('.share').textContent = share === null ? '' : percent(share);
  of('.volume').style.setProperty('--share', String(share ?? 0));
}

/** Asks for another name of a class, which may be that of another one, or whether to delete it. */
export class Renaming {
  /**
   * @param {(from: string, to: string) => void} rename
   * @param {(name: string, into: string | null) => void} drop
   */
  constructor(rename, drop) {
    this.from = '';
    /** @type {string[]} */
    this.classes = [];
    this.dialog = /** @type {HTMLDialogElement} */ (byId('rename'));
    this.box = /** @type {HTMLInputElement} */ (byId('new-name'));
    this.box.addEventListener('input', () => this.#offer());
    byId('rename-form').addEventListener('submit', (event) => {
      const { submitter } = /** @type {SubmitEvent} */ (event);
      const to = this.box.value.trim();
      if (submitter?.id === 'delete-class') drop(this.from, null);
      else if (submitter?.id !== 'keep-name' && to && to !== this.from) {
        if (this.classes.includes(to)) drop(this.from, to);
        else rename(this.from, to);
      }
    });
  }

  /** @param {string} name @param {string[]} classes */
  open(name, classes) {
    this.from = name;
    this.classes = classes;
    byId('rename-title').textContent = `Rename “${name}”`;
    this.box.value = name;
    this.#offer();
    this.dialog.showModal();
    this.box.select();
  }

  /** The name of another class makes one of both. */
  #offer() {
    const to = this.box.value.trim();
    const both = to !== this.from && this.classes.includes(to);
    byId('rename-verb').textContent = both ? `Merge with “${to}”` : 'Rename';
    byId('rename-words').textContent = both ? `All rows of “${this.from}” become “${to}”.` : 'All its rows keep the class.';
  }
}

/** A box to type a class in: it finds classes, and makes new ones. */
export class TypeAhead {
  /** @param {(name: string) => void} give */
  constructor(give) {
    this.give = give;
    /** Those that may be typed, and all of them in the order of their codes. @type {string[]} */
    this.classes = [];
    /** @type {string[]} */
    this.all = [];
    /** @type {{name: string, fresh: boolean}[]} */
    this.found = [];
    this.at = -1;
    this.box = /** @type {HTMLInputElement} */ (byId('class-name'));
    this.list = byId('class-found');
    this.box.addEventListener('input', () => this.#find());
    this.box.addEventListener('focus', () => this.#find());
    this.box.addEventListener('blur', () => this.#close());
    this.box.addEventListener('keydown', (event) => this.#key(event));
  }

  /** @param {string} [text] */
  open(text = '') {
    this.box.value = text;
    this.box.focus();
    this.#find();
  }

  #find() {
    const typed = this.box.value.trim();
    const wanted = typed.toLowerCase();
    const starts = this.classes.filter((name) => name.toLowerCase().startsWith(wanted));
    const holds = this.classes.filter((name) => !starts.includes(name) && name.toLowerCase().includes(wanted));
    this.found = [...starts, ...holds].slice(0, 8).map((name) => ({ name, fresh: false }));
    // A new name comes last, so that Enter after the start of a name takes the existing class.
    if (typed && !this.classes.includes(typed)) this.found.push({ name: typed, fresh: true });
    this.at = typed ? 0 : -1; // Enter in an empty box gives nothing
    this.#show();
  }

  #show() {
    this.list.hidden = this.found.length === 0;
    this.box.setAttribute('aria-expanded', String(!this.list.hidden));
    this.list.replaceChildren(
      ...this.found.map(({ name, fresh }, k) =>
        make(
          'li',
          {
            id: `class-found-${k}`,
            role: 'option',
            'aria-selected': String(k === this.at),
            onpointerdown: (/** @type {Event} */ event) => event.preventDefault(),
            onclick: () => this.#choose(name),
          },
          fresh ? null : sign(this.all.indexOf(name)),
          make('span', {}, fresh ? `New class “${name}”` : name),
        ),
      ),
    );
    if (this.at >= 0 && this.found.length) this.box.setAttribute('aria-activedescendant', `class-found-${this.at}`);
    else this.box.removeAttribute('aria-activedescendant');
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      event.preventDefault();
      this.at = this.at < 0 ? (step > 0 ? 0 : this.found.length - 1) : (this.at + step + this.found.length) % this.found.length;
      this.#show();
    } else if (event.key === 'Enter' && this.found[this.at]) {
      event.preventDefault();
      this.#choose(this.found[this.at].name);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      this.box.value = '';
      this.box.blur();
    }
  }

  /** @param {string} name */
  #choose(name) {
    this.box.value = '';
    this.box.blur();
    this.give(name);
  }

  #close() {
    this.list.hidden = true;
    this.box.setAttribute('aria-expanded', 'false');
  }
}
