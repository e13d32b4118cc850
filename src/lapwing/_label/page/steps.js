// @ts-check
// What was done, newest first; any step can be taken back.
import { byId, make, plural } from './dom.js';
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
  byId('steps').replaceChildren(
    ...[...history].reverse().slice(0, SHOWN).map((step) => {
      const what = step.label === null ? 'no label' : step.n_classes > 1 ? `${step.n_classes} classes` : step.label;
      const words = step.renamed
        ? `${step.renamed[0]} is called ${step.renamed[1]}`
        : `${plural(step.n_rows, 'row')}: ${what}${step.by === 'model' ? ', as the model says' : ''}`;
      return make(
        'li',
        { class: step.taken_back ? 'taken-back' : null },
        step.label === null || step.n_classes > 1 ? null : sign(Math.max(0, classes.indexOf(step.label))),
        make('span', { class: 'what' }, words),
        make('time', {}, clock(step.time)),
        step.taken_back
          ? make('span', { class: 'minor' }, 'taken back')
          : make('button', { type: 'button', 'data-batch': step.batch, 'aria-label': `Take back: ${words}`, onclick: () => undo(step.batch) }, 'Take back'),
      );
    }),
  );
  if (!history.length) byId('steps').replaceChildren(make('li', { class: 'minor' }, 'Nothing yet.'));
  if (focused === undefined) return;
  const same = document.querySelector(`#steps [data-batch="${Number(focused)}"]`) ?? document.querySelector('#steps button');
  if (same instanceof HTMLElement) same.focus();
}

/** @param {string} time @returns {string} */
function clock(time) {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? '' : at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}
