import { expect, test } from 'vitest';
import type { GuardAnswer } from '../../../src/console/api/fleet-schema.ts';
import { AT_MS, scriptedFleet, WATCHING } from '../scripted-fleet.ts';
import { guardInsight } from '../scripted-guard.ts';
import { askApi, openConsole } from './console-stand.ts';

const frozen = {
  ...({ scope: 'equinix', state: 'frozen', sinceMs: AT_MS - 60_000, reason: '6 of 10' } as const),
  ...{ started: 10, silent: 6, ends: 'It ends by itself.', endsAtMs: AT_MS + 300_000 },
};
const script = () => {
  const fleet = scriptedFleet();
  fleet.guard({ state: 'frozen', scopes: [...WATCHING.scopes, frozen] });
  const budget = [
    { scope: 'fleet', permits: 1, budget: 2 },
    { scope: 'provider equinix', permits: 1, budget: 1 },
  ];
  return { ...fleet, budget: () => budget };
};

test('each scope is told with who froze it, its budget, who waits, and what stops it next', async () => {
  const console = await openConsole({ fleet: script(), guard: guardInsight() });
  const { status, body } = await askApi<GuardAnswer>(console, 'guard');
  expect(status).toBe(200);
  expect(body.scopes).toMatchObject([
    {
      ...{ scope: 'fleet', state: 'watching', frozen: null, thawsAtMs: null },
      ...{ permits: 1, budget: 2, waiting: 2 },
      rules: [
        { rule: 'suspicion', count: 5, of: 100, limit: 20, more: 16 },
        { rule: 'silence', count: 3, of: 100, limit: 20, more: 18 },
        { rule: 'probes', count: 0, of: 100, limit: 50, more: 51 },
      ],
    },
    {
      ...{ ...frozen, frozen: { by: 'guard', kind: 'silence' }, thawsAtMs: AT_MS + 300_000 },
      ...{ permits: 1, budget: 1, waiting: 2 },
      rules: [{ more: 0 }, { more: 0 }, { rule: 'probes' }],
    },
  ]);
  expect(body.budget.map(({ waiting }) => waiting)).toEqual([2, 2]);
  expect(body.waiting).toMatchObject([
    { slot: 'equinix/a', queue: { place: 1, of: 2 }, bar: null },
    { slot: 'equinix/b', queue: null, bar: expect.stringContaining('frozen') },
  ]);
});
