import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import type { Role } from '../../../src/domain/access.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { openStand } from '../access/stand.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';

interface Asked {
  readonly role?: Role;
  readonly method?: string;
  readonly body?: unknown;
  readonly providers?: string[];
}

async function stand() {
  const around = { clock: systemClock, random: systemRandom };
  const bmdb = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const nowMs = Date.now();
  const line = (kind: string, ageMs: number) => ({
    ...{ atMs: nowMs - ageMs, of: 'slot', machineId: null, kind, process: null, actor: 'agent' },
    ...{ reason: 'disk-failing: sda', from: null, to: 'True', sessionId: null },
  });
  const lines = [line('conditionSet', 1_000), line('held', 1_000), line('conditionSet', 2e8)];
  const shown = await openStand({
    cases: bmdb.cases,
    fleet: scriptedFleet(machine('a'), machine('b')),
    history: { ofSlot: async () => ({ lines, next: null, tenants: [] }) } as never,
  });
  const ask = async (path: string, asked: Asked = {}) => {
    const { role = 'operator', method = 'GET', body, providers = null } = asked;
    const { token } = await shown.token(role, { providers });
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, body: text } = await shown.ask(`api/v1/cases${path}`, {
      ...{ method, token, ...sent },
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
    });
    return { status, body: text === '' ? null : (JSON.parse(text) as Record<string, unknown>) };
  };
  const post = (path: string, body: unknown, more: Asked = {}) =>
    ask(path, { method: 'POST', body, ...more });
  return { bmdb, ask, post };
}
const title = 'it smells';

test('cases: are opened, linked, noted, closed and listed', async () => {
  const { bmdb, ask, post } = await stand();
  const ticketUrl = 'https://tickets.example/7';
  const made = await post('', { slot: 'equinix/a', title, ticketUrl });
  expect(made).toMatchObject({
    status: 200,
    body: { slot: 'equinix/a', title, ticketUrl, part: null, closedAtMs: null },
  });
  const id = String(made.body!['id']);
  expect((await post('', { slot: 'equinix/a', title })).status, 'it is open').toBe(422);
  expect((await ask(`/${id}`, { method: 'PATCH', body: { part: 'disk 2' } })).body).toMatchObject({
    ...{ part: 'disk 2', ticketUrl },
  });
  const note = { text: 'see https://jo:hunter2@nfs.example/log' };
  expect((await post(`/${id}/notes`, note)).status).toBe(204);
  expect((await ask(`/${id}`, { role: 'viewer' })).body).toMatchObject({
    case: { id },
    lines: [{ kind: 'note', text: 'see https://jo:[secret]@nfs.example/log' }],
  });
  expect((await ask('')).body).toMatchObject({ cases: [{ id }] });
  expect((await ask('?slot=equinix/b')).body).toEqual({ cases: [] });
  expect((await post(`/${id}/close`, { outcome: 'new disk' })).body).toMatchObject({
    outcome: 'new disk',
  });
  expect((await post(`/${id}/close`, { outcome: 'again' })).status).toBe(422);
  expect((await ask('')).body).toEqual({ cases: [] });
  expect((await ask('?state=closed')).body).toMatchObject({ cases: [{ id }] });
  expect(bmdb.tables.told.map(({ type }) => type)).toEqual([
    ...['case.opened', 'case.linked', 'case.linked', 'case.noted', 'case.closed'],
  ]);
});

test('cases: show evidence and changes of conditions from a day before the opening', async () => {
  const { bmdb, ask, post } = await stand();
  await bmdb.cases.addLine({
    ...{ provider: 'equinix' as never, slotId: 'a', kind: 'evidence-before', author: 'shepherd' },
    text: 'sda: I/O error',
  });
  const { body } = await post('', { slot: 'equinix/a', title });
  const found = await ask(`/${String(body!['id'])}`);
  expect(found.body).toMatchObject({
    lines: [{ kind: 'evidence-before', text: 'sda: I/O error' }],
  });
  expect(found.body!['conditions']).toEqual([expect.objectContaining({ kind: 'conditionSet' })]);
});

test('cases: are changed by operators of the provider only', async () => {
  const { ask, post } = await stand();
  const { body } = await post('', { slot: 'equinix/a', title });
  const id = String(body!['id']);
  const tries: readonly (readonly [string, string, unknown])[] = [
    ['POST', '', { slot: 'equinix/b', title }],
    ['POST', `/${id}/notes`, { text: 'x' }],
    ['PATCH', `/${id}`, { part: 'x' }],
    ['POST', `/${id}/close`, { outcome: 'x' }],
  ];
  for (const [method, path, sent] of tries) {
    const asked = { method, body: sent };
    expect((await ask(path, { ...asked, role: 'viewer' })).status, path).toBe(403);
    expect((await ask(path, { ...asked, providers: ['rack'] })).status, path).toBe(403);
    expect((await ask(path, { ...asked, providers: ['equinix'] })).status, path).toBeLessThan(300);
  }
});

test.each([
  ['', { slot: 'equinix/z', title }, 404],
  ['', { slot: 'equinix', title }, 400],
  ['', { slot: 'equinix/a', title: ' ' }, 400],
  ['', { slot: 'equinix/a', title, ticketUrl: 'javascript:alert(1)' }, 400],
  ['/77/notes', { text: 'x' }, 404],
  ['/77/close', { outcome: 'x' }, 404],
])('cases: POST %s with %j is answered with %i', async (path, body, status) => {
  const { post } = await stand();
  expect((await post(path, body)).status).toBe(status);
});
