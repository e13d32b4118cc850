// @ts-check
// The history, newest first; any step can be taken back.
import { byId, make, plural, showItems } from './dom.js';
import { sign } from './palette.js';

const SHOWN = 60;

/**
 * @param {import('./api.js').State} state
 * @param {(batch: number) => void} undo
 */
export function showSteps(state, undo) {
  const { history, classes } = state;
  /** @type {HTMLButtonElement} */ (byId('undo')).disabled = !state.can_undo;
  const { journal } = state;
  byId('kept').textContent = journal ? `Saved in ${journal}.` : 'Kept in memory alone, as long as the server runs.';
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.batch : undefined;
  const steps = [...history].reverse().slice(0, SHOWN);
  const codes = steps.map((step) => (step.label === null || step.n_classes > 1 ? null : Math.max(0, classes.indexOf(step.label))));
  const names = steps.map((step, k) => JSON.stringify([step.batch, wordsOf(step), codes[k], step.taken_back]));
  const list = byId('steps');
  if (steps.length) showItems(list, names, (k) => itemOf(steps[k], codes[k], undo));
  else showItems(list, ['none'], () => make('li', { class: 'minor' }, 'Nothing yet.'));
  // Restore the focus if its step was replaced.
  if (focused === undefined || list.contains(document.activeElement)) return;
  const same = list.querySelector(`[data-batch="${Number(focused)}"]`) ?? list.querySelector('button');
  if (same instanceof HTMLElement) same.focus();
}

/** @param {import('./api.js').Step} step @returns {string} */
function wordsOf(step) {
  if (step.renamed) return `${step.renamed[0]} is called ${step.renamed[1]}`;
  const what = step.label === null ? 'no label' : step.n_classes > 1 ? `${step.n_classes} classes` : step.label;
  return `${plural(step.n_rows, 'row')}: ${what}${step.by === 'model' ? ', as the model says' : ''}${step.checked ? ` (${step.checked})` : ''}`;
}

/**
 * @param {import('./api.js').Step} step
 * @param {number | null} code of its class; null where there is none, or several
 * @param {(batch: number) => void} undo
 */
function itemOf(step, code, undo) {
  const words = wordsOf(step);
  return make(
    'li',
    { class: step.taken_back ? 'taken-back' : null },
    code === null ? null : sign(code),
    make('span', { class: 'what' }, words),
    make('time', {}, clock(step.time)),
    step.taken_back
      ? make('span', { class: 'minor' }, 'taken back')
      : make('button', { type: 'button', 'data-batch': step.batch, 'aria-label': `Take back: ${words}`, onclick: () => undo(step.batch) }, 'Take back'),
  );
}

/** @param {string} time @returns {string} */
function clock(time) {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? '' : at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}
