// @ts-check
// The page: selection, actions on the selected rows, and display of their results.
import * as api from './api.js';
import { DIGITS, Renaming, TypeAhead, keysOf, showClasses } from './classes.js';
import { byId, make, number, plural } from './dom.js';
import { listen } from './keys.js';
import { Selected, Shelf, makeSelectable, suspiciousParts, fill, queueParts, rowLabel } from './lists.js';
import { looks } from './looks.js';
import { Palette } from './palette.js';
import { showProgress } from './progress.js';
import { Scatter } from './scatter.js';
import { showSteps } from './steps.js';
import { Tip } from './tip.js';

const SHOWN = 5;
const QUEUE = 20;
const LATE = 600; // milliseconds
const RETRY = 1000;
const COLOURINGS = /** @type {const} */ (['prediction', 'confidence', 'given']);
const LOST =
  'The server does not answer. What was saved is safe. This page goes on by itself as soon as the ' +
  'server is back; if you have ended it, start it again with the same command and open the new address.';

class Page {
  /** @param {api.State} state @param {api.Colours} colours */
  constructor(state, colours) {
    this.state = state;
    this.colours = colours;
    this.palette = new Palette();
    /** @type {import('./looks.js').Colouring} */
    this.colouring = 'prediction';
    /** @type {Set<number>} */
    this.selected = new Set();
    this.fromQueue = false;
    /** Rows that were passed over. @type {Set<number>} */
    this.passed = new Set(state.skipped);
    /** Rows of the queue that were labelled here; suggestions may be older. @type {Set<number>} */
    this.labelled = new Set();
    /** @type {number[]} */
    this.queue = [];
    /** The place in the queue of the first row of its list. */
    this.top = 0;
    // The selected row has its label and its successor is not shown yet: keys wait for the latter.
    this.moving = false;
    this.turn = 0;
    /** @type {(() => void)[]} */
    this.waiting = [];
    /** Row of each point of the map, and back. @type {Int32Array} */
    this.rows = new Int32Array();
    this.pointOf = new Int32Array();
    this.mapKey = '';
    this.mapWanted = remembered();
    this.wanted = { state: false, colours: false };
    this.refreshing = false;
    this.saving = 0;
    this.online = true;
    this.late = 0;
    this.knownVersion = state.version;
    /** @type {Promise<unknown>} */
    this.last = Promise.resolve();

    this.shelf = new Shelf(api.rows);
    this.tip = new Tip(this.shelf);
    this.table = new Selected(this.shelf, (row) => this.select([row], 'remove'), (error) => this.failed(error));
    this.typed = new TypeAhead((name) => this.give(name));
    this.renaming = new Renaming((from, to) => this.rename(from, to), (name, into) => this.drop(name, into));
    this.scatter = new Scatter(byId('map'), {
      selected: (points, mode) => this.select(points.map((point) => this.rows[point]), mode),
      pointed: (point, x, y) => this.tip.point(point < 0 ? -1 : this.rows[point], x, y, this.state),
      drawn: () => this.drawn(),
    });
    this.#wire();
  }

  async start() {
    if (!this.scatter.deck) this.#noMap('This browser draws no map (it has no WebGL 2). The queue and the table are enough to label.');
    this.showState();
    await this.showMap();
    api.follow((event) => this.changed(event), (online) => this.connected(online));
    this.say('calm', this.state.n_labeled ? `Opened: ${plural(this.state.n_labeled, 'label')} so far.` : 'Ready.');
  }

  // Showing

  showState() {
    const { state } = this;
    byId('source').textContent = state.source;
    document.title = `${state.source} · lapwing label`;
    this.#showWarnings();
    byId('fit-command').hidden = state.fit_command === null;
    this.#showFilter();
    /** @type {Element} */ (byId('fit-command').querySelector('code')).textContent = state.fit_command;
    this.#showMaps();
    const classes = this.#classes();
    this.typed.classes = classes;
    this.typed.all = state.classes;
    showClasses(state, (name) => this.give(name), (name) => this.renaming.open(name, classes));
    showProgress(state);
    showSteps(state, (batch) => this.undo(batch));
    this.showQueue(true);
    this.#showLegend();
    this.showSelection(false);
  }

