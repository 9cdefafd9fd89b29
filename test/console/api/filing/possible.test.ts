import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { filingStand, slotName, type FilingStand } from './filing-stand.ts';

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
    const asShipped = ['restart-agent', 'reboot', 'reinstall', 'hold', 'quarantine', 'deprovision'];
    expect(await offers()).toEqual(new Map([...asShipped, 'install'].map((verb) => [verb, null])));
    s.means = NOTHING;
    expect((await offers()).get('reboot')).toBe(why);
    await s.daemon();
    await s.ask({ ...hold, slots: [slotName(1)] }, { prefer: 'wait=10' });
    await s.look();
    expect((await offers()).has('unhold')).toBe(true);
  });
});
