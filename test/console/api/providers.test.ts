import { expect, test } from 'vitest';
import type { ProvidersView } from '../../../src/console/views.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { providersView, providerSummary, troubled } from '../scripted-providers.ts';
import { askApi, openConsole } from './console-stand.ts';
import { testRows } from '../../support/rows.ts';

const FLEET = ['a', 'b', 'c', 'd', 'e'].map((id) =>
  machine(id, id === 'c' ? { state: 'Running', substate: 'healthy' } : {}),
);
const open = (providers: ProvidersView) =>
  openConsole({ fleet: scriptedFleet(...FLEET), providers });

interface Slots {
  readonly total: number;
  readonly slots: readonly { readonly slot: string; readonly use: string }[];
  readonly next: string | null;
}

test('every provider is told with its machines by state, and times are whole', async () => {
  const shown = await open(providersView(troubled()));
  const { body } = await askApi<{ providers: readonly Record<string, unknown>[] }>(
    shown,
    'providers',
  );
  const [one] = body.providers;
  expect(one).toMatchObject({
    ...{ provider: 'equinix', provisioner: null, shelf: 1, unsettled: 1 },
    states: { Reserved: 4, Running: 1 },
    breaker: { reason: '7 of 20 machines disagree (0 orphans, 7 missing)' },
    unlisted: { sinceMs: AT_MS - 90_000, cause: 'connect <b>ECONNREFUSED</b>' },
    listing: { atMs: AT_MS - 12_000 },
    holds: [{ kind: 'quota', key: 'machines', amount: 20, untilMs: AT_MS + 600_001 }],
  });
});

test('one provider is told with its shelf and its unsettled creations', async () => {
  const shown = await open(providersView(providerSummary(troubled())));
  const { body } = await askApi<Record<string, unknown>>(shown, 'providers/equinix');
  expect(body).toMatchObject({
    shelf: { total: 1, slots: [{ slot: 'equinix/a', cause: 'no capacity for this plan' }] },
    unsettled: {
      total: 1,
      creations: [{ slot: 'equinix/b', ambiguous: true, sessionAlive: false, attempts: 2 }],
    },
  });
  expect(JSON.stringify(body)).not.toContain('22222222');
  const holds = await askApi<Record<string, unknown>>(shown, 'providers/equinix/holds');
  expect(holds.body).toMatchObject({ holds: [{ kind: 'quota' }], shelf: { total: 1 } });
});

test('slots come in pages, in the order of their ids', async () => {
  const shown = await open(providersView(providerSummary()));
  const first = await askApi<Slots>(shown, 'providers/equinix/slots?limit=3');
  const names = first.body.slots.map(({ slot }) => slot);
  expect([names, first.body.total]).toEqual([['equinix/a', 'equinix/b', 'equinix/c'], 5]);
  const rest = await askApi<Slots>(
    shown,
    `providers/equinix/slots?limit=3&next=${first.body.next}`,
  );
  expect(rest.body.slots.map(({ slot }) => slot)).toEqual(['equinix/d', 'equinix/e']);
  expect(rest.body.next).toBeNull();
  expect(rest.body.slots[0]?.use).toBe('unlisted');
});

testRows([
  ['providers/nobody', 404, 'not-found'],
  ['providers/nobody/holds', 404, 'not-found'],
  ['providers/nobody/slots', 404, 'not-found'],
  ['providers/equinix/slots?next=x', 400, 'malformed'],
  ['providers/equinix/slots?limit=1001', 400, 'malformed'],
])('%s is refused: %i %s', async (path, status, code) => {
  const shown = await open(providersView(providerSummary()));
  const answer = await askApi<{ code: string }>(shown, path);
  expect([answer.status, answer.body.code]).toEqual([status, code]);
});
