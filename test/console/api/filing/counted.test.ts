import { afterEach, beforeEach, expect, test } from 'vitest';
import { Unreachable } from '../../../../src/domain/errors.ts';
import { filingStand, person, slotName, type FilingStand } from './filing-stand.ts';

let s: FilingStand;
beforeEach(async () => {
  s = await filingStand();
});
afterEach(() => s.close());

const common = { slots: [slotName(1)], reason: 'it hangs' };
const reboot = { verb: 'reboot', ...common };
const hold = { verb: 'hold', kind: 'no-recover', ...common };

test('what is asked is counted by verb, by how the person is known, and by how that ended', async () => {
  s.add(1);
  await s.look();
  await s.ask(reboot, { key: 'once' });
  await s.ask(reboot, { seen: '"as it was"' });
  await s.ask(hold, { dryRun: true });
  s.breakFiling(new Unreachable('no database'));
  s.asker = person({ via: 'cookie' });
  await s.ask(hold);
  expect(s.asks).toEqual(['reboot token filed', 'reboot token changed', 'hold cookie unavailable']);
});
