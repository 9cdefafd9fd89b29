import { describe, expect, test } from 'vitest';
import type { MachineRow, SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { viewOf, type MachineView } from '../../src/domain/view.ts';
import {
  agentStarted,
  deprovisionAsked,
  device,
  hold,
  liveWork,
  machineRow,
  NOW_MS,
  slotFacts,
} from '../support/facts.ts';

const MINUTE = 60_000;
const view = (change: Partial<SlotFacts>, nowMs = NOW_MS): MachineView =>
  viewOf(slotFacts(change), { nowMs, loss: DEFAULT_LOSS });
const row = (change: Partial<MachineRow>) => ({ row: machineRow(change), listed: device() });
const aside = { kind: 'byOperator', reason: 'because', untilMs: null } as const;
const installed = {
  ...{ requestGeneration: 2n, handedOutAtMs: NOW_MS - MINUTE },
  ...({ reportGeneration: 2n, reportResult: 'Success' } as const),
};

describe('a machine that nobody hears', () => {
  const HOUR = 60 * MINUTE;
  const long = { agentStarted: agentStarted(NOW_MS - 9 * HOUR) };
  const lastHeard = (agoMs: number, change: Partial<MachineRow> = {}) =>
    row({ ...long, heartbeat: { atMs: NOW_MS - agoMs, bootId: 'boot-1' }, ...change });

  test('D3: needs a person once it is silent for an hour, which the clock alone decides', () => {
    const silent = lastHeard(50 * MINUTE);
    expect(view(silent)).toMatchObject({
      ...{ state: 'Running', substate: 'silent', needsHuman: false },
      dueAtMs: NOW_MS + 10 * MINUTE,
    });
    const later = view(silent, NOW_MS + 10 * MINUTE + 1);
    expect(later).toMatchObject({ state: 'Running', substate: 'silent', needsHuman: true });
    expect(view(lastHeard(MINUTE)).needsHuman).toBe(false);
  });

  test('needs a person after the configured time, and never before it counts as silent', () => {
    const ask = (needsHumanAfterMs: number, agoMs: number) =>
      viewOf(slotFacts(lastHeard(agoMs)), {
        nowMs: NOW_MS,
        loss: { ...DEFAULT_LOSS, needsHumanAfterMs },
      }).needsHuman;
    expect(ask(20 * MINUTE, 20 * MINUTE + 1)).toBe(true);
    expect(ask(20 * MINUTE, 20 * MINUTE)).toBe(false);
    expect(ask(MINUTE, 2 * MINUTE), 'it is only late').toBe(false);
  });

  test('needs a person while it is recovered, or under a hold, too', () => {
    const recovered = lastHeard(2 * HOUR, { permit: true, work: [liveWork('ShepherdRecovery')] });
    expect(view(recovered)).toMatchObject({ state: 'Recovering', needsHuman: true });
    const held = { ...lastHeard(2 * HOUR), holds: [hold('no-recover')] };
    expect(view(held)).toMatchObject({ substate: 'silent', needsHuman: true });
  });

  test('needs a person when starts of its agent are given up, an hour after it was last heard', () => {
    const given = { startAttempt: { atMs: null, count: 6, unreached: 6 } };
    const dead = row({ ...given, createdAtMs: NOW_MS - HOUR - 1 });
    expect(view(dead)).toMatchObject({ state: 'Provisioned', needsHuman: true });
    expect(view(row({ ...given, createdAtMs: NOW_MS - HOUR })).needsHuman).toBe(false);
    const heardLately = { atMs: NOW_MS - 30 * MINUTE, bootId: 'boot-1' };
    const lately = row({ ...given, createdAtMs: NOW_MS - 9 * HOUR, heartbeat: heardLately });
    expect(view(lately).needsHuman).toBe(false);
    const tried = {
      startAttempt: { atMs: null, count: 5, unreached: 0 },
      createdAtMs: NOW_MS - 9 * HOUR,
    };
    expect(view(row(tried)).needsHuman, 'its starts go on').toBe(false);
  });

  test.each<readonly [string, Partial<MachineRow>]>([
    ['somebody set it aside', { quarantine: aside }],
    ['it is given back', { deprovision: deprovisionAsked() }],
    ['it was handed over', { installation: installed }],
  ])('needs nobody where %s', (_, change) => {
    expect(view(lastHeard(2 * HOUR, change)).needsHuman).toBe(false);
  });
});
