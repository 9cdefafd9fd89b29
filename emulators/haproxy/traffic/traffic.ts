import { setTimeout as sleep } from 'node:timers/promises';
import { callOnce } from './call.ts';
import { holdConnection } from './hold.ts';

/** Clients of a pool that come and go continuously. */
export interface TrafficOptions {
  /** The clients' address, such as `{ host: '127.0.0.1', port: 8080 }`. */
  readonly to: { readonly host: string; readonly port: number };
  /** Requests on their own connections. */
  readonly perSecond: number;
  /** Number of held connections at any time. */
  readonly held: number;
  /** How long a client holds a connection before it ends it; then another client follows. */
  readonly holdMs: readonly [number, number];
  /** Uniform in [0, 1). */
  readonly chance: () => number;
}

/** Results. Unfinished requests are not counted. */
export interface TrafficFigures {
  /** New connections with one request each, and refused first requests on held connections. */
  readonly requests: number;
  readonly answered: number;
  /** Not answered: no connection, cut before the answer, or too late. */
  readonly refused: number;
  /** Held connections that their client ended. */
  readonly ended: number;
  /** Held connections that somebody else ended first. */
  readonly cut: number;
  /** Number of failures by reason. */
  readonly failures: ReadonlyMap<string, number>;
  /** New connections per second over the whole time. */
  readonly perSecond: number;
}

export interface Traffic {
  figures(): TrafficFigures;
  /** Stops new clients, and waits for the present ones. */
  stop(): Promise<TrafficFigures>;
}

const TICK_MS = 10;
/** After a stall of the computer this many due clients come at once; the rest never come. */
const BURST_MAX = 25;
/** A cut or refused client returns after this time. */
const AGAIN_MS = 200;

/** Starts at once. */
export function startTraffic({ to, perSecond, held, holdMs, chance }: TrafficOptions): Traffic {
  const failures = new Map<string, number>();
  const under = new Set<Promise<void>>();
  const stopping = new AbortController();
  const beganAt = performance.now();
  let endedAt: number | null = null;
  let calls = 0;
  let begun = 0;
  let answered = 0;
  let refused = 0;
  let ended = 0;
  let cut = 0;
  let skipped = 0;

  const fail = (what: string, why: string) => {
    const text = `${what}: ${why}`;
    failures.set(text, (failures.get(text) ?? 0) + 1);
  };
  const follow = (work: Promise<void>) => {
    const followed = work.finally(() => under.delete(followed));
    under.add(followed);
  };

  const call = async () => {
    calls += 1;
    begun += 1;
    const why = await callOnce(to);
    if (why === null) answered += 1;
    else {
      refused += 1;
      fail('refused', why);
    }
  };
  /** One client after the other; a client without a server counts as refused. */
  const hold = async () => {
    while (!stopping.signal.aborted) {
      const [least, most] = holdMs;
      const end = await holdConnection(to, least + chance() * (most - least), stopping.signal);
      if (end.kind === 'ended') ended += 1;
      else if (end.kind === 'cut') cut += 1;
      else {
        begun += 1;
        refused += 1;
      }
      if (end.kind === 'ended') continue;
      fail(end.kind, end.why);
      await sleep(AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };

  const timer = setInterval(() => {
    const wanted = ((performance.now() - beganAt) / 1_000) * perSecond;
    let due = Math.floor(wanted) - calls - skipped;
    if (due > BURST_MAX) {
      skipped += due - BURST_MAX;
      due = BURST_MAX;
    }
    for (let at = 0; at < due; at += 1) follow(call());
  }, TICK_MS);
  for (let at = 0; at < held; at += 1) follow(hold());

  const figures = (): TrafficFigures => {
    const seconds = ((endedAt ?? performance.now()) - beganAt) / 1_000;
    return {
      requests: begun,
      answered,
      refused,
      ended,
      cut,
      failures: new Map(failures),
      perSecond: seconds > 0 ? calls / seconds : 0,
    };
  };
  return {
    figures,
    async stop() {
      clearInterval(timer);
      endedAt ??= performance.now();
      stopping.abort();
      await Promise.all(under);
      return figures();
    },
  };
}
