import { expect, test } from 'vitest';
import { ordersOf } from '../../../../emulators/sim/scenarios/rolling.ts';
import type { Stage } from '../../../../emulators/sim/scenarios/scenario.ts';

const STATES = [
  { key: 'k1', state: 'refused', outcome: 'nobody carried it out in time' },
  { key: 'k2', state: 'open', outcome: null },
];
const stage = {
  daemon: {
    fleet: {
      snapshot: () => ({
        machines: [1, 2, 3].map((at) => ({ slot: `metal/${at}`, providerId: `device-${at}` })),
      }),
    },
  },
  means: { bmdb: { requests: { read: async () => STATES } }, signal: AbortSignal.abort() },
} as unknown as Stage;

test('a machine that was not rebooted is named, with what became of its order', async () => {
  const keys = new Map([
    ['metal/1', 'k1'],
    ['metal/2', 'k2'],
  ]);
  expect(await ordersOf(['device-1', 'device-2', 'device-3'], keys, stage)).toEqual([
    'metal/1 (device device-1) was not rebooted; its order is refused: nobody carried it out in time',
    'metal/2 (device device-2) was not rebooted; its order is open: nothing was told yet',
    'metal/3 (device device-3) was not rebooted; its order is not filed',
  ]);
  expect(await ordersOf([], keys, stage)).toEqual([]);
});
