import { expect, test } from 'vitest';
import { ordersOf } from '../../../../emulators/sim/scenarios/rolling.ts';
import type { Stage } from '../../../../emulators/sim/scenarios/scenario.ts';

const STATES = [
  { key: 'rolling/metal/1', state: 'refused', outcome: 'nobody carried it out in time' },
  { key: 'rolling/metal/2', state: 'open', outcome: null },
];
const entries = new Map(
  [1, 2, 3].map((at) => [at, { view: { slot: `metal/${at}`, providerId: `device-${at}` } }]),
);
const stage = {
  daemon: { board: { entries }, bmdb: { requests: { read: async () => STATES } } },
  signal: AbortSignal.abort(),
} as unknown as Stage;

test('a machine that was not rebooted is named, with what became of its order', async () => {
  expect(await ordersOf(['device-1', 'device-2', 'device-3'], stage)).toEqual([
    'metal/1 (device device-1) was not rebooted; its order is refused: nobody carried it out in time',
    'metal/2 (device device-2) was not rebooted; its order is open: nothing was told yet',
    'metal/3 (device device-3) was not rebooted; its order is not filed',
  ]);
  expect(await ordersOf([], stage)).toEqual([]);
});
