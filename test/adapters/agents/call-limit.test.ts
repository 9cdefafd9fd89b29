import { once } from 'node:events';
import { constants, type ClientHttp2Stream } from 'node:http2';
import { beforeEach, expect, test } from 'vitest';
import { createSimulatedClock, type VirtualClock } from '../../doubles/simulated-clock.ts';
import { PATIENCE } from '../../support/patience.ts';
import { ED25519, openRawCall, selfSigned } from './raw-client.ts';
import { startAgentStand, type AgentStand } from './agent-stand.ts';

const CALL_MS = 1_000;

let clock: VirtualClock;
let session: ReturnType<AgentStand['session']>;
/** A connection without a call. */
let timersAtRest: number;

beforeEach(async () => {
  clock = createSimulatedClock();
  const limits = { callMs: CALL_MS, strangerMs: 3_600_000 };
  const stand = await startAgentStand({ clock, limits });
  session = stand.session(await selfSigned(ED25519));
  await once(session, 'connect');
  await sent();
  timersAtRest = clock.pending;
});

/** Resolves once the server has every written byte. */
const sent = () => new Promise<void>((resolve) => session.ping(() => resolve()));

/** A call whose message never ends. Resolves once the server has the call. */
async function open() {
  const stream = openRawCall(session);
  stream.on('error', () => undefined).resume();
  stream.write(Buffer.alloc(1));
  await sent();
  return stream;
}

async function isClosed(stream: ClientHttp2Stream): Promise<void> {
  await expect.poll(() => stream.closed, PATIENCE).toBe(true);
}

test('cuts each call off at its own time limit, also while others go on', async () => {
  const first = await open();
  clock.increment(CALL_MS / 2);
  const second = await open();
  // More message bytes do not extend its time.
  first.write(Buffer.alloc(1));
  await sent();
  clock.increment(CALL_MS / 2);
  await isClosed(first);
  expect([first.rstCode, second.closed]).toEqual([constants.NGHTTP2_CANCEL, false]);
  const third = await open();
  clock.increment(CALL_MS / 2);
  await isClosed(second);
  expect(third.closed).toBe(false);
  clock.increment(CALL_MS / 2);
  await isClosed(third);
});

test('gives the next call its full time when no call is pending', async () => {
  const first = await open();
  first.close();
  await isClosed(first);
  await expect.poll(() => clock.pending, PATIENCE).toBe(timersAtRest);
  clock.increment(CALL_MS / 2);
  const second = await open();
  clock.increment(CALL_MS / 2);
  await sent();
  expect(second.closed).toBe(false);
  clock.increment(CALL_MS / 2);
  await isClosed(second);
});
