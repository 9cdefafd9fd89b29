import type { Socket } from 'node:net';
import { startRelay, type Relay } from './relay.ts';

/** What clients sent to the database, apart from connecting and closing. */
export interface SentStatements {
  /** Executions of prepared statements, and simple queries with any number of commands. */
  readonly statements: number;
  /** Statements that clients prepared. */
  readonly parses: number;
  /**
   * How often a client asked whether the server is ready: its round trips, if it waits each time.
   */
  readonly syncs: number;
  readonly bytes: number;
  /** Named statements by their name, others by their text. */
  readonly byName: Readonly<Record<string, SentStatement>>;
}

export interface SentStatement {
  readonly count: number;
  /** Size of its messages, including the preparation. */
  readonly bytes: number;
}

/** Stands between clients and a PostgreSQL without TLS, and counts the clients' messages. */
export interface WireCount extends Pick<Relay, 'url' | 'close'> {
  /** What was sent since the last call, or since the start. */
  take(): SentStatements;
}

export async function startWireCount(target: string): Promise<WireCount> {
  let tally = createTally();
  const { url, close } = await startRelay(target, (client, dial) => {
    client.pipe(dial()).pipe(client);
    client.on(
      'data',
      messageReader((type, body) => tally.add(client, type, body)),
    );
  });
  return {
    url,
    close,
    take() {
      const { sent } = tally;
      tally = createTally(tally);
      return sent;
    },
  };
}

const LENGTH_BYTES = 4;

/**
 * Calls `each` for every whole message of a client. The first message of a connection has no type
 * and is skipped.
 */
function messageReader(each: (type: string, body: Buffer) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  let started = false;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + LENGTH_BYTES) return;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return;
      if (started) each(String.fromCharCode(rest[0]!), rest.subarray(head + LENGTH_BYTES, end));
      started = true;
      rest = rest.subarray(end);
    }
  };
}

interface WireTally {
  readonly sent: SentStatements;
  /** Portals and prepared statements of each connection. They outlive a tally. */
  readonly names: WeakMap<Socket, Map<string, string>>;
  add(client: Socket, type: string, body: Buffer): void;
}

function createTally({ names }: Pick<WireTally, 'names'> = { names: new WeakMap() }): WireTally {
  const sent = { statements: 0, parses: 0, syncs: 0, bytes: 0 };
  const byName: Record<string, { count: number; bytes: number }> = {};
  const count = (name: string, bytes: number, statements = 0) => {
    const entry = (byName[name] ??= { count: 0, bytes: 0 });
    entry.count += statements;
    entry.bytes += bytes;
    sent.statements += statements;
  };
  return {
    sent: Object.assign(sent, { byName }),
    names,
    add(client, type, body) {
      const bytes = 1 + LENGTH_BYTES + body.length;
      const own = names.get(client) ?? new Map<string, string>();
      names.set(client, own);
      const [first, second] = textsOf(body);
      if (type === 'p' || type === 'X') return;
      sent.bytes += bytes;
      if (type === 'Q') {
        sent.syncs += 1;
        count(first, bytes, 1);
      } else if (type === 'P') {
        sent.parses += 1;
        own.set(`statement ${first}`, first || second);
        count(first || second, bytes);
      } else if (type === 'B') {
        const name = own.get(`statement ${second}`) ?? second;
        own.set(`portal ${first}`, name);
        count(name, bytes);
      } else if (type === 'E') count(own.get(`portal ${first}`) ?? first, bytes, 1);
      else if (type === 'S') sent.syncs += 1;
    },
  };
}

/** The first two texts of a message, as far as it has them. */
function textsOf(body: Buffer): [first: string, second: string] {
  const end = body.indexOf(0);
  const next = body.indexOf(0, end + 1);
  return [body.toString('utf8', 0, Math.max(0, end)), body.toString('utf8', end + 1, next)];
}
