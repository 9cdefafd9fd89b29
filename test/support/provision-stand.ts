import { createActor } from 'xstate';
import { createProvisioning } from '../../src/actors/provisioning/services.ts';
import type { ProvisionDeps } from '../../src/actors/provisioning/deps.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import type { FleetProvider } from '../../src/adapters/provider/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { provisioner, type Round } from '../../src/machines/provisioner.ts';
import { PROVIDER } from './facts.ts';
import {
  createMemProvider,
  type MemProvider,
  type MemProviderConfig,
} from '../doubles/mem-provider.ts';
import { provisionParts, HOUR_MS } from './provision-parts.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { runService } from './run-service.ts';

export const PERIOD_MS = 60_000;
const INPUT: Round = { provider: PROVIDER };

/** An in-memory provider and BMDB, and daemons that come and go. */
export interface ProvisionStand {
  readonly clock: VirtualClock;
  readonly bmdb: MemBmdb;
  readonly provider: MemProvider;
  readonly log: RecordingLog;
  readonly metrics: MemMetrics;
  /** One life of a daemon; the next life finds what it left behind. */
  life(change?: LifeChange): Promise<ProvisionLife>;
  intents(): { readonly state: string; readonly slotId: string; readonly witness: string }[];
  states(): string[];
  machines(): ReturnType<typeof machinesOf>;
}

export interface LifeChange {
  readonly provider?: FleetProvider;
  readonly limits?: Partial<ProvisionDeps['limits']>;
  readonly assimilate?: boolean;
  readonly bmdb?: (bmdb: MemBmdb) => MemBmdb;
}

export interface ProvisionLife {
  readonly keeper: SessionKeeper;
  readonly parts: ReturnType<typeof provisionParts>;
  /** One step of the chart. */
  step(name: ProvisionStep): Promise<unknown>;
  /** Several steps, one after the other. */
  steps(...names: readonly ProvisionStep[]): Promise<void>;
  /** One whole round; hanging creations are left alone. Returns the number of planned creations. */
  round(): Promise<number>;
  /** Runs the chart itself. */
  chart(): { stop(): void; state(): unknown };
  drain(graceMs: number): Promise<void>;
  /** The process dies without a word to anybody, and its session expires later. */
  die(): void;
}
export type ProvisionStep =
  | 'takeLease'
  | 'resolveIntents'
  | 'listBoth'
  | 'planRound'
  | 'recordFindings'
  | 'beginCreations';

export function createProvisionStand(config: Partial<MemProviderConfig> = {}): ProvisionStand {
  const clock = createSimulatedClock();
  const log = recordingLog();
  const metrics = createMemMetrics();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const provider = createMemProvider(
    {
      devicePrefix: 'machine-',
      instanceSetId: 'test',
      reservations: 6,
      provisioningMs: 1_000,
      latencyMs: 0,
      ...config,
    },
    { clock, random },
  );

  /** Nobody owns a dead process's calls, so the next life opens the provider anew. */
  let hasDied = false;

  async function life(change: LifeChange = {}): Promise<ProvisionLife> {
    const own = change.bmdb?.(bmdb) ?? bmdb;
    const keeper = createSessionKeeper({
      bmdb: own,
      log,
      component: 'shepherd',
      runtimeInfo: 'test',
    });
    await runService(keeper.services.openSession, { intervalMs: 100 * HOUR_MS }).result;
    const providers = new Map([
      [PROVIDER, change.provider ?? (hasDied ? provider.reopened() : provider)],
    ]);
    const parts = provisionParts({
      bmdb: own,
      keeper,
      providers,
      clock,
      random,
      log,
      metrics,
      holdRows: () => [...bmdb.tables.providerHolds.values()],
      limits: { chunkSize: 2, ...change.limits },
      assimilate: change.assimilate ?? false,
    });
    const { services, report, drain } = createProvisioning(parts.provision);
    const running = new Set<{ stop(): void }>();
    const step = async (name: ProvisionStep): Promise<unknown> => {
      const run = runService(services[name] as typeof services.planRound, INPUT);
      running.add(run);
      return whileTimePasses(
        clock,
        run.result.finally(() => running.delete(run)),
      );
    };
    const steps = async (...names: readonly ProvisionStep[]) => {
      for (const name of names) await step(name);
    };
    return {
      keeper,
      parts,
      step,
      steps,
      drain,
      async round() {
        await steps('takeLease', 'resolveIntents', 'listBoth');
        const planned = (await step('planRound')) as number;
        await step('recordFindings');
        if (planned > 0) await step('beginCreations');
        await settled();
        report(PROVIDER);
        return planned;
      },
      chart() {
        const logic = provisioner.provide({
          actors: services,
          actions: {
            reportRound: () => report(PROVIDER),
            reportPause: (_, { listed }) => log.warn({ ...listed }, 'paused'),
            reportFailure: (_, { error }) => log.warn({ err: error }, 'the iteration failed'),
          },
        });
        const input = { provider: PROVIDER, periodMs: PERIOD_MS };
        const actor = createActor(logic, { clock, input }).start();
        running.add(actor);
        return { stop: () => void actor.stop(), state: () => actor.getSnapshot().value };
      },
      die() {
        hasDied = true;
        for (const run of running) run.stop();
        for (const session of bmdb.tables.sessions.values()) session.deadlineMs = 0;
      },
    };
  }
  const intents = () => [...bmdb.tables.intents.values()];
  return {
    clock,
    bmdb,
    provider,
    log,
    metrics,
    life,
    intents,
    states: () => intents().map(({ state }) => state),
    machines: () => machinesOf(bmdb),
  };
}

/** Moves the clock from timer to timer until the work is done, for at most a day. */
async function whileTimePasses<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const ended = () => (isDone = true);
  work.then(ended, ended);
  const untilMs = clock.monotonic() + 24 * HOUR_MS;
  await settled();
  while (!isDone && clock.monotonic() < untilMs) await advance(clock, clock.untilNext() ?? 1_000);
  if (!isDone) throw new Error('the step did not end within a day');
  return work;
}

const machinesOf = (bmdb: MemBmdb) => [...bmdb.tables.machines.values()].map(({ row }) => row);
