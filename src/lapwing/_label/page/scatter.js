// @ts-check
// The map: camera, drawing, and input by mouse, touch and arrow keys.
import { draw } from './dom.js';
import { Cells, inside, square } from './geometry.js';
import { pointsLayer } from './points.js';

const CLICK = 4; // pixels that a hand may tremble
const REACH = 9; // pixels from a point that still mean it
const MARGIN = 0.92;
const CLOSEST = 18; // binary steps of zoom above the whole

/**
 * @typedef {'lasso' | 'box' | 'move'} Tool
 * @typedef {'new' | 'add' | 'remove'} Mode
 * @typedef {{selected: (points: number[], mode: Mode) => void,
 *   pointed: (point: number, x: number, y: number) => void, drawn: () => void}} Listener
 * @typedef {{inks: Uint8Array, marks: Uint8Array}} Looks
 */

export class Scatter {
  /** @param {HTMLElement} root @param {Listener} listener */
  constructor(root, listener) {
    this.root = root;
    this.listener = listener;
    /** @type {Tool} */
    this.tool = 'lasso';
    this.n = 0;
    /** @type {any} */
    this.places = null;
    /** @type {Cells | null} */
    this.cells = null;
    /** @type {any} */
    this.camera = { target: [0, 0, 0], zoom: 0 };
    this.whole = 0;
    /** @type {any} */
    this.layers = [];
    /** @type {[number, number][]} */
    this.line = [];
    /** @type {number[]} */
    this.rings = [];
    this.pointed = -1;
    this.overlay = draw('svg', { class: 'overlay', 'aria-hidden': 'true' });
    this.deck = this.#open();
    root.append(this.overlay);
    root.addEventListener('pointerdown', (event) => this.#press(event), true);
    root.addEventListener('pointermove', (event) => this.#move(event), true);
    root.addEventListener('pointerup', (event) => this.#release(event), true);
    root.addEventListener('pointercancel', () => this.#forget(), true);
    root.addEventListener('pointerleave', () => this.listener.pointed(-1, 0, 0));
    root.addEventListener('keydown', (event) => this.#key(event));
    new ResizeObserver(() => this.#resized()).observe(root);
  }

  /** @param {import('./api.js').Places} places */
  show({ x, y }) {
    const pairs = square(x, y);
    this.n = x.length;
    this.pairs = pairs;
    this.places = { value: pairs, size: 2 };
    this.cells = new Cells(pairs);
    this.fit();
  }

  /**
   * Draw all points, and some of them once more above the others.
   * @param {Looks} all
   * @param {{points: number[], inks: Uint8Array, marks: Uint8Array}} top
   * @param {[number, number, number, number]} edge
   */
  paint(all, top, edge) {
    if (!this.deck || !this.pairs) return;
    const above = new Float32Array(2 * top.points.length);
    top.points.forEach((i, k) => above.set([this.pairs[2 * i], this.pairs[2 * i + 1]], 2 * k));
    const places = { value: above, size: 2 };
    this.layers = [
      pointsLayer(`all-${this.n}`, { places: this.places, ...all }, edge),
      top.points.length > 0 && pointsLayer('top', { places, inks: top.inks, marks: top.marks }, edge),
    ];
    this.deck.setProps({ layers: this.layers });
  }

  /** @param {Tool} tool */
  use(tool) {
    this.tool = tool;
    this.root.dataset.tool = tool;
    this.deck?.setProps({ controller: this.#controller() });
  }

  /** Numbers at points, beside a ring. @param {number[]} points */
  ring(points) {
    this.rings = points;
    this.#drawOver();
  }

  /** Mark one point. @param {number} point -1 for none */
  point(point) {
    this.pointed = point;
    this.#drawOver();
  }

  fit() {
    const { clientWidth, clientHeight } = this.root;
    this.whole = Math.log2((Math.max(50, Math.min(clientWidth, clientHeight)) / 2) * MARGIN);
    this.#look({ target: [0, 0, 0], zoom: this.whole });
  }

  /** @param {number} steps binary steps, positive to come closer */
  zoom(steps) {
    this.#look({ ...this.camera, zoom: this.camera.zoom + steps });
  }

  /** Move the camera, if a point cannot be seen. @param {number} point */
  seek(point) {
    const [x, y] = this.#onScreen(point);
    const { clientWidth, clientHeight } = this.root;
    if (x >= 0 && y >= 0 && x <= clientWidth && y <= clientHeight) return;
    this.#look({ ...this.camera, target: [this.pairs[2 * point], this.pairs[2 * point + 1], 0] });
  }

  /** Return the drawing as a picture for printing. */
  picture() {
    if (!this.deck) return '';
    this.deck.redraw('picture');
    return this.root.querySelector('canvas')?.toDataURL('image/png') ?? '';
  }

  #open() {
    const deck = /** @type {any} */ (globalThis).deck;
    if (!deck || !document.createElement('canvas').getContext('webgl2')) return null;
    return new deck.Deck({
      parent: this.root,
      width: '100%',
      height: '100%',
      views: new deck.OrthographicView({ flipY: false }),
      viewState: this.camera,
      controller: this.#controller(),
      layers: [],
      getCursor: () => 'inherit',
      onViewStateChange: (/** @type {any} */ { viewState }) => this.#look(viewState),
      // The map itself takes the focus and has the label.
      onLoad: () => this.root.querySelector('canvas')?.setAttribute('tabindex', '-1'),
      onAfterRender: () => this.listener.drawn(),
    });
  }

  #controller() {
    return { dragPan: this.tool === 'move', scrollZoom: { speed: 0.005 }, doubleClickZoom: false, keyboard: false };
  }

  /** @param {any} camera */
  #look(camera) {
    const zoom = Math.max(this.whole - 1, Math.min(this.whole + CLOSEST, camera.zoom));
    this.camera = { ...camera, zoom };
    this.deck?.setProps({ viewState: this.camera });
    this.#drawOver();
  }

  #resized() {
    const was = this.whole;
    const { clientWidth, clientHeight } = this.root;
    this.whole = Math.log2((Math.max(50, Math.min(clientWidth, clientHeight)) / 2) * MARGIN);
    this.#look({ ...this.camera, zoom: this.camera.zoom + this.whole - was });
  }

  /** @param {number} point @returns {[number, number]} */
  #onScreen(point) {
    const scale = 2 ** this.camera.zoom;
    const [x, y] = this.camera.target;
    return [
      (this.pairs[2 * point] - x) * scale + this.root.clientWidth / 2,
      (y - this.pairs[2 * point + 1]) * scale + this.root.clientHeight / 2,
    ];
  }

  /** @param {[number, number]} place in pixels @returns {[number, number]} */
  #onMap([x, y]) {
    const scale = 2 ** this.camera.zoom;
    const [left, top] = this.camera.target;
    return [
      left + (x - this.root.clientWidth / 2) / scale,
      top - (y - this.root.clientHeight / 2) / scale,
    ];
  }

  /** @param {PointerEvent} event @returns {[number, number]} */
  #at(event) {
    const box = this.root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** @param {[number, number]} place in pixels */
  #nearest(place) {
    const [x, y] = this.#onMap(place);
    return this.cells ? this.cells.nearest(x, y, REACH / 2 ** this.camera.zoom) : -1;
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.button !== 0 || !event.isPrimary) return this.#forget();
    this.line = [this.#at(event)];
    if (this.tool === 'move') return;
    event.stopPropagation();
    this.root.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const place = this.#at(event);
    if (!this.line.length) {
      if (!event.buttons) this.listener.pointed(this.#nearest(place), event.clientX, event.clientY);
      return;
    }
    this.listener.pointed(-1, 0, 0);
    if (this.tool === 'move') {
      if (far(this.line[0], place) > CLICK) this.#forget();
      return;
    }
    event.stopPropagation();
    if (far(this.line[this.line.length - 1], place) < 2) return;
    if (this.tool === 'box') this.line = corners(this.line[0], place);
    else this.line.push(place);
    this.#drawOver();
  }

  /** @param {PointerEvent} event */
  #release(event) {
    if (!this.line.length) return;
    const line = this.line;
    this.#forget();
    /** @type {Mode} */
    const mode = event.shiftKey ? 'add' : event.altKey ? 'remove' : 'new';
    if (line.every((place) => far(line[0], place) <= CLICK)) {
      const point = this.#nearest(line[0]);
      this.listener.selected(point < 0 ? [] : [point], mode);
    } else if (this.tool !== 'move' && this.pairs) {
      this.listener.selected(inside(this.pairs, line.map((place) => this.#onMap(place))), mode);
    }
  }

  #forget() {
    this.line = [];
    this.#drawOver();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    if ((!dx && !dy) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const step = 80 / 2 ** this.camera.zoom;
    const [x, y] = this.camera.target;
    this.#look({ ...this.camera, target: [x + dx * step, y + dy * step, 0] });
  }

  #drawOver() {
    const parts = [];
    if (this.line.length > 1) {
      parts.push(draw('polygon', { class: 'line', points: this.line.join(' ') }));
    }
    if (this.pointed >= 0) {
      const [x, y] = this.#onScreen(this.pointed);
      parts.push(draw('circle', { class: 'chosen', cx: x, cy: y, r: 14 }));
    }
    this.rings.forEach((point, k) => {
      const [x, y] = this.#onScreen(point);
      parts.push(draw('circle', { class: 'ring', cx: x, cy: y, r: 9 }));
      parts.push(draw('text', { class: 'ring-number', x: x + 12, y: y + 4 }, String(k + 1)));
    });
    this.overlay.replaceChildren(...parts);
  }
}

/** @param {[number, number]} a @param {[number, number]} b */
const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** @param {[number, number]} a @param {[number, number]} b @returns {[number, number][]} */
const corners = (a, b) => [a, [b[0], a[1]], b, [a[0], b[1]]];
