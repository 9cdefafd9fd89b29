import { expect, test } from 'vitest';
import { sightsOf } from '../../../src/domain/balancing/sights.ts';
import type { Observed } from '../../../src/domain/balancing/objects.ts';
import { M1, pool } from './pool.ts';

const server = (port: string, change: Partial<Observed> = {}): Observed => ({
  ref: { kind: 'server', id: port },
  spec: { kind: 'server', name: `${M1}.${port}.api.eu`, address: '10.0.0.1', number: 1 },
  parentId: null,
  phase: 'ready',
  tagged: true,
  ...change,
});

test.each([
  ['ready and told nothing of', {}, 1],
  ['up', { server: { mode: 'active', health: 'up' } }, 1],
  ['not checked yet', { server: { mode: 'active', health: 'unknown' } }, 1],
  ['down', { server: { mode: 'active', health: 'down' } }, 0],
  ['draining', { server: { mode: 'drain', health: 'up' } }, 0],
  ['failed', { phase: 'failed' }, 0],
  ['not ready', { phase: 'progressing' }, 0],
] as const)('a server that is %s', (_, change, open) => {
  const seen = sightsOf(pool(), [server('http', change), server('https')]);
  expect(seen.get(M1)?.open).toBe(open + 1);
});
