import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from 'vitest';
import { createMemoryRecords } from '../../../../src/adapters/driver-kit/stand-ins.ts';
import {
  createRobotClient,
  type RobotClient,
} from '../../../../src/adapters/provider/hetzner-robot/client.ts';
import { createCounts } from '../../../../src/adapters/provider/hetzner-robot/counts.ts';
import type { Records } from '../../../../src/adapters/provider/port.ts';
import type { ProviderError } from '../../../../src/domain/errors.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { createMemoryNetwork, type MemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  driven,
  type VirtualClock,
} from '../../../doubles/simulated-clock.ts';
import { recordingLog, type RecordingLog } from '../../../doubles/recording-log.ts';
import { INSTANCE_SET_ID } from './setup.ts';

export interface PeerRequest {
  readonly line: string;
  readonly body: string;
  readonly authorization: string | undefined;
}
export interface PeerAnswer {
  readonly status: number;
  /** JSON, or a text as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server that answers as a test says, for what an honest account never answers. */
export interface Peer {
  readonly url: string;
  readonly seen: readonly PeerRequest[];
  /** Decides from now on. */
  answers: (request: PeerRequest) => PeerAnswer;
  lines(): string[];
  close(): Promise<void>;
}

function startPeer(answers: Peer['answers'], network: MemoryNetwork): Peer {
  const seen: PeerRequest[] = [];
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const { authorization } = req.headers;
      const request = { line: `${req.method} ${req.url}`, body, authorization };
      seen.push(request);
      const { status, body: answer, headers } = peer.answers(request);
      const isText = typeof answer === 'string' || answer === undefined;
      res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      res.end(isText ? answer : JSON.stringify(answer));
    });
  });
  const { port, close } = network.listen(server, { host: '127.0.0.1', port: 0 });
  const peer: Peer = {
    url: `http://127.0.0.1:${port}`,
    seen,
    answers,
    lines: () => seen.map(({ line }) => line),
    close,
  };
  return peer;
}

export const refusal = (status: number, code: string, more: object = {}): PeerAnswer => ({
  status,
  body: { error: { status, code, message: `about ${code}`, ...more } },
});

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
        },
      );
      opened.push(client);
      return driven(clock, client);
    },
  } as { -readonly [Key in keyof ClientStand]: ClientStand[Key] };
  beforeEach(async () => {
    stand.peer = startPeer(() => OK, network);
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
