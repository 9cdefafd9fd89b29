import { expect, test } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { NOTHING_COUNTED } from '../contracts/bmdb-rows.ts';
import { statisticsOf } from '../doubles/mem-bmdb/statistics.ts';
import { NOW_MS, provided, PROVIDER } from '../support/facts.ts';
import { rowOf, rowsIn } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';

const now = { nowMs: NOW_MS, holds: [], loss: DEFAULT_LOSS };
const fleetOf = (...machines: readonly MachineRow[]) =>
  statisticsOf(
    machines.map((row, at) => ({ ...row, machineId: `machine-${at}` as MachineRow['machineId'] })),
    now,
  );

test('counts nine machines in all conditions', () => {
  const replaced = { ...rowOf('install due').installation, reportGeneration: 1n };
  const started = rowOf('started 31m');
  const fleet = fleetOf(
    ...[rowOf(''), started, started, started],
    ...[rowOf('heard 1m'), rowOf('heard 1m, install due')],
    rowOf('heard 1m', { installation: { ...replaced, reportResult: 'Success' } }),
    ...[rowOf('started 31m, install due'), rowOf('heard 20m, install done')],
  );
  const counts = {
    ...NOTHING_COUNTED,
    machines: 9,
    provided: 9,
    heartbeating: 3,
    installationPending: 3,
    installed: 1,
    pendingAgentStart: 1,
    pendingRecovery: 4,
  };
  expect(fleet).toEqual({ fleet: counts, providers: new Map([[PROVIDER, counts]]) });
  expect(fleetOf()).toEqual({ fleet: NOTHING_COUNTED, providers: new Map() });
});

testRows(
  rowsIn(`
    beat 1h                     → provided, pendingAgentStart
    beat 1h, install failed     → provided, installationFailed, pendingAgentStart
    bare                        →
    backoff Recovery 0          → provided, pendingAgentStart
    backoff Recovery +1ms       → provided, pendingAgentStart, activeBackoffs
    work AgentStart             → provided, activeWork
    beat 31m, started 30m1ms    → provided, pendingRecovery
    started 40m, beat 10m       → provided
    started 31m, next +1ms      → provided, pendingRecovery
    started 31m, unreadable     → provided`),
)('counts a machine with "%s" as %s', (words, expected) => {
  const { machines, activeBackoffs, activeWork, ...counts } = fleetOf(rowOf(words)).fleet;
  const found = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [name]));
  const lists = { activeBackoffs, activeWork };
  for (const [name, of] of Object.entries(lists)) {
    if (Object.values(of).some((count) => count === 1)) found.push(name);
  }
  expect(machines).toBe(1);
  expect(found.toSorted()).toEqual(expected.split(', ').filter(Boolean).toSorted());
});

test('counts each provider separately and all together as the fleet', () => {
  const elsewhere = provided({ provider: providerName('other') });
  const { fleet, providers } = fleetOf(
    rowOf(''),
    rowOf('', { provided: elsewhere }),
    rowOf('bare'),
  );
  expect(fleet.machines).toBe(3);
  expect([...providers].map(([name, { machines }]) => [name, machines])).toEqual([
    [PROVIDER, 1],
    ['other', 1],
  ]);
});
