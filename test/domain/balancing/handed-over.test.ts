import { expect, test } from 'vitest';
import { restsOnGuard, wishOf } from '../../../src/domain/balancing/wish.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { viewOf } from '../../../src/domain/view.ts';
import { agentStarted, device, machineRow, NOW_MS, slotFacts } from '../../support/facts.ts';
import { pool } from './pool.ts';

const MINUTE = 60_000;
const installed = {
  requestGeneration: 2n,
  handedOutAtMs: NOW_MS - 30 * MINUTE,
  reportGeneration: 2n,
  reportResult: 'Success',
} as const;

/** What becomes of a machine whose system is in place, and whose agent was heard so long ago. */
function wished(agoMs: number): string | null {
  const row = machineRow({
    agentStarted: agentStarted(NOW_MS - 60 * MINUTE),
    heartbeat: { atMs: NOW_MS - agoMs, bootId: 'boot-1' },
    installation: installed,
  });
  const facts = slotFacts({ row, listed: device({ address: '10.0.0.1' }) });
  const now = { nowMs: NOW_MS, loss: DEFAULT_LOSS, standings: [] };
  const view = { ...viewOf(facts, now), address: '10.0.0.1' };
  expect(restsOnGuard(view)).toBe(true);
  const all = { providers: null, locations: null, plans: null, labels: {} };
  const serving = pool({ memberStates: ['Running', 'HandedOver'], select: all });
  return wishOf(facts, view, serving, now)?.want ?? null;
}

test('a machine that was handed over serves once the agent that is to reboot it is gone', () => {
  expect(wished(0)).toBe('drop');
  expect(wished(DEFAULT_LOSS.heartbeatMs - 1)).toBe('drop');
  expect(wished(DEFAULT_LOSS.heartbeatMs)).toBe('serve');
});