  /** @param {boolean} fresh whether there may be other suggestions than before */
  async showQueue(fresh) {
    const { state } = this;
    if (fresh) {
      this.queue = state.suggestions.filter((row) => !this.passed.has(row) && !this.labelled.has(row));
      this.top = 0;
    }
    const { queue, top } = this;
    const shown = queue.slice(top, top + SHOWN);
    this.ring();
    for (const id of ['next', 'all-next']) /** @type {HTMLButtonElement} */ (byId(id)).disabled = !state.model.ready;
    try {
      const ahead = await this.shelf.get(queue);
      if (queue !== this.queue || top !== this.top) return;
      fill(byId('queue'), ahead.filter((row) => shown.includes(row.row)), this.selected, (row, place) => queueParts(row, place, state));
      if (!shown.length) byId('queue').replaceChildren(make('li', { class: 'minor' }, state.model.ready ? 'Press N for the next row.' : 'Comes with the graph of the rows …'));
      const suspicious = new Map(state.suspicious.map((label) => [label.row, label]));
      byId('suspicious-part').hidden = suspicious.size === 0;
      const rows = await this.shelf.get([...suspicious.keys()].slice(0, 20));
      fill(byId('suspicious'), rows, this.selected, (row) => suspiciousParts(row, /** @type {api.SuspiciousLabel} */ (suspicious.get(row.row)), state));
    } catch (error) {
      this.failed(error);
    }
  }

  /** Rings around the rows of the list. */
  ring() {
    const shown = this.rows.length ? this.queue.slice(this.top, this.top + SHOWN) : [];
    this.scatter.ring(shown.map((row) => this.pointOf[row]).filter((point) => point >= 0));
  }

