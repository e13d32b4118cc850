// @ts-check
// The row that the mouse points at.
import { byId } from './dom.js';
import { card } from './lists.js';

const WAIT = 70; // milliseconds that the mouse rests before a row is asked for
const AWAY = 16;

export class Tip {
  /** @param {import('./lists.js').Shelf} shelf */
  constructor(shelf) {
    this.shelf = shelf;
    this.row = -1;
    this.timer = 0;
    this.box = byId('tip');
  }

  /** @param {number} row -1 for none @param {number} x @param {number} y @param {import('./api.js').State} state */
  point(row, x, y, state) {
    if (row === this.row) return;
    this.row = row;
    clearTimeout(this.timer);
    if (row < 0) {
      this.box.hidden = true;
      return;
    }
    this.timer = setTimeout(() => this.#show(row, x, y, state), WAIT);
  }

  /** @param {number} row @param {number} x @param {number} y @param {import('./api.js').State} state */
  async #show(row, x, y, state) {
    let found;
    try {
      [found] = await this.shelf.get([row]);
    } catch {
      return; // without a tip, and without an error message
    }
    if (row !== this.row || !found) return;
    this.box.replaceChildren(card(found, state));
    this.box.hidden = false;
    const { offsetWidth, offsetHeight } = this.box;
    const left = x + AWAY + offsetWidth < innerWidth ? x + AWAY : Math.max(4, x - AWAY - offsetWidth);
    const top = Math.max(4, Math.min(y + AWAY, innerHeight - offsetHeight - 4));
    this.box.style.transform = `translate(${left}px, ${top}px)`;
  }
}
