import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** One connection through the proxy, as the server sees it. */
export interface Passage {
  /** Local port of the connection to the server: its `inet_client_port()`. */
  readonly port: number;
  readonly openedAtMs: number;
  closedAtMs: number | null;
}

/** A TCP proxy with injectable faults in front of a database. Delays keep the order of bytes. */
export interface TcpProxy {
  readonly port: number;
  /** All connections so far, including closed ones. */
  readonly passages: readonly Passage[];
  /** How often each fault took effect (not how often it was requested). */
  readonly fired: Readonly<Record<ProxyFault, number>>;
  /** Breaks every connection. */
  cut(): void;
  /** Blocks both directions, closing included, from now on; nothing is lost. */
  hold(): void;
  /** Releases everything that was held back. */
  release(): void;
  /** Delays everything by this much. */
  slow(latencyMs: number): void;
  /**
   * Delays each COMMIT of a transaction that may write, and each prepared statement that writes and
   * commits by itself.
   */
  delayCommits(delayMs: number): void;
  /**
   * Breaks the connection of the next such COMMIT or statement: before the server gets it, when the
   * server answers, or `during`, so that the client may look for its effect while it is still on
   * its way.
   */
  breakNextCommit(when: CommitBreak): void;
  /** Passes half of a client's next bytes, and breaks the connection. */
  cutNextMessage(): void;
  close(): Promise<void>;
}
export type CommitBreak = 'before' | 'during' | 'after';
export type ProxyFault =
  | 'cut'
  | 'held'
  | 'slowed'
  | 'commitDelayed'
  | 'commitBefore'
  | 'commitDuring'
  | 'commitAfter'
  | 'cutInMessage';

const COMMIT_FAULTS = {
  before: 'commitBefore',
  during: 'commitDuring',
  after: 'commitAfter',
} as const;

interface State {
  held: boolean;
  latencyMs: number;
  commitDelayMs: number;
  commit: CommitBreak | null;
  message: boolean;
  readonly fired: Record<ProxyFault, number>;
}

/** @param targetPort port of the server on 127.0.0.1, read for each new connection. */
export async function startTcpProxy(targetPort: () => number): Promise<TcpProxy> {
  const state: State = {
    held: false,
    latencyMs: 0,
    commitDelayMs: 0,
    commit: null,
    message: false,
    fired: {
      cut: 0,
      held: 0,
      slowed: 0,
      commitDelayed: 0,
      commitBefore: 0,
      commitDuring: 0,
      commitAfter: 0,
      cutInMessage: 0,
    },
  };
  const lines = new Set<ReturnType<typeof join>>();
  const passages: Passage[] = [];
  const server = createServer((client) => {
    const upstream = connect(targetPort(), '127.0.0.1');
    upstream.once('connect', () => {
      const passage = { port: upstream.localPort!, openedAtMs: Date.now(), closedAtMs: null };
      passages.push(passage);
      upstream.once('close', () => Object.assign(passage, { closedAtMs: Date.now() }));
    });
    const line = join(client, upstream, state);
    lines.add(line);
    upstream.once('close', () => lines.delete(line));
  });
  server.listen(0, '127.0.0.1');
  await new Promise<void>((resolve) => server.once('listening', resolve));
  const pump = () => lines.forEach((line) => line.pump());
  const breakAll = () => lines.forEach((line) => line.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    passages,
    fired: state.fired,
    cut() {
      state.fired.cut += lines.size;
      breakAll();
    },
    hold: () => void (state.held = true),
    release() {
      state.held = false;
      pump();
    },
    slow: (latencyMs) => void (state.latencyMs = latencyMs),
    delayCommits: (delayMs) => void (state.commitDelayMs = delayMs),
    breakNextCommit: (when) => void (state.commit = when),
    cutNextMessage: () => void (state.message = true),
    async close() {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The server is ready, and no transaction is open. */
const IDLE = Buffer.from('Z\0\0\0\x05I');
const WRITES = /\b(INSERT INTO|UPDATE|DELETE FROM)\b/;

/**
 * Tells whether a client's bytes run a prepared statement that may write. They begin with Parse,
 * with the statement's name and text, or with Bind, with a portal, mostly unnamed, and the
 * statement's name.
 */
function writeWatch(): (bytes: Buffer) => boolean {
  const writing = new Set<string>();
  return (bytes) => {
    const [type, [first = '', second = '']] = [
      String.fromCharCode(bytes[0]!),
      bytes.subarray(5).toString('latin1').split('\0', 2),
    ];
    if (type === 'P' && first !== '' && WRITES.test(second)) writing.add(first);
    return (type === 'P' && writing.has(first)) || (type === 'B' && writing.has(second));
  };
}

/** Joins two sockets: the end of one ends the other, once all earlier bytes have passed. */
function join(client: Socket, upstream: Socket, state: State) {
  const destroy = () => {
    client.destroy();
    upstream.destroy();
  };
  let deaf = false;
  let readOnly = false;
  let idle = false;
  const writes = writeWatch();
  const up = createLane(upstream, state);
  const down = createLane(client, state);
  client.on('data', (bytes: Buffer) => {
    if (state.message && bytes.length > 1) {
      state.message = false;
      state.fired.cutInMessage += 1;
      upstream.write(bytes.subarray(0, bytes.length / 2), destroy);
      return;
    }
    const { commit } = state;
    if (bytes.includes('BEGIN')) readOnly = bytes.includes('READ ONLY');
    const isCommit = (writes(bytes) && idle) || (!readOnly && bytes.includes('COMMIT'));
    if (commit && isCommit) {
      state.commit = null;
      state.fired[COMMIT_FAULTS[commit]] += 1;
      if (commit === 'before') return destroy();
      if (commit === 'during') {
        client.destroy();
        upstream.end(bytes);
        return;
      }
      deaf = true;
    }
    if (isCommit && state.commitDelayMs > 0) {
      state.fired.commitDelayed += 1;
      up.push(bytes, state.commitDelayMs);
    } else up.push(bytes);
  });
  upstream.on('data', (bytes: Buffer) => {
    idle = bytes.subarray(-IDLE.length).equals(IDLE);
    if (deaf) destroy();
    else down.push(bytes);
  });
  for (const [socket, lane] of [
    [client, up],
    [upstream, down],
  ] as const) {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => lane.push(null));
  }
  const pump = () => {
    up.pump();
    down.pump();
  };
  return { pump, destroy };
}

/** Bytes on their way to a socket; null is the end. */
function createLane(to: Socket, state: State) {
  const queue: { readonly bytes: Buffer | null; readonly dueMs: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const pump = () => {
    clearTimeout(timer);
    while (queue[0] && !state.held) {
      const waitMs = queue[0].dueMs - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(pump, waitMs);
        return;
      }
      const { bytes } = queue.shift()!;
      if (bytes) to.write(bytes);
      else to.destroy();
    }
  };
  return {
    pump,
    push(bytes: Buffer | null, delayMs = 0) {
      if (state.held) state.fired.held += 1;
      else if (state.latencyMs > 0) state.fired.slowed += 1;
      queue.push({ bytes, dueMs: performance.now() + state.latencyMs + delayMs });
      if (queue.length === 1 || state.latencyMs === 0) pump();
    },
  };
}
