import type { Socket } from 'node:net';
import { startRelay, type Relay } from '../../../support/relay.ts';

/**
 * How the proxy treats new and old connections. A COMMIT is that of a transaction, or a prepared
 * statement that commits by itself.
 */
export type Mood =
  | 'through'
  /** Breaks the connection at the next COMMIT, before the server sees the COMMIT. */
  | 'break before commit'
  /** Passes the next COMMIT, and breaks the connection instead of passing the answer. */
  | 'break after commit'
  /** The same, and breaks every later connection. */
  | 'break before commit, then down'
  | 'break after commit, then down'
  /** Breaks every connection. */
  | 'down'
  /** Accepts everything and passes on nothing. */
  | 'silent';

const FRESH = { mood: 'through' as Mood, broken: 0, refused: 0, refusesMax: Infinity };

/** Stands between a client and a database, and breaks connections at chosen moments. */
export interface BreakingProxy extends Pick<Relay, 'url' | 'close'> {
  mood: Mood;
  /** Number of broken COMMITs. */
  readonly broken: number;
  /** Number of refused connections. */
  readonly refused: number;
  /** After this many refused connections the proxy passes everything again. */
  refusesMax: number;
  /** Passes everything, and resets the counts. */
  reset(): void;
}

export async function startBreakingProxy(target: string): Promise<BreakingProxy> {
  const state = { ...FRESH, breakAll: () => relay.breakAll() };
  const relay = await startRelay(target, (client, dial) => {
    if (state.mood === 'down') {
      state.refused += 1;
      if (state.refused >= state.refusesMax) state.mood = 'through';
      client.destroy();
      return;
    }
    pair(client, dial(), state);
  });
  return {
    url: relay.url,
    close: relay.close,
    get mood() {
      return state.mood;
    },
    set mood(mood) {
      state.mood = mood;
      if (mood === 'down') relay.breakAll();
    },
    get broken() {
      return state.broken;
    },
    get refused() {
      return state.refused;
    },
    get refusesMax() {
      return state.refusesMax;
    },
    set refusesMax(count) {
      state.refusesMax = count;
    },
    reset: () => void Object.assign(state, FRESH),
  };
}

interface State {
  mood: Mood;
  broken: number;
  readonly breakAll: () => void;
}

const SYNC = Buffer.from([...Buffer.from('S'), 0, 0, 0, 4]);
const IDLE = Buffer.from([...Buffer.from('Z'), 0, 0, 0, 5, ...Buffer.from('I')]);
/** Parse or Bind. The first name in Bind is that of a portal, empty here. */
const isNamed = (data: Buffer) => data[String.fromCharCode(data[0]!) === 'P' ? 5 : 6] !== 0;

function pair(client: Socket, upstream: Socket, state: State): void {
  /** No transaction is open. */
  let idle = true;
  /** Set while the answer to a COMMIT must not pass. */
  let onAnswer: (() => void) | undefined;
  client.on('data', (data) => {
    if (state.mood === 'silent') return;
    const commitsByItself = idle && data.subarray(-SYNC.length).equals(SYNC) && isNamed(data);
    const commits = commitsByItself || data.includes('COMMIT\0');
    if (commits && state.mood.startsWith('break')) {
      state.broken += 1;
      const seen = state.mood.startsWith('break after commit');
      const goesDown = state.mood.endsWith('then down');
      state.mood = goesDown ? 'down' : 'through';
      const hangUp = goesDown ? state.breakAll : () => client.destroy();
      if (!seen) return hangUp();
      onAnswer = hangUp;
    }
    upstream.write(data);
  });
  upstream.on('data', (data) => {
    idle = data.subarray(-IDLE.length).equals(IDLE);
    if (onAnswer) onAnswer();
    else if (state.mood !== 'silent') client.write(data);
  });
}
