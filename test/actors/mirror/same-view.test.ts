import { expect, test } from 'vitest';
import { sameButTimes } from '../../../src/actors/mirror/rows.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { TRAIT_NAMES } from '../../../src/domain/traits.ts';
import type { MachineView } from '../../../src/domain/view.ts';
import { viewAt } from '../../support/views.ts';

const view = viewAt('Running', 'healthy');

test.each<Partial<MachineView>>([
  ...TRAIT_NAMES.map((name) => ({ [name]: 'another' })),
  { machineId: machineId('aaaaaaaa-0000-4000-8000-000000000002') },
  { providerId: 'device-2' },
  { address: null },
  { reason: 'x' },
  { endedBy: 'x' },
  { next: 'recovery' },
  { request: 'x' },
  { holds: ['no-start'] },
  { substate: 'late' },
  { state: 'HandedOver' },
])('treats %o as news', (change) => {
  expect(sameButTimes(view, { ...view, ...change })).toBe(false);
  expect(sameButTimes({ ...view, ...change }, view)).toBe(false);
});

test('does not treat times of heartbeats and due times as news', () => {
  expect(sameButTimes(view, { ...view, lastHeartbeatAtMs: 1, dueAtMs: 2 })).toBe(true);
});
