import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Unreachable } from '../../../../src/domain/errors.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { free } from '../../../support/facts.ts';
import { idOf } from '../../../commands/machine-stand.ts';
import { filingStand, person, slotName, type FilingStand } from './filing-stand.ts';

let s: FilingStand;
beforeEach(async () => {
  s = await filingStand();
});
afterEach(() => s.close());

const reason = 'it hangs';
const reboot = (...at: number[]) => ({ verb: 'reboot', slots: at.map(slotName), reason });
const hold = { verb: 'hold', kind: 'no-recover', reason };

async function fleetOf(count: number) {
  for (let at = 1; at <= count; at++) s.add(at);
  await s.look();
}

describe('what a provider can never do', () => {
  const NOTHING = { reboot: false, power: false, reinstall: false, deprovision: true };
  const why = 'provider metal cannot reboot the machine';

  test('is refused when it is filed, alone and among several, and foretold in the same words', async () => {
    await fleetOf(2);
    s.means = NOTHING;
    const alone = await s.ask(reboot(1));
    expect(alone).toMatchObject({ status: 422, body: { code: 'refused', detail: why } });
    const several = await s.ask({ ...reboot(1, 2), expectCount: 2 });
    expect(several).toMatchObject({ status: 422, body: { code: 'refused' } });
    expect(several.body['refusals']).toMatchObject([{ reason: why, count: 2 }]);
    expect(await s.keys()).toEqual([]);
    const foretold = await s.ask(reboot(1), { dryRun: true });
    expect(foretold.body['refusals']).toMatchObject([{ reason: why, count: 1 }]);
    const restart = { verb: 'restart-agent', slots: [slotName(1)], reason };
    expect(await s.ask(restart)).toMatchObject({ status: 202 });
  });

  test('is offered with the reason; a verb that could change nothing is not offered', async () => {
    await fleetOf(1);
    const offers = async () => {
      const { body } = await s.get(`machines/${slotName(1)}/verbs`);
      const verbs = body['verbs'] as { verb: string; refusal: string | null }[];
      return new Map(verbs.map(({ verb, refusal }) => [verb, refusal]));
    };
    const asShipped = [
      'restart-agent',
      'note',
      'reboot',
      'reinstall',
      'hold',
      'quarantine',
      'deprovision',
    ];
    expect(await offers()).toEqual(new Map([...asShipped, 'install'].map((verb) => [verb, null])));
    s.means = NOTHING;
    expect((await offers()).get('reboot')).toBe(why);
    await s.daemon();
    await s.ask({ ...hold, slots: [slotName(1)] }, { prefer: 'wait=10' });
    await s.look();
    expect((await offers()).has('unhold')).toBe(true);
  });
});

test('what is asked is counted by verb, by how the person is known, and by how that ended', async () => {
  await fleetOf(1);
  const slots = [slotName(1)];
  await s.ask(reboot(1), { key: 'once' });
  await s.ask(reboot(1), { seen: '"as it was"' });
  await s.ask({ ...hold, slots }, { dryRun: true });
  s.breakFiling(new Unreachable('no database'));
  s.asker = person({ via: 'cookie' });
  await s.ask({ ...hold, slots });
  expect(s.asks).toEqual(['reboot token filed', 'reboot token changed', 'hold cookie unavailable']);
});

test.each([
  ['return to the pool', { verb: 'reinstall', returnToPool: true }],
  ['force', { verb: 'hold', kind: 'preserve', force: true }],
  ['beyond all dates', { verb: 'quarantine', untilMs: 9_000_000_000_000_000 }],
])('what makes no sense with the verb is refused: %s', async (_, what) => {
  await fleetOf(1);
  expect(await s.ask({ ...what, slots: [slotName(1)], reason })).toMatchObject({ status: 400 });
  expect(await s.keys()).toEqual([]);
});

describe('a note', () => {
  const note = (name: string, text = 'its power supply was replaced') => ({
    ...{ verb: 'note', text, slots: [name] },
  });
  const lines = () =>
    s.bmdb.tables.events.map(({ slot, actor, kind, reason: text }) => [slot, actor, kind, text]);

  test('is a line of the history, in the name of whoever wrote it, and changes nothing else', async () => {
    await fleetOf(1);
    await s.daemon();
    s.asker = person({ role: 'operator', name: 'token:op' });
    const before = s.bmdb.tables.machines.get(idOf(1))!.row;
    const noted = await s.ask(note(idOf(1)), { key: 'k', prefer: 'wait=10' });
    expect(noted).toMatchObject({
      ...{ status: 200, body: { state: 'done', outcome: 'noted', reason: 'a note' } },
    });
    const line = [slotName(1), 'token:op', 'noted', 'its power supply was replaced'];
    expect(lines()).toEqual([line]);
    expect(s.bmdb.tables.machines.get(idOf(1))!.row).toEqual(before);
    expect((await s.ask(note(idOf(1)), { key: 'k' })).body).toEqual(noted.body);
    expect((await s.ask(note(idOf(1), 'another'), { key: 'k' })).status).toBe(422);
    expect(lines()).toEqual([line]);
  });

  test('is taken of a slot without a machine, but not of one that nothing is known of', async () => {
    await s.daemon();
    const machines = [free({ reservationId: 'free' })];
    s.listings.set(providerName('metal'), { machines, complete: true });
    await s.look();
    const noted = await s.ask(note('metal/free'), { prefer: 'wait=10' });
    expect(noted).toMatchObject({ status: 200, body: { state: 'done', machineId: null } });
    expect(lines().at(-1)).toEqual(['metal/free', 'token:ann', 'noted', expect.any(String)]);
    expect((await s.ask(note('metal/fre'))).status).toBe(404);
  });

  test.each([
    ['nothing', ' '],
    ['two lines', 'a\nb'],
    ['what cannot be seen', 'a\u202eb'],
    ['too much', 'x'.repeat(501)],
  ])('that is %s is refused', async (_, text) => {
    await fleetOf(1);
    expect((await s.ask(note(slotName(1), text))).status).toBe(400);
    expect(await s.keys()).toEqual([]);
  });
});
