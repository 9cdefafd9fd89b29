import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import { createPromMetrics } from '../../src/adapters/metrics/prom-metrics.ts';
import { startConsole, type Console, type ConsoleDeps } from '../../src/console/console.ts';
import type { ConsoleViews } from '../../src/console/views.ts';
import { scriptedFleet } from './scripted-fleet.ts';

const none = async () => null;
const nothing = async () => [];

/** Nobody has logged in, and nothing has happened. No test here uses the missing parts. */
export const EMPTY = {
  accounts: {
    repository: {
      tokens: { find: none, list: nothing },
      sessions: { find: none, list: nothing },
      codes: { redeem: none },
    },
    random: systemRandom,
    events: { append: async () => undefined },
  },
  insight: { explain: none, live: () => null, ladder: () => null, hardware: none },
  history: {
    ofSlot: async () => ({ lines: [], next: null, tenants: [] }),
    ofMachine: async () => ({ events: [], work: [] }),
  },
  providers: { summaries: nothing, summary: none },
  guard: () => ({ scopes: [], waiting: [], waitingBy: new Map() }),
  plan: () => ({ atMs: 0, providers: [], work: [], pools: [] }),
  daemons: {
    sessions: async () => ({ atMs: 0, sessions: [] }),
    self: () => null,
    loops: () => [],
    holderOf: () => null,
  },
  records: { episodes: async () => ({ episodes: [], isCut: false }) },
  cases: { list: nothing },
  series: { stepMs: 10_000, samples: () => [] },
  events: { newest: async () => '0', append: async () => undefined },
  webhooks: { repository: { list: nothing, deliveries: nothing }, configured: [] },
  submission: {},
  conditions: { report: none, ofSlot: nothing },
  acceptances: { read: nothing, begin: none },
  rolls: { create: none, list: nothing, read: nothing, step: none, control: none },
} as unknown as Pick<
  ConsoleDeps,
  | 'accounts'
  | 'events'
  | 'webhooks'
  | 'submission'
  | 'rolls'
  | 'conditions'
  | 'acceptances'
  | keyof ConsoleViews
>;

/** A console of an empty fleet on a free loopback port, apart from the test's own parts. */
export const startScriptedConsole = (deps: Partial<ConsoleDeps> = {}): Promise<Console> =>
  startConsole({
    ...EMPTY,
    listen: { host: '127.0.0.1', port: 0 },
    fleet: scriptedFleet(),
    metrics: createPromMetrics({ version: '0.0.0', schema: '1' }),
    meters: silentMetrics,
    health: () => ({ checks: { bmdb: { ok: true, detail: 'reachable' } } }),
    mayEraseDisks: [],
    clock: systemClock,
    log: silentLog,
    version: '0.0.0',
    ...deps,
  });
