/** Texts around charts. The charts contain the names and descriptions of states. */
export const words = {
  charts: 'Where it is',
  statesOf: (title: string) => `${title}: its states`,
  current: 'current',
  rows: 'what its rows say',
  arrowsOf: (names: readonly string[]) =>
    names.length === 0 ? '' : `leads to ${names.join(', ')}`,
  last: 'Before:',
  ago: (span: string) => `${span} ago`,
  because: (reason: string) => `because ${reason}`,
  timer: (place: string) => `If nothing happens before, by the clock: ${place}`,
  again: 'If nothing happens before, it stays where it is, and what is next is found anew',
  in: (span: string) => `in ${span}`,
  due: 'now',
  apart: (shown: string, rows: string) =>
    `Its actor shows ${shown}, but its rows say ${rows}. The daemon counts and logs this.`,
  noActor: 'This daemon has no actor of this slot.',
} as const;
