import { silentMetrics } from '../../../src/adapters/metrics/port.ts';
import { createMemoryRecords, NO_SHELL } from '../../../src/adapters/driver-kit/stand-ins.ts';
import type { CallOptions, DriverContext } from '../../../src/adapters/provider/port.ts';
import { isProviderError, type ProviderError } from '../../../src/domain/errors.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';

export const INSTANCE_SET_ID = 'shep0-ci000-000000000000000';
export const live = { signal: new AbortController().signal };

/** A well-formed Ed25519 line; `mark` makes another key. */
export function publicKeyLine(mark: number, comment = 'shepherd'): string {
  const field = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const blob = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(Buffer.alloc(32, mark))]);
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`;
}

/** Ordinary options for opening a driver. */
export const driverContext = (
  name: string,
  change: Partial<DriverContext> = {},
): DriverContext => ({
  name: providerName(name),
  instanceSetId: INSTANCE_SET_ID,
  clock: createSimulatedClock(),
  random: createSeededRandom(1),
  log: recordingLog(),
  metrics: silentMetrics,
  publicKey: '',
  records: createMemoryRecords(createSeededRandom(2))(providerName(name)),
  shell: NO_SHELL,
  userAgent: 'test/1',
  daemons: () => 1,
  ...change,
});

/** Options for a direct call of the driver, which accept every machine as ours. */
export const callOf = (change: Partial<CallOptions> = {}): CallOptions => ({
  ...live,
  deadline: new Date(8_640_000_000_000_000),
  operationId: '0b6e0000-0000-4000-8000-000000000000',
  requireOurs: () => undefined,
  ...change,
});

interface JournalEntry {
  readonly seq: number;
  readonly method: string;
  readonly route: string | null;
}
/** The emulator's requests as `METHOD route`, oldest first. */
export function journalOf(emulator: { requests(afterSeq?: number): readonly JournalEntry[] }) {
  const sent = (afterSeq = 0) =>
    emulator.requests(afterSeq).map(({ method, route }) => `${method} ${route}`);
  return {
    sent,
    /** Requests that change state. */
    changes: (afterSeq = 0) => sent(afterSeq).filter((line) => !line.startsWith('GET')),
    count: (wanted: string) => sent().filter((line) => line === wanted).length,
    lastSeq: () => emulator.requests().at(-1)?.seq ?? 0,
  };
}

/** The port's error that rejects the promise. */
export async function failureOf(task: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await task.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (isProviderError(error)) return error;
  throw new Error('it was not rejected with an error of the port', { cause: error });
}
