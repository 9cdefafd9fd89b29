import type { BmdbSurroundings } from '../../adapters/bmdb/port.ts';

/** Component of the sessions that carry requests out. */
const DAEMON = 'shepherd';
export const isAnyAlive = (sessions: BmdbSurroundings['sessions']): boolean =>
  sessions.some(({ component }) => component === DAEMON);

export const NO_DAEMON = 'no daemon is alive: nothing is done to any machine, and requests wait';
