import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/**
 * What the proxy does with connections, new and old. A COMMIT is that of a transaction, or a prepared
 * statement that commits by itself.
 */
export type Mood =
  | 'through'
  /** Breaks the connection at the next COMMIT, before the server saw it. */
  | 'break before commit'
  /** Lets the next COMMIT through and breaks the connection instead of passing the answer. */
  | 'break after commit'
  /** The same, and breaks every connection from then on. */
  | 'break before commit, then down'
  | 'break after commit, then down'
  /** Breaks every connection. */
  | 'down'
  /** Takes everything and passes on nothing. */
  | 'silent';

const FRESH = { mood: 'through' as Mood, broken: 0, refused: 0, refusesMax: Infinity };

/** Stands between a client and a database, and breaks connections at chosen moments. */
export interface BreakingProxy {
  readonly url: string;
  mood: Mood;
  /** How often a COMMIT was broken. */
  readonly broken: number;
  /** How many connections were refused. */
  readonly refused: number;
  /** When so many were, it lets everything through again. */
  refusesMax: number;
  /** Lets everything through, and counts anew. */
  reset(): void;
  close(): Promise<void>;
}

export async function startBreakingProxy(target: string): Promise<BreakingProxy> {
  const to = new URL(target);
  const sockets = new Set<Socket>();
  const state = { ...FRESH, breakAll };
  function breakAll(): void {
    sockets.forEach((socket) => socket.destroy());
  }
  const server = createServer((client) => {
    if (state.mood === 'down') {
      state.refused += 1;
      if (state.refused >= state.refusesMax) state.mood = 'through';
      client.destroy();
      return;
    }
    const upstream = connect(Number(to.port), to.hostname);
    pair(client, upstream, state);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get mood() {
      return state.mood;
    },
    set mood(mood) {
      state.mood = mood;
      if (mood === 'down') breakAll();
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
    close: async () => {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface State {
  mood: Mood;
  broken: number;
  readonly breakAll: () => void;
}

const SYNC = Buffer.from([...Buffer.from('S'), 0, 0, 0, 4]);
const IDLE = Buffer.from([...Buffer.from('Z'), 0, 0, 0, 5, ...Buffer.from('I')]);
/** Of Parse or Bind, whose first name is that of a portal, here without one. */
const isNamed = (data: Buffer) => data[String.fromCharCode(data[0]!) === 'P' ? 5 : 6] !== 0;

function pair(client: Socket, upstream: Socket, state: State): void {
  /** No transaction is open. */
  let idle = true;
  /** Set while the answer to a COMMIT is not to be passed on. */
  let onAnswer: (() => void) | undefined;
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroy());
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
