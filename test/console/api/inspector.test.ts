import { afterEach, beforeEach, expect, test } from 'vitest';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import type { Inspection } from '../../../src/adapters/inspector/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { startCast, type Cast } from '../../adapters/inspector/cast.ts';
import { openStand, type Stand } from '../access/stand.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';

let inspection: Inspection;
let cast: Cast;
let stand: Stand;
beforeEach(async () => {
  inspection = createInspection({ clock: systemClock });
  cast = startCast(inspection, systemClock);
  stand = await openStand({ inspector: inspection, fleet: scriptedFleet(machine('one')) });
});
afterEach(() => {
  cast.stop();
  inspection.close();
});

const RECORDINGS = 'api/v1/inspector/recordings';
const STREAM = 'api/v1/inspector/stream';
const body = { slot: 'equinix/one' };

test('E9: only an admin of the whole fleet looks at actors', async () => {
  for (const [role, providers, why] of [
    ['viewer', null, 'this demands the role admin'],
    ['operator', null, 'this demands the role admin'],
    ['admin', ['equinix'], 'this concerns the whole fleet'],
  ] as const) {
    const { token } = await stand.token(role, { providers });
    for (const [path, options] of [
      [STREAM, {}],
      [RECORDINGS, {}],
      [RECORDINGS, { method: 'POST', body }],
      [`${RECORDINGS}/chosen-1`, {}],
      [`${RECORDINGS}/chosen-1`, { method: 'DELETE' }],
    ] as const) {
      const { status, body: told } = await stand.ask(path, { token, ...options });
      expect([status, told]).toEqual([403, expect.stringContaining(why)]);
    }
  }
  expect((await stand.ask(STREAM)).status).toBe(401);
  expect(inspection.recordings()).toEqual([]);
});

test('where it is off, nobody does', async () => {
  const off = await openStand();
  const { token } = await off.token('admin');
  for (const path of [STREAM, RECORDINGS]) {
    const { status, body: told } = await off.ask(path, { token });
    expect([status, told]).toEqual([404, expect.stringContaining('inspect.console')]);
  }
});

test('a recording is begun, read as a file, and removed', async () => {
  const { token } = await stand.token('admin');
  const begun = await stand.ask(RECORDINGS, { method: 'POST', token, body });
  expect([begun.status, JSON.parse(begun.body)]).toEqual([
    200,
    expect.objectContaining({ id: 'chosen-1', subject: 'equinix/one', why: 'chosen' }),
  ]);
  cast.first.send({ type: 'noise' });
  const { headers, body: text } = await stand.ask(`${RECORDINGS}/chosen-1`, { token });
  expect(headers['content-type']).toBe('application/jsonl');
  expect(headers['content-disposition']).toBe('attachment; filename="equinix_one-chosen-1.jsonl"');
  const lines = text.trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
    ...['@xstate.actor', '@xstate.actor', '@xstate.actor', '@xstate.event', '@xstate.snapshot'],
  ]);
  const removed = await stand.ask(`${RECORDINGS}/chosen-1`, { method: 'DELETE', token });
  expect(removed.status).toBe(204);
  expect((await stand.ask(`${RECORDINGS}/chosen-1`, { token })).status).toBe(404);
});

test('nobody records or watches a machine that is not there', async () => {
  const { token } = await stand.token('admin');
  const other = { slot: 'equinix/none' };
  const begun = await stand.ask(RECORDINGS, { method: 'POST', token, body: other });
  expect([
    begun.status,
    (await stand.ask(`${STREAM}?slot=equinix/none`, { token })).status,
  ]).toEqual([404, 404]);
});

test('a stream tells who is there and what happens, until its reader leaves; the ninth is refused', async () => {
  const { token } = await stand.token('admin');
  const headers = { authorization: `Bearer ${token}` };
  const open = () => {
    const leave = new AbortController();
    const url = `${stand.url}${STREAM}?slot=equinix/one`;
    return { leave, answer: fetch(url, { headers, signal: leave.signal }) };
  };
  const opened = Array.from({ length: 8 }, open);
  const [first] = await Promise.all(opened.map(({ answer }) => answer));
  expect((await open().answer).status).toBe(429);
  cast.first.send({ type: 'noise' });
  const reader = first!.body!.getReader();
  const read = async (until: string) => {
    let text = '';
    while (!text.includes(until)) text += Buffer.from((await reader.read()).value).toString();
    return text;
  };
  const text = await read('"count":1');
  expect(text).toContain('event: message\ndata: {');
  expect(text.indexOf('"name":"equinix/one"')).toBeLessThan(text.indexOf('"type":"noise"'));
  for (const { leave } of opened) leave.abort();
  await expect
    .poll(async () => {
      const { leave, answer } = open();
      const { status } = await answer;
      leave.abort();
      return status;
    })
    .toBe(200);
});
