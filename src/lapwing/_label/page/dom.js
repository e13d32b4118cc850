// @ts-check
// Elements. Contents of tables enter the page as text, never as markup.

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on...` are listeners; null and false leave one out.
 * @param {...(Node | string | null | false)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, attributes);
  element.append(...kept(children));
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | false)} children
 * @returns {SVGElement}
 */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  assign(element, attributes);
  element.append(...kept(children));
  return element;
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}.`);
  return found;
}

/**
 * Show the items of a list. Existing items stay in place, since an inserted element loses the focus
 * and a click in progress.
 * @param {HTMLElement} list
 * @param {string[]} names one for each item, no two alike; an item stays as long as its name
 * @param {(k: number) => HTMLElement} item makes one that is new
 * @returns {HTMLElement[]} in the order of the names
 */
export function showItems(list, names, item) {
  const before = new Map([...list.children].map((one) => [one.getAttribute('data-is'), /** @type {HTMLElement} */ (one)]));
  const items = names.map((name, k) => {
    const one = before.get(name) ?? item(k);
    one.setAttribute('data-is', name);
    return one;
  });
  const wanted = new Set(items);
  for (const one of before.values()) if (!wanted.has(one)) one.remove();
  items.forEach((one, k) => {
    if (list.children[k] !== one) list.insertBefore(one, list.children[k] ?? null);
  });
  return items;
}

/**
 * One of a list is reached by Tab, the others by the arrow keys.
 * @param {HTMLElement} list
 * @param {string} items selector
 * @param {(item: HTMLElement) => void} chosen called when the focus comes to an item by a key
 */
export function rove(list, items, chosen) {
  list.addEventListener('keydown', (event) => {
    const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll(items)]);
    const at = all.findIndex((item) => item === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const item = all[Math.max(0, Math.min(all.length - 1, to))];
    for (const other of all) other.tabIndex = other === item ? 0 : -1;
    item.focus();
    chosen(item);
  });
}

const counted = new Intl.NumberFormat('en');

/** @param {number} n */
export const number = (n) => counted.format(n);

/** @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** @param {number} share */
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u00a0%`;

/** @param {Element} element @param {Record<string, any>} attributes */
function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** @param {(Node | string | null | false)[]} children @returns {(Node | string)[]} */
const kept = (children) => /** @type {(Node | string)[]} */ (children.filter((child) => child !== null && child !== false));
