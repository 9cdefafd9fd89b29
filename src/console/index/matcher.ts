import type { FilterTerm, MachineFilter } from '../../domain/machine-filter.ts';
import { entryNeedsHuman } from '../../domain/states.ts';
import type { MachineEntry } from '../port.ts';

/** Whether a machine matches. `text` gives what words are looked for in, made only when asked. */
export type Matcher = (entry: MachineEntry, text: () => string, nowMs: number) => boolean;

export interface MatchMeans {
  /** It is where it is for longer than it should be, at this moment. */
  readonly isOverdue: (entry: MachineEntry, nowMs: number) => boolean;
}

/** Quick questions first: words are looked for only in what is left. */
export function matcherOf({ terms }: MachineFilter, means: MatchMeans): Matcher | null {
  if (terms.length === 0) return null;
  const words = terms.filter(({ kind }) => kind === 'word');
  const others = terms.filter(({ kind }) => kind !== 'word');
  const asked = [...others, ...words].map((term) => matcherOfTerm(term, means));
  return (entry, text, nowMs) => asked.every((matches) => matches(entry, text, nowMs));
}

function matcherOfTerm(term: FilterTerm, { isOverdue }: MatchMeans): Matcher {
  switch (term.kind) {
    case 'state':
      return ({ state, substate }) => {
        const [outer, inner] = [state.toLowerCase(), substate.toLowerCase()];
        const { values } = term;
        return [outer, inner, `${outer}/${inner}`].some((each) => values.includes(each));
      };
    case 'provider':
      return ({ view }) => term.values.includes(view.provider);
    case 'trait':
      return ({ view }) => term.values.includes(view[term.name] ?? '');
    case 'hold':
      return ({ view }) =>
        term.values.length === 0
          ? view.holds.length > 0
          : view.holds.some((kind) => term.values.includes(kind));
    case 'since':
      return ({ sinceMs }, _text, nowMs) => nowMs - sinceMs > term.ageMs === term.above;
    case 'heard':
      return ({ view: { lastHeartbeatAtMs } }, _text, nowMs) =>
        lastHeartbeatAtMs !== null && nowMs - lastHeartbeatAtMs > term.ageMs === term.above;
    case 'needs-human':
      return entryNeedsHuman;
    case 'overdue':
      return (entry, _text, nowMs) => isOverdue(entry, nowMs);
    case 'word':
      return (_entry, text) => text().includes(term.text);
  }
}
