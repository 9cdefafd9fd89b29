import { expect, test } from 'vitest';
import type { ProvidersView } from '../../../src/console/views.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { providersView, providerSummary } from '../scripted-providers.ts';
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
