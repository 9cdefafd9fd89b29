import { describe, expect, test } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { byProcess, type Counts } from '../../src/domain/statistics.ts';
import { statisticsOf } from '../doubles/mem-bmdb/statistics.ts';
import {
  machineRow,
  MINUTE,
  NOTHING_COUNTED,
  providedOf,
  PROVIDER,
} from '../contracts/bmdb-rows.ts';
import { ladderRow, liveWork } from '../support/facts.ts';

const NOW = 1_700_000_000_000;
const now = { nowMs: NOW, holds: [], loss: DEFAULT_LOSS };
/** Ids sort in the order in which the rows are made. */
const rows = (...changes: Partial<MachineRow>[]): MachineRow[] =>
  changes.map((change, at) => {
    const id = `00000000-0000-4000-8000-${String(at).padStart(12, '0')}` as MachineRow['machineId'];
    const provided = providedOf(String(at));
    return { ...machineRow(NOW), machineId: id, provided, ...change };
  });

const started = { agentStarted: { atMs: NOW - 30 * MINUTE - 1, publicKey: '07', bootId: null } };
const heard = (minutes: number) => ({ heartbeat: { atMs: NOW - minutes * MINUTE, bootId: null } });
const installation = (request: bigint | null, report: bigint | null, result = 'Success') => ({
  installation: {
    requestGeneration: request,
    handedOutAtMs: null,
    reportGeneration: report,
    reportResult: report === null ? null : (result as 'Success' | 'Error'),
  },
});

test('nine machines in all conditions are counted', () => {
  const fleet = rows(
    {},
    started,
    started,
    started,
    { ...started, ...heard(1) },
    { ...started, ...heard(1), ...installation(10n, null) },
    { ...started, ...heard(1), ...installation(10n, 9n) },
    { ...started, ...installation(10n, null) },
    { ...started, ...heard(20), ...installation(10n, 10n) },
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
  expect(statisticsOf(fleet, now)).toEqual({
    fleet: counts,
    providers: new Map([[PROVIDER, counts]]),
  });
});

test('an empty database counts nothing', () => {
  expect(statisticsOf([], now)).toEqual({ fleet: NOTHING_COUNTED, providers: new Map() });
});

describe('counted as they are meant:', () => {
  const fleetOf = (change: Partial<MachineRow>) => statisticsOf(rows(change), now).fleet;
  const wait = { process: 'ShepherdRecovery', cause: 'x', lastIntervalSeconds: 1 } as const;
  /** No agent is to be started. */
  const idle = { pendingAgentStart: 0 };
  const ladder = ladderRow({ askedAtMs: NOW, askedRung: 'rebooting' });

  test.each<[string, Partial<MachineRow>, Partial<Counts>]>([
    ['a failed installation', installation(1n, 1n, 'Error'), { installationFailed: 1 }],
    ['a machine without hardware', { provided: null }, { provided: 0, ...idle }],
    ['an expired wait', { backoffs: [{ ...wait, untilMs: NOW }] }, {}],
    [
      'a wait that is not over',
      { backoffs: [{ ...wait, untilMs: NOW + 1 }] },
      { activeBackoffs: byProcess((process) => Number(process === 'ShepherdRecovery')) },
    ],
    [
      'work',
      { work: [liveWork('ShepherdAgentStart')] },
      { activeWork: byProcess((process) => Number(process === 'ShepherdAgentStart')), ...idle },
    ],
    [
      'a heartbeat of the agent before',
      { ...started, ...heard(31) },
      { pendingRecovery: 1, ...idle },
    ],
    ['ten minutes of silence', { ...started, ...heard(10) }, idle],
    [
      'the pause between two attempts',
      { ...started, recovery: { ...ladder, nextAtMs: NOW + 1 } },
      { pendingRecovery: 1, ...idle },
    ],
    ['a row that cannot be read', { ...started, unreadable: 'new' }, idle],
  ])('%s', (_, change, expected) => {
    const fresh = { ...NOTHING_COUNTED, machines: 1, provided: 1, pendingAgentStart: 1 };
    expect(fleetOf(change)).toEqual({ ...fresh, ...expected });
  });
});

test('each provider is counted for itself, and together they are the fleet', () => {
  const other = providerName('other');
  const fleet = rows({}, { provided: providedOf('x', { provider: other }) }, { provided: null });
  const { fleet: all, providers } = statisticsOf(fleet, now);
  expect([...providers.keys()].toSorted()).toEqual(['metal', 'other']);
  expect(providers.get(other)).toMatchObject({ machines: 1, pendingAgentStart: 1 });
  expect(all).toMatchObject({ machines: 3, provided: 2, pendingAgentStart: 2 });
});
