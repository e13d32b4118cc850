// @ts-check
// Keyboard shortcuts: one table for the listener and for the help.
import { byId, make } from './dom.js';

/** @typedef {{keys: string[], shown: string, words: string, run: (key: string) => void}} Shortcut */

/** @param {Shortcut[]} shortcuts */
export function listen(shortcuts) {
  byId('key-list').replaceChildren(
    ...shortcuts.map(({ shown, words }) =>
      make('div', {}, make('dt', {}, ...shown.split(' ').map((key) => make('kbd', {}, key))), make('dd', {}, words)),
    ),
  );
  const run = new Map(shortcuts.flatMap((shortcut) => shortcut.keys.map((key) => [key, shortcut.run])));
  document.addEventListener('keydown', (event) => {
    const command = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.altKey || event.repeat || (command && (event.shiftKey || event.key.toLowerCase() !== 'z'))) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest('input, textarea, select, dialog[open]')) return;
    if (event.key === 'Enter' && target.closest('button, a, summary')) return;
    const action = run.get(command ? 'Ctrl+Z' : event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (!action) return;
    event.preventDefault();
    action(event.key);
  });
}
