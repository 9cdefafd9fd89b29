import { afterEach, beforeEach, expect, test } from 'vitest';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import type { Inspection } from '../../../src/adapters/inspector/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { startCast, type Cast } from '../../adapters/inspector/cast.ts';
import { openStand, type AccessStand } from '../access/stand.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';

let inspection: Inspection;
let cast: Cast;
let stand: AccessStand;
beforeEach(async () => {
  inspection = createInspection({ clock: systemClock });
  cast = startCast(inspection, systemClock);
  stand = await openStand({ inspector: inspection, fleet: scriptedFleet(machine('one')) });
});
afterEach(() => {
  cast.stop();
  inspection.close();
});

const STREAM = 'api/v1/inspector/stream';

test('E9: shows actors only to an admin of the whole fleet', async () => {
  for (const [role, providers, why] of [
    ['viewer', null, 'this needs the role admin'],
    ['operator', null, 'this needs the role admin'],
    ['admin', ['equinix'], 'this concerns the whole fleet'],
  ] as const) {
    const { token } = await stand.token(role, { providers });
    const { status, body } = await stand.ask(STREAM, { token });
    expect([status, body]).toEqual([403, expect.stringContaining(why)]);
  }
  expect((await stand.ask(STREAM)).status).toBe(401);
});

test('shows actors to nobody while the inspector is off', async () => {
  const off = await openStand();
  const { token } = await off.token('admin');
  const { status, body } = await off.ask(STREAM, { token });
  expect([status, body]).toEqual([404, expect.stringContaining('inspect.console')]);
});

test('refuses to watch a machine that does not exist', async () => {
  const { token } = await stand.token('admin');
  expect((await stand.ask(`${STREAM}?slot=equinix/none`, { token })).status).toBe(404);
});

test('streams actors and their events until the reader leaves, and refuses the ninth reader', async () => {
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
  expect(text).toMatch(/^retry: 1000\n\ndata: \{"rootId"/);
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