  /** @param {boolean} fresh whether other rows than before @returns {Promise<boolean>} whether they are shown */
  showSelection(fresh) {
    const shown = this.table.show([...this.selected], this.state, fresh);
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.rows [role=option]'))) {
      item.setAttribute('aria-selected', String(this.selected.has(Number(item.dataset.row))));
    }
    return shown;
  }

  async showMap() {
    const { maps } = this.state;
    if (!this.mapKey) this.mapKey = this.#bestMap();
    try {
      const places = await api.places(this.mapKey);
      this.rows = places.rows;
      this.pointOf = new Int32Array(this.state.n).fill(-1);
      places.rows.forEach((row, point) => (this.pointOf[row] = point));
      this.scatter.show(places);
      this.paint();
      this.ring();
    } catch (error) {
      this.failed(error);
    }
  }

  paint() {
    if (!this.rows.length) return;
    const chosen = new Uint8Array(this.rows.length);
    for (const row of this.selected) if (this.pointOf[row] >= 0) chosen[this.pointOf[row]] = 1;
    this.mark();
    const { all, top } = looks(this.colours, chosen, this.selected.size > 1, this.colouring, this.palette);
    const [r, g, b] = this.palette.edge;
    this.scatter.paint(all, top, [r / 255, g / 255, b / 255, 1]);
    this.painted = `${this.colours.version}/${this.colours.model}`;
  }

  /** One row alone has a ring around it, for which no point is drawn again. */
  mark() {
    const [one] = this.selected.size === 1 ? this.selected : [];
    this.scatter.point(one === undefined || !this.rows.length ? -1 : this.pointOf[one]);
  }

  drawn() {
    // Lets tests measure the time from a key to the new colours.
    if (this.painted) document.documentElement.dataset.drawn = this.painted;
  }

  // Selecting

  /** @param {number[]} rows @param {import('./scatter.js').Mode} mode @param {boolean} [fromQueue] */
  select(rows, mode, fromQueue = false) {
    // Keys that wait were meant for the row after the one that is left now.
    this.turn++;
    this.moving = false;
    this.waiting = [];
    const several = this.selected.size > 1;
    if (mode === 'new') this.selected = new Set(rows);
    else for (const row of rows) mode === 'add' ? this.selected.add(row) : this.selected.delete(row);
    this.selected = new Set(this.selected);
    this.fromQueue = fromQueue;
    const shown = this.showSelection(true);
    if (several || this.selected.size > 1) this.paint();
    else this.mark();
    if (this.selected.size) this.say('calm', `${plural(this.selected.size, 'row')} selected.`);
    return shown;
  }

  /** Select the rows that fit the words and filters. */
  async find() {
    const value = (/** @type {string} */ id) => /** @type {HTMLInputElement | HTMLSelectElement} */ (byId(id)).value;
    const label = value('find-class');
    const query = { words: value('search').trim(), class: label, by: label ? value('find-by') : '', state: value('find-state') };
    try {
      const rows = await api.find(query);
      if (!rows.length) return this.say('ask', 'No row fits.');
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      this.select(rows, 'new');
    } catch (error) {
      this.failed(error);
    }
  }

  /** Flag the selected rows, to come back to them; or no longer, if all of them are. */
  async flag() {
    const rows = [...this.selected];
    if (!rows.length) return this.say('ask', 'Select rows first: draw around them, click one, or press N.');
    try {
      const shown = await this.shelf.get(rows.slice(0, api.MOST_ROWS));
      const on = !shown.every((row) => row.flagged);
      await api.mark(rows, 'flagged', on);
      this.shelf.clear();
      this.say('good', `Saved: ${plural(rows.length, 'row')} ${on ? 'flagged' : 'no longer flagged'}.`);
    } catch (error) {
      this.failed(error);
    }
  }

  /** @param {number} row */
  pick(row) {
    if (this.selected.size === 1 && this.selected.has(row)) return;
    this.select([row], 'new', true);
    this.#seek(row);
  }

  /** @param {number} row */
  #seek(row) {
    if (this.rows.length && this.pointOf[row] >= 0) this.scatter.seek(this.pointOf[row]);
  }

  /** Show the next suggested row, then do what the next key asked for meanwhile. */
  async next() {
    if (this.moving) return; // else a row that was never shown would be passed over
    this.moving = true;
    const turn = ++this.turn;
    const [current] = this.fromQueue ? this.selected : [];
    if (current !== undefined && !this.labelled.has(current)) this.#pass(current);
    const row = await this.#following(turn, current);
    if (turn !== this.turn) return;
    const { waiting } = this;
    if (row === undefined) {
      // The labelled row must not take the next key.
      this.select([], 'new');
      return this.say('calm', 'No row is left to suggest.');
    }
    const shown = this.select([row], 'new', true);
    const now = this.turn;
    this.moving = true;
    this.waiting = waiting;
    this.#seek(row);
    const at = this.queue.indexOf(row);
    if (at >= this.top + SHOWN) {
      this.top = at;
      await this.showQueue(false);
    }
    const item = document.querySelector(`#queue [data-row="${row}"]`);
    if (item instanceof HTMLElement && document.activeElement?.closest('#queue, body > main') === byId('queue')) item.focus();
    await shown;
    while (now === this.turn && !this.#isShown(row)) {
      await pause(RETRY / 10);
      if (this.online && now === this.turn && !this.#isShown(row)) await this.showSelection(false);
    }
    if (now !== this.turn) return;
    const [read] = await this.shelf.get([row]);
    byId('spoken').textContent = read ? rowLabel(read) : '';
    this.moving = false;
    this.waiting.shift()?.();
  }

  /** @param {number} row */
  #pass(row) {
    this.passed.add(row);
    api.mark([row], 'skipped', true).catch((error) => this.failed(error));
  }

  /** @param {number} row */
  #isShown(row) {
    return document.querySelector(`#card [data-row="${row}"]`) !== null;
  }

  /**
   * The row after the current one; undefined if none is left.
   * @param {number} turn @param {number | undefined} current
   */
  async #following(turn, current) {
    const at = current === undefined ? -1 : this.queue.indexOf(current);
    const open = (/** @type {number} */ row) => !this.passed.has(row) && !this.labelled.has(row);
    const row = this.queue.slice(at + 1).find(open) ?? this.queue.find(open);
    if (row !== undefined) return row;
    while (turn === this.turn) {
      try {
        const skip = [...this.labelled, ...this.passed].slice(-api.MOST_ROWS);
        const found = await api.suggest(QUEUE, skip);
        if (turn !== this.turn) return undefined;
        this.state = { ...this.state, suggestions: found };
        if (!found.some(open) && this.passed.size) {
          this.passed.clear(); // all others have labels: those that were passed over come again
          continue;
        }
        this.showQueue(true);
        return this.queue[0];
      } catch (error) {
        this.failed(error);
        if (!(error instanceof api.Lost)) return undefined;
        await pause(RETRY);
      }
    }
    return undefined;
  }

  // Doing

  /** @param {string | null} name */
  give(name) {
    if (this.moving) return this.later(() => this.give(name));
    const rows = [...this.selected];
    if (!rows.length) {
      if (name !== null && !this.#classes().includes(name)) return this.do(() => api.addClass(name), () => `Class “${name}” exists. Select rows to give it.`);
      return this.say('ask', 'Select rows first: draw around them, click one, or press N.');
    }
    return this.label(rows, () => api.give(rows, name), (n) => (name === null ? `Saved: ${plural(n, 'row')} without a label.` : `Saved: ${plural(n, 'row')} ${n === 1 ? 'is' : 'are'} ${name}.`));
  }

  take() {
    if (this.moving) return this.later(() => this.take());
    const rows = [...this.selected];
    if (!rows.length) return this.say('ask', 'Select rows first: draw around them, click one, or press N.');
    if (!this.state.model.fitted) return this.say('ask', 'The model has no answer yet: it needs labels of two classes.');
    const { model } = this.colours;
    return this.label(rows, () => api.take(rows, model), (n) => `Saved: ${plural(n, 'row')} as the model says.`);
  }

  /** Do something with the next row, as soon as it is shown. @param {() => void} run */
  later(run) {
    this.waiting.push(run);
    this.say('busy', `Waiting for the next row: ${plural(this.waiting.length, 'key')} to apply …`);
  }

  /** @param {number} [batch] */
  undo(batch) {
    if (batch === undefined && this.waiting.pop()) return this.say('calm', 'Taken back: a key that waited for its row.');
    this.labelled.clear();
    return this.do(() => api.undo(batch), ({ n_rows: n }) => (n ? `Taken back: ${plural(n, 'row')}.` : 'Taken back: the class has its name of before.'));
  }

  /** @param {string} name @param {string | null} into */
  drop(name, into) {
    const words = into === null ? `Saved: “${name}” is deleted.` : `Saved: “${name}” is “${into}” now.`;
    return this.do(() => api.dropClass(name, into), () => words);
  }

  /** The names of the classes. */
  #classes() {
    const { classes, hidden } = this.state;
    return classes.filter((name) => !hidden.includes(name));
  }

  /** @param {string} percent */
  async setTarget(percent) {
    try {
      await api.setTarget(percent);
      await this.refresh({ state: true, colours: false });
    } catch (error) {
      this.failed(error);
      byId('target').focus();
    }
  }

  /** @param {string} from @param {string} to */
  rename(from, to) {
    return this.do(() => api.renameClass(from, to), () => `Saved: “${from}” is called “${to}”.`);
  }

  /** @param {number[]} rows @param {() => Promise<api.Receipt>} send @param {(n: number) => string} words */
  label(rows, send, words) {
    const single = this.fromQueue && rows.length === 1;
    if (this.fromQueue) for (const row of rows) this.labelled.add(row);
    const done = this.do(() => this.#insist(rows, send, single), (receipt) => words(receipt.n_rows));
    if (single && this.online) this.next();
    else if (single) this.moving = true; // until the server is back
    return done;
  }

  /**
   * Send labels until the server has them: giving the same rows the same label again is no harm.
   * @param {number[]} rows @param {() => Promise<api.Receipt>} send @param {boolean} single
   */
  async #insist(rows, send, single) {
    let lost = false;
    for (;;) {
      try {
        const receipt = await send();
        if (single && (lost || this.moving) && this.selected.size === 1 && this.selected.has(rows[0])) {
          this.moving = false;
          this.next();
        }
        return receipt;
      } catch (error) {
        if (!(error instanceof api.Lost)) {
          for (const row of rows) this.labelled.delete(row);
          if (this.selected.size === 1 && this.selected.has(rows[0])) this.moving = false;
          throw error;
        }
        if (single && !lost && this.fromQueue && !this.selected.has(rows[0])) this.#backTo(rows[0]);
        lost = true;
        this.say('bad', 'Not saved yet: the server does not answer. The label is kept here, and sent as soon as the server is back.');
        await pause(RETRY);
      }
    }
  }

  /** Show a row again whose label is not saved; keys wait until it is. @param {number} row */
  #backTo(row) {
    const { waiting } = this;
    this.select([row], 'new', true);
    this.#seek(row);
    this.moving = true;
    this.waiting = waiting;
  }

  /**
   * Run requests one after the other, in order; report that all is saved only after the last.
   * @template {{version: number}} Answer
   * @param {() => Promise<Answer>} send
   * @param {(answer: Answer) => string} words
   */
  do(send, words) {
    this.saving++;
    this.say('busy', 'Saving …');
    const done = this.last.then(async () => {
      try {
        const answer = await send();
        this.saving--;
        if (!this.saving) this.say('good', words(answer));
        this.changed({ version: answer.version, part: 'labels' });
      } catch (error) {
        this.saving--;
        this.failed(error);
      }
    });
    this.last = done;
    return done;
  }

  // Events from the server

  /** @param {{version: number, part: string}} event */
  changed({ version, part }) {
    if (part === 'labels') {
      if (version === this.knownVersion) return; // this tab's own change
      this.knownVersion = version;
      if (!this.state.model.fitted) return void this.refresh({ state: true, colours: true });
      // The refresh after the next fit covers this change, too: wait for it a little.
      clearTimeout(this.late);
      this.late = setTimeout(() => this.refresh({ state: true, colours: true }), LATE);
    } else {
      if (part === 'model') clearTimeout(this.late);
      if (part === 'marks') this.shelf.clear();
      this.refresh({ state: true, colours: part === 'ready' || (part === 'model' && version > this.colours.model) });
    }
  }

  /** @param {boolean} online */
  connected(online) {
    byId('lost').hidden = online;
    byId('lost').textContent = online ? '' : LOST;
    if (!online && this.online) this.say('bad', 'Not connected.');
    if (online && !this.online) {
      this.say('calm', 'Connected again.');
      this.refresh({ state: true, colours: true });
    }
    this.online = online;
  }

  /** Ask again; questions that come meanwhile are asked once. @param {{state: boolean, colours: boolean}} wanted */
  async refresh(wanted) {
    this.wanted = { state: this.wanted.state || wanted.state, colours: this.wanted.colours || wanted.colours };
    if (this.refreshing) return;
    this.refreshing = true;
    try {
      while (this.wanted.state || this.wanted.colours) {
        const asked = this.wanted;
        this.wanted = { state: false, colours: false };
        // Colours first: the user waits for them.
        if (asked.colours) await this.#recolour();
        if (asked.state) await this.#restate();
      }
    } catch (error) {
      this.failed(error);
    } finally {
      this.refreshing = false;
    }
  }

  async #recolour() {
    this.colours = await api.colours();
    this.paint();
  }

  async #restate() {
    const before = this.state;
    this.state = await api.state();
    if (before.version !== this.state.version || before.model.version !== this.state.model.version) this.shelf.clear();
    this.showState();
    if (before.maps.length === this.state.maps.length) return;
    // Show a new map in place of the first one, but not while the user draws a line.
    const best = this.#bestMap();
    if (this.rows.length && (best === this.mapKey || this.scatter.line.length)) return;
    this.mapKey = best;
    /** @type {HTMLSelectElement} */ (byId('which-map')).value = best;
    await this.showMap();
  }

  // Status messages

  /** @param {'calm' | 'busy' | 'good' | 'ask' | 'bad'} mood @param {string} words */
  say(mood, words) {
    const status = byId('status');
    status.textContent = words;
    status.dataset.mood = mood;
  }

  /** @param {unknown} error */
  failed(error) {
    if (error instanceof api.Lost) this.say('bad', 'Not saved: the server does not answer.');
    else if (error instanceof api.Refused) this.say('bad', error.message);
    else throw error;
  }

  // Wiring

  #wire() {
    listen([
      { keys: [...DIGITS], shown: '1 – 9 0', words: 'Give the selected rows a class', run: (key) => this.#digit(key) },
      { keys: ['c', '/'], shown: 'C', words: 'Type a class: its first letters, or a new name', run: () => this.typed.open() },
      { keys: ['s'], shown: 'S', words: 'Find rows by words, ids, values, class and kind', run: () => byId('search').focus() },
      { keys: ['Enter'], shown: 'Enter', words: 'Take the model’s class for all selected rows without a label', run: () => this.take() },
      { keys: ['Backspace', 'Ctrl+Z'], shown: '⌫ Ctrl+Z', words: 'Take the last step back', run: () => this.undo() },
      { keys: ['n'], shown: 'N', words: 'Select the next suggested row', run: () => this.next() },
      { keys: ['a'], shown: 'A', words: 'Select all suggested rows', run: () => this.select(this.queue.slice(this.top, this.top + SHOWN), 'new', true) },
      { keys: ['u'], shown: 'U', words: 'Take the labels of the selected rows away', run: () => this.give(null) },
      { keys: ['g'], shown: 'G', words: 'Flag the selected rows, or take their flags away', run: () => this.flag() },
      { keys: ['Escape'], shown: 'Esc', words: 'Select none', run: () => this.select([], 'new') },
      { keys: ['Delete'], shown: 'Del', words: 'Take a row of the table out of the selection', run: () => {} },
      { keys: ['l'], shown: 'L', words: 'Draw around points', run: () => this.use('lasso') },
      { keys: ['b'], shown: 'B', words: 'Draw a box around points', run: () => this.use('box') },
      { keys: ['m'], shown: 'M', words: 'Move the map', run: () => this.use('move') },
      { keys: ['f'], shown: 'F', words: 'Show the whole map', run: () => this.scatter.fit() },
      { keys: ['+', '='], shown: '+', words: 'Zoom in', run: () => this.scatter.zoom(0.5) },
      { keys: ['-'], shown: '−', words: 'Zoom out', run: () => this.scatter.zoom(-0.5) },
      { keys: ['t'], shown: 'T', words: 'Colour by prediction, confidence or given label', run: () => this.#turn() },
      { keys: [], shown: '↑ ↓', words: 'Select the row above or below in a list; on the map, move it', run: () => {} },
      { keys: [], shown: 'Space', words: 'Select the row of a list that has the focus', run: () => {} },
      { keys: ['?'], shown: '?', words: 'Show these keys', run: () => this.#help() },
    ]);
    const clicks = {
      next: () => this.next(),
      'all-next': () => this.select(this.queue.slice(this.top, this.top + SHOWN), 'new', true),
      take: () => this.take(),
      unlabel: () => this.give(null),
      flag: () => this.flag(),
      clear: () => this.select([], 'new'),
      undo: () => this.undo(),
      fit: () => this.scatter.fit(),
      closer: () => this.scatter.zoom(0.5),
      farther: () => this.scatter.zoom(-0.5),
      help: () => this.#help(),
    };
    for (const [id, run] of Object.entries(clicks)) byId(id).addEventListener('click', run);
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-tool][role=radio]'))) {
      button.addEventListener('click', () => this.use(/** @type {import('./scatter.js').Tool} */ (button.dataset.tool)));
    }
    byId('find').addEventListener('submit', (event) => {
      event.preventDefault();
      this.find();
    });
    byId('search').addEventListener('keydown', (event) => event.key === 'Escape' && byId('search').blur());
    const target = /** @type {HTMLInputElement} */ (byId('target'));
    target.addEventListener('change', () => this.setTarget(target.value));
    target.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === 'Escape') target.blur();
    });
    makeSelectable(byId('queue'), (row) => this.pick(row));
    makeSelectable(byId('suspicious'), (row) => this.pick(row));
    const colouring = /** @type {HTMLSelectElement} */ (byId('colouring'));
    colouring.addEventListener('change', () => this.colour(/** @type {any} */ (colouring.value)));
    const map = /** @type {HTMLSelectElement} */ (byId('which-map'));
    map.addEventListener('change', () => {
      this.mapKey = this.mapWanted = map.value;
      remember(map.value);
      this.showMap();
    });
    for (const select of [colouring, map]) {
      // After a choice by mouse, keys are shortcuts again: a focused list would search by letters.
      let mouse = false;
      select.addEventListener('pointerdown', () => (mouse = true));
      select.addEventListener('keydown', () => (mouse = false));
      select.addEventListener('change', () => mouse && byId('map').focus({ preventScroll: true }));
    }
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.palette = new Palette();
      this.paint();
      this.#showLegend();
    });
    const menu = /** @type {HTMLDetailsElement} */ (byId('exports'));
    document.addEventListener('pointerdown', (event) => {
      if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    });
    menu.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !menu.open) return;
      event.preventDefault();
      menu.open = false;
      menu.querySelector('summary')?.focus();
    });
    addEventListener('beforeprint', () => this.#print());
  }

  /** @param {string} key */
  #digit(key) {
    const classes = this.#classes();
    const name = classes[keysOf(classes).indexOf(key)];
    if (name !== undefined) this.give(name);
    else this.say('ask', `There is no class with the key ${key}. Press C to type a new one.`);
  }

  /** @param {import('./scatter.js').Tool} tool */
  use(tool) {
    this.scatter.use(tool);
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-tool][role=radio]'))) {
      button.setAttribute('aria-checked', String(button.dataset.tool === tool));
    }
  }

  /** @param {import('./looks.js').Colouring} colouring */
  colour(colouring) {
    this.colouring = colouring;
    /** @type {HTMLSelectElement} */ (byId('colouring')).value = colouring;
    this.paint();
    this.#showLegend();
  }

  #turn() {
    this.colour(COLOURINGS[(COLOURINGS.indexOf(this.colouring) + 1) % COLOURINGS.length]);
  }

  #help() {
    /** @type {HTMLDialogElement} */ (byId('keys')).showModal();
  }

  #showMaps() {
    const select = /** @type {HTMLSelectElement} */ (byId('which-map'));
    const { maps } = this.state;
    if (select.options.length === maps.length) return;
    select.replaceChildren(...maps.map(({ key, title }) => make('option', { value: key }, title)));
    select.value = this.mapKey || this.#bestMap();
  }

  /** The map that was chosen last, if there is one, else the first. */
  #bestMap() {
    const { maps } = this.state;
    return (maps.find(({ key }) => key === this.mapWanted) ?? maps[0]).key;
  }

  #showFilter() {
    const select = /** @type {HTMLSelectElement} */ (byId('find-class'));
    const classes = this.#classes();
    if (select.dataset.of === classes.join('\n')) return;
    select.dataset.of = classes.join('\n');
    const before = select.value;
    select.replaceChildren(make('option', { value: '' }, 'any'), ...classes.map((name) => make('option', { value: name }, name)));
    select.value = classes.includes(before) ? before : '';
  }

  #showWarnings() {
    const { sample_note: sample, warnings } = this.state;
    const all = sample ? [sample, ...warnings] : warnings;
    if (this.warned === all.join('\n')) return; // keep opened warnings open
    this.warned = all.join('\n');
    byId('warnings').replaceChildren(
      ...all.map((words) => {
        const end = words.search(/[.:;] /);
        if (end < 0) return make('li', { class: 'note look' }, words);
        const more = make('p', {}, words.slice(end + 2));
        return make('li', { class: 'note look' }, make('details', {}, make('summary', {}, words.slice(0, end)), more));
      }),
    );
  }

  #showLegend() {
    const legend = byId('map-legend');
    const words = [`${number(this.state.n_shown)} rows.`, 'Labelled rows have an edge.'];
    if (this.queue.length) words.push('Rings: what to label next.');
    if (this.colouring === 'confidence') {
      const steps = this.palette.steps.map((_, k) => make('span', { class: `step s${k}` }));
      legend.replaceChildren('Not sure ', make('span', { class: 'steps' }, ...steps), ' sure. ', words.join(' '));
    } else legend.replaceChildren(words.join(' '));
  }

  /** @param {string} words */
  #noMap(words) {
    const note = byId('map-note');
    note.hidden = false;
    note.textContent = words;
  }

  #print() {
    const picture = /** @type {HTMLImageElement} */ (byId('map-print'));
    const source = this.scatter.picture();
    if (source) picture.src = source;
    picture.hidden = !source;
  }
}

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const MAP = 'lapwing-map';

/** The map that was chosen last. Notebooks may forbid to keep anything. */
function remembered() {
  try {
    return localStorage.getItem(MAP) ?? '';
  } catch {
    return '';
  }
}

/** @param {string} key */
function remember(key) {
  try {
    localStorage.setItem(MAP, key);
  } catch {
    // The choice is kept as long as the page.
  }
}

async function open() {
  const [state, colours] = await Promise.all([api.state(), api.colours()]);
  await new Page(state, colours).start();
}

open().catch((error) => {
  byId('status').dataset.mood = 'bad';
  byId('status').textContent = error instanceof Error ? error.message : String(error);
});
