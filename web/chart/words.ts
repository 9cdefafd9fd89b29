/** Texts around charts. The charts contain the names and descriptions of states. */
export const words = {
  charts: 'Current state',
  statesOf: (title: string) => `${title}: its states`,
  current: 'current',
  rows: 'state in the database',
  arrowsOf: (names: readonly string[]) =>
    names.length === 0 ? '' : `leads to ${names.join(', ')}`,
  last: 'Before:',
  ago: (span: string) => `${span} ago`,
  because: (reason: string) => `because ${reason}`,
  timer: (place: string) => `Next by time alone: ${place}`,
  again: 'By time alone the state stays the same; then the next work is determined again',
  in: (span: string) => `in ${span}`,
  due: 'now',
  apart: (shown: string, rows: string) =>
    `The actor shows ${shown}, but the database says ${rows}. The daemon counts and logs such differences.`,
  noActor: 'This daemon has no actor for this slot.',
} as const;
