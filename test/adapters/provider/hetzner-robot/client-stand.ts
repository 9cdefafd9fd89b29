import { afterEach, beforeEach } from 'vitest';
import { createMemoryRecords } from '../../../../src/adapters/provider/core/memory-records.ts';
import {
  createRobotClient,
  type RobotClient,
} from '../../../../src/adapters/provider/hetzner-robot/client/client.ts';
import { createCounts } from '../../../../src/adapters/provider/hetzner-robot/counts.ts';
import type { Records } from '../../../../src/adapters/provider/port.ts';
import type { ProviderError } from '../../../../src/domain/errors.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { recordingLog, type RecordingLog } from '../../../doubles/recording-log.ts';
import { type Peer, type PeerAnswer, startPeer } from './peer.ts';
import { INSTANCE_SET_ID } from './setup.ts';

export const PASSWORD = 'pass-word-that-must-never-be-seen';
export const SERVER = {
  server_number: 321,
  server_name: 'free-321',
  status: 'ready',
  product: 'EX44',
};
export const OK: PeerAnswer = { status: 200, body: [{ server: SERVER }] };
export const how = { signal: new AbortController().signal };
export const urgently = { ...how, urgent: true };

/** Limits of time stay out of the way. */
const LIMIT_MS = 1e9;
const PATIENT = {
  connectTimeoutMs: LIMIT_MS,
  attemptTimeoutMs: LIMIT_MS,
  listPageTimeoutMs: LIMIT_MS,
  operationTimeoutMs: LIMIT_MS,
};

/** A web service that answers as each test says, and clients of it. */
export interface ClientStand {
  readonly peer: Peer;
  records: Records;
  readonly log: RecordingLog;
  readonly clock: ReturnType<typeof createWaitlessClock>;
  password: string;
  /** A client of a daemon of its own. @param limits in an hour, that are other than documented. */
  open(daemons?: number | (() => number), limits?: Readonly<Record<string, number>>): RobotClient;
  /** Milliseconds until it may be asked again; null: that is not said. */
  inMs(error: ProviderError | null): number | null;
}

/** A new one for each test of the file. */
export function useClientStand(): ClientStand {
  const clock = createWaitlessClock();
  const opened: RobotClient[] = [];
  let lives = 0;
  const stand = {
    clock,
    password: PASSWORD,
    inMs: (error: ProviderError | null) =>
      error?.rateLimit ? error.rateLimit.retryAt.getTime() - clock.now() : null,
    open(daemons: number | (() => number) = 1, limits: Readonly<Record<string, number>> = {}) {
      const random = createSeededRandom((lives += 1));
      const id = random.uuid();
      const { records, log, peer } = stand as ClientStand;
      const count = () => (typeof daemons === 'number' ? daemons : daemons());
      const shared = { clock, log, daemons: count };
      const client = createRobotClient(
        {
          name: 'robot',
          baseUrl: peer.url,
          user: '#ws+test',
          password: () => stand.password,
          timings: PATIENT,
          limits,
        },
        {
          ...shared,
          random,
          counts: createCounts({ id, instanceSetId: INSTANCE_SET_ID, records, limits, ...shared }),
          observer: {
            attempt: () => undefined,
            slots: () => undefined,
            retry: () => undefined,
            paused: () => undefined,
            walk: () => undefined,
          },
        },
      );
      opened.push(client);
      return client;
    },
  } as { -readonly [Key in keyof ClientStand]: ClientStand[Key] };
  beforeEach(async () => {
    stand.peer = await startPeer(() => OK);
    stand.records = createMemoryRecords(createSeededRandom(1))(providerName('robot'));
    stand.password = PASSWORD;
    stand.log = recordingLog();
  });
  afterEach(async () => {
    opened.splice(0).forEach((client) => client.stop());
    await stand.peer.close();
  });
  return stand;
}

export const failureOf = (task: Promise<unknown>) =>
  task.then(
    () => null,
    (error: unknown) => error as ProviderError,
  );

/** Nobody waits: time stands still but for what is waited for, which is over at once, and what is skipped. */
function createWaitlessClock() {
  let passedMs = 0;
  return {
    now: () => 1_700_000_000_000 + passedMs,
    monotonic: () => passedMs,
    setTimeout(fn: () => void, delayMs: number) {
      // A limit of time is never reached.
      if (delayMs >= LIMIT_MS / 2) return null;
      const dueMs = passedMs + Math.ceil(delayMs);
      return setImmediate(() => {
        passedMs = Math.max(passedMs, dueMs);
        fn();
      });
    },
    clearTimeout: (id: unknown) => clearImmediate(id as NodeJS.Immediate | undefined),
    skip: (ms: number) => void (passedMs += ms),
  };
}
