import { expect, it } from 'vitest';
import { machineId } from '../../src/domain/ids.ts';
import { isOrder, MACHINE_VERBS, type Verb } from '../../src/domain/verbs.ts';
import { wishOf, type GivenRequest as GivenWish } from '../../src/domain/operator-request.ts';
import type { RequestRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { dueRequest } from '../../src/domain/requests.ts';
import { resultOfRequest } from '../../src/domain/request-outcome.ts';
import type { Scene } from '../../src/domain/request-result.ts';
import { NOW_MS, requestRow } from '../support/facts.ts';
import { factsOf, rowOf } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';

const IMAGE = {
  url: 'https://images.example/os.raw',
  sha256: 'a'.repeat(64),
  compression: 'none',
  rootDevice: { name: 'sda' },
} as const;

/** The outcome of a request for a machine in words. */
function ended(words: string, request: RequestRow, more: Partial<Scene> = {}) {
  const { row, holds } = factsOf(words);
  return resultOfRequest({
    ...{ request, row, wish: null, guard: null, pools: [], isInstalling: false },
    now: { holds, nowMs: NOW_MS, loss: DEFAULT_LOSS },
    ...more,
  });
}
const decide = (decision: GivenWish, words = '', more: Partial<RequestRow> & object = {}) => {
  const request = requestRow({ verb: decision.verb, ...more });
  return ended(words, request, { wish: wishOf(decision) });
};
const install: GivenWish = { verb: 'install', image: IMAGE };
const deprovision: GivenWish = { verb: 'deprovision', drain: null, returnToPool: false };
const hold = (kind: 'no-start' | 'preserve'): GivenWish => ({ verb: 'hold', kind, untilMs: null });
const installing = (requestGeneration: bigint, reportGeneration: bigint | null) =>
  rowOf('install due', {
    installation: { ...rowOf('install due').installation, requestGeneration, reportGeneration },
  });

testRows<[string, GivenWish, string | RegExp, Partial<RequestRow>?]>([
  ['', { verb: 'thaw' }, /^it expired/, { expiresAtMs: NOW_MS }],
  ['slot', { verb: 'release', forgetHostKey: false }, /not on/],
  ['', { verb: 'hold', kind: 'no-start', untilMs: NOW_MS }, /already passed$/],
  ['hold preserve', { verb: 'hold', kind: 'preserve', fromMs: NOW_MS + 1 }, /: remove it first$/],
  ['', { verb: 'quarantine', untilMs: NOW_MS }, /already passed$/],
  ['quarantine conflict', { verb: 'quarantine', untilMs: null }, /already$/],
  ['hold preserve', deprovision, 'a hold preserves it'],
  ['hold preserve', install, 'a hold preserves it'],
  ['quarantine conflict', deprovision, /: release it first$/],
  ['quarantine conflict', install, /: release it first$/],
  ['deprovision', install, 'it is to be deprovisioned'],
  ['install done', install, 'it was handed over'],
  ['install pending', { verb: 'cancel-install' }, /^generation 2 was handed to its agent/],
])('refuses a decision: %s: %j: %s', (words, decision, outcome, request) => {
  expect(decide(decision, words, request)).toEqual({
    ...{ state: 'refused', effect: null, event: null },
    outcome: expect.stringMatching(outcome),
  });
});

it('refuses to end an installation that another one replaced', () => {
  const given = { wish: wishOf({ verb: 'cancel-install' }), row: installing(3n, 1n) };
  const told = ended('', requestRow({ verb: 'cancel-install' }), given);
  expect(told?.outcome).toMatch(/^generation 3 replaced another/);
});

testRows(MACHINE_VERBS.filter((verb) => !isOrder(verb)))(
  'refuses %s when this program cannot read the request',
  (verb) => {
    expect(ended('', requestRow({ verb }))).toMatchObject({
      ...{ state: 'refused', outcome: 'this program cannot read it; upgrade it' },
    });
  },
);

testRows([
  [hold('no-start'), { force: false, kind: 'no-start', fromMs: null, untilMs: null }],
  [{ verb: 'release', forgetHostKey: true }, { forgetHostKey: true }],
  [
    { ...deprovision, returnToPool: true },
    { drain: null, returnToPool: true },
  ],
] as const)('carries out a decision with these writes: %j', (decision, effect) => {
  expect(decide(decision)?.effect).toEqual({ verb: decision.verb, ...effect });
});

it('uses the next generation of an installation after the highest number', () => {
  const next = (requestGeneration?: bigint, reportGeneration: bigint | null = null) =>
    ended('', requestRow({ verb: 'install' }), {
      wish: wishOf(install),
      ...(requestGeneration && { row: installing(requestGeneration, reportGeneration) }),
    })?.effect;
  expect(next()).toEqual({ verb: 'install', generation: 1n, image: IMAGE });
  expect(next(4n, 7n)).toMatchObject({ generation: 8n });
  expect(next(9n, 7n)).toMatchObject({ generation: 10n });
});

it('says that an agent has an installation already, which no quarantine stops', () => {
  const outcome = (decision: GivenWish) =>
    ended('', requestRow({ verb: decision.verb }), {
      ...{ wish: wishOf(decision), isInstalling: true },
    })?.outcome ?? '';
  expect(outcome({ verb: 'quarantine', untilMs: null })).toMatch(/may be under way$/);
  expect(outcome(hold('preserve'))).toMatch(/may be under way$/);
  expect(outcome(hold('no-start'))).not.toMatch(/under way/);
});

it('leaves open an order that can be carried out, and verbs of newer programs', () => {
  const reboot = requestRow({ verb: 'reboot' });
  expect(ended('', reboot)).toBeNull();
  const row = rowOf('', { machineId: machineId('aaaaaaaa-0000-4000-8000-000000000002') });
  expect(ended('', reboot, { row })?.state).toBe('refused');
  expect(ended('', requestRow({ verb: 'repaint' as Verb }))).toBeNull();
});

testRows(['release', 'clear-backoff', 'reboot'] as const)(
  'leaves %s open on a rung of a newer program until it expires',
  (verb) => {
    const request = requestRow({ verb });
    const { row } = factsOf('newer');
    const now = { holds: [], nowMs: NOW_MS, loss: DEFAULT_LOSS };
    expect(ended('newer', request)).toBeNull();
    expect(dueRequest([request], row, now)).toBeNull();
    const late = { ...now, nowMs: request.expiresAtMs + 1 };
    expect(ended('newer', request, { now: late })?.state).toBe('refused');
    expect(dueRequest([request], row, late)).toBe(request);
  },
);
