import { beforeEach, expect, test } from 'vitest';
import { createListingHealth, type ListingHealth } from '../../../src/actors/providers/listings.ts';
import { ProviderError, Unreachable } from '../../../src/domain/errors.ts';
import { sessionId } from '../../../src/domain/ids.ts';
import { PROVIDER } from '../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../doubles/recording-log.ts';

const [FIRST, SECOND] = ['1', '2'].map((at) =>
  sessionId(`00000000-0000-4000-8000-00000000000${at}`),
);
let health: ListingHealth;
let log: RecordingLog;
let written: string[];
let changes: number;
let nowMs: number;
let session: typeof FIRST | undefined;
let isReachable: boolean;
const down = (text = 'connect ECONNREFUSED') => new ProviderError('transient', text);

beforeEach(() => {
  log = recordingLog();
  [written, changes, nowMs, session, isReachable] = [[], 0, 1_000, FIRST, true];
  const write = async (line: string) => {
    if (!isReachable) throw new Unreachable('the database is gone');
    written.push(line);
  };
  health = createListingHealth({
    repository: {
      failed: ({ provider, sessionId: by, cause }) => write(`${provider} ${by.at(-1)!} ${cause}`),
      succeeded: (provider, by) => write(`${provider} ${by.at(-1)!} listed`),
    },
    keeper: { current: () => (session ? ({ sessionId: session } as never) : null) },
    log,
    nowMs: () => nowMs,
    onChange: () => (changes += 1),
  });
});

test('A8: writes the health of listings when it changes, not with each listing', async () => {
  await health.succeeded(PROVIDER);
  await health.succeeded(PROVIDER);
  for (nowMs of [2_000, 62_000, 122_000]) await health.failed(PROVIDER, down());
  expect(health.unlisted()).toEqual([
    { provider: PROVIDER, sinceMs: 2_000, cause: 'connect ECONNREFUSED' },
  ]);
  await health.failed(PROVIDER, down('HTTP 502'));
  expect(health.unlisted()).toMatchObject([{ sinceMs: 2_000, cause: 'HTTP 502' }]);
  await health.succeeded(PROVIDER);
  expect(health.unlisted()).toEqual([]);
  expect([written, changes]).toEqual([
    [
      `${PROVIDER} 1 listed`,
      `${PROVIDER} 1 connect ECONNREFUSED`,
      `${PROVIDER} 1 HTTP 502`,
      `${PROVIDER} 1 listed`,
    ],
    3,
  ]);
});

test('A8: writes it again in each session', async () => {
  session = undefined;
  await health.failed(PROVIDER, down());
  expect([written, health.unlisted().length]).toEqual([[], 1]);
  for (session of [FIRST, SECOND]) await health.failed(PROVIDER, down());
  expect(written).toEqual([
    `${PROVIDER} 1 connect ECONNREFUSED`,
    `${PROVIDER} 2 connect ECONNREFUSED`,
  ]);
});

test('A8: writes it after the next listing if a write failed', async () => {
  isReachable = false;
  await health.failed(PROVIDER, down());
  expect(log.lines.map(({ message }) => message)).toEqual([
    'the result of a listing could not be recorded',
  ]);
  isReachable = true;
  await health.failed(PROVIDER, down());
  expect(written).toHaveLength(1);
});

test('A8: writes nothing for an unwanted listing, and cuts long pages', async () => {
  await health.failed(PROVIDER, new ProviderError('aborted', 'stopped'));
  expect(health.unlisted()).toEqual([]);
  await health.failed(PROVIDER, down(`<html>\u202e\u0007${'x'.repeat(10_000)}`));
  expect(health.unlisted()[0]!.cause.length).toBeLessThanOrEqual(300);
  expect(health.unlisted()[0]!.cause).not.toContain('\u0007');
});
