import { STATES, type MachineState } from '../domain/view.ts';

const NAMES: ReadonlySet<string> = new Set(STATES);

/**
 * State and substate that a snapshot of `lifecycle` shows, in the words of the glossary: the
 * innermost name, with `ours` left out. Null for snapshots of other actors.
 */
export function leafOf(snapshot: unknown): { state: MachineState; substate: string } | null {
  const value = (snapshot as { value?: unknown } | null)?.value;
  const life = (value as { life?: unknown } | undefined)?.life;
  if (typeof life === 'string') {
    return NAMES.has(life) ? { state: life as MachineState, substate: '' } : null;
  }
  if (typeof life !== 'object' || life === null) return null;
  const [state, inner] = Object.entries(life)[0] ?? [];
  if (state === undefined || !NAMES.has(state)) return null;
  let leaf: unknown = inner;
  while (typeof leaf === 'object' && leaf !== null) {
    const [name, deeper] = Object.entries(leaf)[0] ?? ['', ''];
    leaf = name === 'ours' || typeof deeper === 'object' ? deeper : name;
    if (name !== 'ours' && typeof deeper !== 'object') break;
  }
  return { state: state as MachineState, substate: String(leaf) };
}
