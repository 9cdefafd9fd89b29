import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { databaseTimeouts } from '../../src/daemon/real-ports.ts';
import { env, minimal } from '../config/examples.ts';

const timeouts = (interval: string) =>
  databaseTimeouts(parseConfig({ ...minimal(), session: { interval } }, { env }));

test.each([
  ['1s', 800, 300],
  ['2s', 1_600, 600],
  ['5s', 4_000, 1_500],
  ['1m', 4_000, 1_500],
])('ends statements before a session of %s ends', (interval, timeoutMs, pulseTimeoutMs) => {
  expect(timeouts(interval)).toEqual({ timeoutMs, pulseTimeoutMs });
});
