import { describe, expect, it } from 'vitest';
import { machineId } from '../../src/domain/ids.ts';
import { isOrder, MACHINE_VERBS, type Verb } from '../../src/domain/verbs.ts';
import { wishOf, type Given as GivenWish } from '../../src/domain/wishes.ts';
import type { HoldKind, MachineRow, RequestRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { dueRequest } from '../../src/domain/requests.ts';
import { settlementOf } from '../../src/domain/settlement.ts';
import { deprovisionAsked, hold, machineRow, NOW_MS, requestRow } from '../support/facts.ts';

const IMAGE = {
  url: 'https://images.example/os.raw',
  sha256: 'a'.repeat(64),
  compression: 'none',
  rootDevice: { name: 'sda' },
} as const;

interface Given {
  readonly row?: MachineRow | null;
  readonly request?: Partial<RequestRow>;
  readonly holds?: readonly HoldKind[];
  readonly isInstalling?: boolean;
}

const settle = (decision: GivenWish, given: Given = {}) =>
  settlementOf({
    request: requestRow({ verb: decision.verb, ...given.request }),
    wish: wishOf(decision),
    row: given.row === undefined ? machineRow() : given.row,
    guard: null,
    pools: [],
    now: {
      holds: (given.holds ?? []).map((kind) => hold(kind)),
      nowMs: NOW_MS,
      loss: DEFAULT_LOSS,
    },
    isInstalling: given.isInstalling ?? false,
  });

const install = (): GivenWish => ({ verb: 'install', image: IMAGE });
const inConflict = machineRow({
  quarantine: { kind: 'conflict', reason: 'two of them', untilMs: null },
});
const installing = (requestGeneration: bigint, change: Partial<MachineRow['installation']> = {}) =>
  machineRow({
    installation: {
      requestGeneration,
      handedOutAtMs: null,
      reportGeneration: null,
      reportResult: null,
      ...change,
    },
  });
const leaving = machineRow({ deprovision: deprovisionAsked() });
const handedOver = installing(4n, { reportGeneration: 4n, reportResult: 'Success' });

describe('a decision is refused', () => {
  const OVER = { untilMs: NOW_MS };
  it.each<[string, GivenWish, Given, string | RegExp]>([
    ['that expired', { verb: 'thaw' }, { request: { expiresAtMs: NOW_MS } }, /^it expired/],
    ['on a machine that left', { verb: 'release', forgetHostKey: false }, { row: null }, /not on/],
    ['that is over', { verb: 'hold', kind: 'no-start', ...OVER }, {}, /over already$/],
    ['that is over', { verb: 'quarantine', ...OVER }, {}, /over already$/],
    [
      'that hides a conflict',
      { verb: 'quarantine', untilMs: null },
      { row: inConflict },
      /already$/,
    ],
    [
      'against a hold',
      { verb: 'deprovision', drain: null, returnToPool: false },
      { holds: ['preserve'] },
      'a hold preserves it',
    ],
    ['against a hold', install(), { holds: ['preserve'] }, 'a hold preserves it'],
    [
      'in a conflict',
      { verb: 'deprovision', drain: null, returnToPool: false },
      { row: inConflict },
      /: release it first$/,
    ],
    ['in a conflict', install(), { row: inConflict }, /: release it first$/],
    ['of a machine that leaves', install(), { row: leaving }, 'it is to be deprovisioned'],
    ['of a machine that was handed over', install(), { row: handedOver }, 'it was handed over'],
    [
      'when an agent has it',
      { verb: 'cancel-install' },
      { row: installing(3n, { handedOutAtMs: NOW_MS - 1, reportGeneration: 2n }) },
      /^generation 3 was handed to its agent/,
    ],
    [
      'when it replaced another',
      { verb: 'cancel-install' },
      { row: installing(3n, { reportGeneration: 1n }) },
      /^generation 3 replaced another/,
    ],
  ])('%s', (_, decision, given, outcome) => {
    expect(settle(decision, given)).toEqual({
      state: 'refused',
      outcome: expect.stringMatching(outcome),
      effect: null,
      event: null,
    });
  });

  it.each(MACHINE_VERBS.filter((verb) => !isOrder(verb)))(
    '%s, of which this program cannot read what was filed',
    (verb) => {
      const scene = { request: requestRow({ verb }), row: machineRow(), guard: null, pools: [] };
      const now = { holds: [], nowMs: NOW_MS, loss: DEFAULT_LOSS };
      expect(settlementOf({ ...scene, now, wish: null, isInstalling: false })).toMatchObject({
        state: 'refused',
        outcome: 'this program cannot read it; upgrade it',
      });
    },
  );
});

describe('a decision is carried out', () => {
  it('with what is to be written', () => {
    expect(settle({ verb: 'hold', kind: 'no-start', untilMs: null })?.effect).toEqual({
      verb: 'hold',
      force: false,
      kind: 'no-start',
      untilMs: null,
    });
    expect(settle({ verb: 'release', forgetHostKey: true })?.effect).toEqual({
      verb: 'release',
      forgetHostKey: true,
    });
    expect(settle({ verb: 'deprovision', drain: null, returnToPool: true })?.effect).toEqual({
      verb: 'deprovision',
      drain: null,
      returnToPool: true,
    });
  });

  it('with the next generation of an installation, whichever number is the highest', () => {
    const next = (row?: MachineRow) => settle(install(), row ? { row } : {})?.effect;
    expect(next()).toEqual({ verb: 'install', generation: 1n, image: IMAGE });
    const reported = installing(4n, { reportGeneration: 7n, reportResult: 'Error' });
    expect(next(reported)).toMatchObject({ generation: 8n });
    expect(next(installing(9n, { reportGeneration: 7n }))).toMatchObject({ generation: 10n });
  });

  it('and says that an agent has an installation already, which no quarantine stops', () => {
    const given = { isInstalling: true };
    const outcome = settle({ verb: 'quarantine', untilMs: null }, given)?.outcome;
    expect(outcome).toMatch(/may be under way$/);
    expect(settle({ verb: 'hold', kind: 'preserve', untilMs: null }, given)?.outcome).toMatch(
      /may be under way$/,
    );
    expect(settle({ verb: 'hold', kind: 'no-start', untilMs: null }, given)?.outcome).not.toMatch(
      /under way/,
    );
  });
});

describe('a request stays open', () => {
  const scene = (verb: Verb, row: MachineRow | null) => ({
    request: requestRow({ verb }),
    wish: null,
    row,
    guard: null,
    pools: [],
    now: { holds: [], nowMs: NOW_MS, loss: DEFAULT_LOSS },
    isInstalling: false,
  });
  it('that is work, while it can be carried out', () => {
    expect(settlementOf(scene('reboot', machineRow()))).toBeNull();
    const other = machineRow({ machineId: machineId('aaaaaaaa-0000-4000-8000-000000000002') });
    expect(settlementOf(scene('reboot', other))?.state).toBe('refused');
  });
  it('that would change a ladder on a rung that newer programs know, until it expires', () => {
    const row = machineRow({ unknownRung: 'soaking' });
    for (const verb of ['release', 'clear-backoff', 'reboot'] as const) {
      const given = scene(verb, row);
      expect(settlementOf(given)).toBeNull();
      expect(dueRequest([given.request], row, given.now)).toBeNull();
      const late = { ...given, now: { ...given.now, nowMs: given.request.expiresAtMs + 1 } };
      expect(settlementOf(late)?.state).toBe('refused');
      expect(dueRequest([late.request], row, late.now)).toBe(late.request);
    }
  });
  it('whose verb is known to newer programs alone', () => {
    expect(settlementOf(scene('repaint' as Verb, machineRow()))).toBeNull();
  });
});
