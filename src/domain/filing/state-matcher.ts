import { UsageError } from '../errors.ts';
import { STATES, SUBSTATES } from '../states.ts';
import type { MachineView } from '../view.ts';
import { printable } from '../../lib/texts.ts';

type Placed = Pick<MachineView, 'state' | 'substate'>;

/**
 * Whether a machine is in one of these states, each `State` or `State/substate`; any when absent.
 * @throws {UsageError} there is no such state.
 */
export function stateMatcher(wanted: readonly string[] | undefined): (view: Placed) => boolean {
  if (wanted === undefined) return () => true;
  const places = wanted.map(placeNamed);
  return (view) =>
    places.some(
      ({ state, substate }) =>
        view.state === state && (substate === undefined || view.substate === substate),
    );
}

function placeNamed(text: string): { readonly state: string; readonly substate?: string } {
  const [name = '', inner, ...more] = text.split('/');
  const state = STATES.find((each) => isSame(each, name));
  if (state === undefined || more.length > 0) {
    throw new UsageError(
      `"${printable(text)}" is no state; there is ${STATES.join(', ')}, each also with a ` +
        'substate: Quarantined/needsHuman',
    );
  }
  if (inner === undefined) return { state };
  const substate = SUBSTATES[state].find((each) => isSame(each, inner));
  if (substate !== undefined) return { state, substate };
  throw new UsageError(
    `"${printable(inner)}" is no substate of ${state}; there is ${SUBSTATES[state].join(', ')}`,
  );
}

const isSame = (name: string, text: string): boolean => name.toLowerCase() === text.toLowerCase();
