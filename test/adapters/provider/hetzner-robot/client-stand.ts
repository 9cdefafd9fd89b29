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
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  driven,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
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

/** A web service that answers as each test says, and clients of it. */
export interface ClientStand {
  readonly peer: Peer;
  records: Records;
  readonly log: RecordingLog;
  readonly clock: VirtualClock;
  password: string;
  /** A client of a daemon of its own. @param limits in an hour, that are other than documented. */
  open(daemons?: number | (() => number), limits?: Readonly<Record<string, number>>): RobotClient;
  /** Milliseconds until it may be asked again; null: that is not said. */
  inMs(error: ProviderError | null): number | null;
}

/** A new one for each test of the file. */
export function useClientStand(): ClientStand {
  const clock = createSimulatedClock();
  const network = createMemoryNetwork(clock);
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
      const shared = { clock, network, log, daemons: count };
      const client = createRobotClient(
        {
          name: 'robot',
          baseUrl: peer.url,
          user: '#ws+test',
          password: () => stand.password,
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
      return driven(clock, client);
    },
  } as { -readonly [Key in keyof ClientStand]: ClientStand[Key] };
  beforeEach(async () => {
    stand.peer = await startPeer(() => OK, network);
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
