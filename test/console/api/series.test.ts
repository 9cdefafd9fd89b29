import { expect, test } from 'vitest';
import type { SeriesAnswer } from '../../../src/console/api/fleet-schema.ts';
import { AT_MS } from '../scripted-fleet.ts';
import { askApi, openConsole } from './console-stand.ts';

test('the last hour is told column by column; states that had no machine are left out', async () => {
  const samples = [
    {
      atMs: AT_MS + 0.4,
      counts: { Running: 3, Reserved: 0 },
      silent: 1,
      heartbeats: 10,
      recoveries: 0,
    },
    {
      atMs: AT_MS + 10_000,
      counts: { Running: 2, Recovering: 1 },
      silent: 0,
      heartbeats: 9,
      recoveries: 1,
    },
  ];
  const console = await openConsole({ series: { stepMs: 10_000, samples: () => samples } });
  const { status, body } = await askApi<SeriesAnswer>(console, 'series');
  expect([status, body]).toEqual([
    200,
    {
      stepMs: 10_000,
      atMs: [AT_MS, AT_MS + 10_000],
      states: { Running: [3, 2], Recovering: [0, 1] },
      silent: [1, 0],
      heartbeats: [10, 9],
      recoveries: [0, 1],
    },
  ]);
});
