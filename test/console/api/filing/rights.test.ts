import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Role } from '../../../../src/console/access/port.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { filingStand, person, slotName, type FilingStand } from './filing-stand.ts';
import { idOf } from '../../../commands/machine-stand.ts';

let s: FilingStand;
beforeEach(async () => {
  s = await filingStand();
  for (let at = 1; at <= 51; at++) s.add(at);
  await s.look();
});
afterEach(() => s.close());

const reason = 'the matrix';
const image = {
  url: 'https://images.example/a',
  sha256: '0'.repeat(64),
  rootDevice: { name: 'sda' },
};
const one = { slots: [slotName(1)], reason };

/** The table of roles, by hand: what is asked, and the least role that may. */
const MATRIX: readonly (readonly [string, Role, object])[] = [
  ['freeze', 'operator', { verb: 'freeze', reason }],
  ['thaw', 'operator', { verb: 'thaw', reason }],
  ['hold', 'operator', { verb: 'hold', kind: 'preserve', ...one }],
  ['unhold', 'operator', { verb: 'unhold', kind: 'preserve', ...one }],
  ['quarantine', 'operator', { verb: 'quarantine', ...one }],
  ['release', 'operator', { verb: 'release', ...one }],
  ['note', 'operator', { verb: 'note', text: 'seen', slots: [slotName(1)] }],
  ['clear-backoff', 'operator', { verb: 'clear-backoff', ...one }],
  ['restart-agent', 'operator', { verb: 'restart-agent', ...one }],
  ['reboot', 'operator', { verb: 'reboot', ...one }],
  ['cancel-install', 'operator', { verb: 'cancel-install', ...one }],
  ['withdraw', 'operator', { verb: 'withdraw', ...one }],
  [
    'provider clear',
    'operator',
    { verb: 'clear-provider', provider: 'metal', hold: 'quota', reason },
  ],
  ['reinstall', 'admin', { verb: 'reinstall', ...one }],
  ['install', 'admin', { verb: 'install', image, ...one }],
  ['deprovision', 'admin', { verb: 'deprovision', ...one }],
  ['forget-host-key', 'admin', { verb: 'release', forgetHostKey: true, ...one }],
  [
    '51 machines',
    'admin',
    { verb: 'hold', kind: 'preserve', reason, selector: { all: true }, expectCount: 51 },
  ],
];
const ORDER: readonly Role[] = ['viewer', 'operator', 'admin'];

describe('V26: what each role may ask for', () => {
  test.each(
    MATRIX.flatMap(([what, least, body]) => ORDER.map((role) => ({ what, role, least, body }))),
  )('$what by $role (from $least on)', async ({ role, least, body }) => {
    s.asker = person({ role });
    const may = ORDER.indexOf(role) >= ORDER.indexOf(least);
    for (const dryRun of [true, false]) {
      const { status } = await s.ask(body, { dryRun });
      expect(status).toBe(may ? (dryRun ? 200 : 202) : 403);
    }
    expect((await s.keys()).length > 0).toBe(may);
  });
});

test('V27: an operator neither gives a machine back nor acts on 51, and the answer says why', async () => {
  s.asker = person({ role: 'operator', name: 'token:op' });
  const slots = Array.from({ length: 51 }, (_, at) => slotName(at + 1));
  const given = await s.ask({ verb: 'deprovision', ...one });
  expect(given).toMatchObject({
    status: 403,
    body: {
      code: 'not-allowed',
      detail: 'deprovision demands the role admin; token:op has the role operator',
    },
  });
  const many = await s.ask({ verb: 'clear-backoff', reason, slots, expectCount: 51 });
  expect(many).toMatchObject({ status: 403 });
  expect(many.body['detail']).toContain('more than 50 machines at once demands the role admin');
  expect(await s.keys()).toEqual([]);
  const fifty = { verb: 'clear-backoff', reason, slots: slots.slice(1), expectCount: 50 };
  expect((await s.ask(fifty)).status).toBe(202);
});

test('V28: a grant for one provider acts there only, and freezes no fleet', async () => {
  s.asker = person({ role: 'operator', name: 'token:op', providers: [providerName('other')] });
  const elsewhere = await s.ask({ verb: 'reboot', ...one });
  expect(elsewhere).toMatchObject({
    status: 403,
    body: { detail: 'token:op may act on other only, not on machines of metal' },
  });
  const fleet = await s.ask({ verb: 'freeze', reason });
  expect(fleet).toMatchObject({
    status: 403,
    body: { detail: 'token:op may act on other only, not on freeze of the whole fleet' },
  });
  expect((await s.ask({ verb: 'freeze', scope: 'metal', reason })).status).toBe(403);
  expect(await s.keys()).toEqual([]);
  expect((await s.ask({ verb: 'freeze', scope: 'other', reason })).status).toBe(202);
  s.asker = person({ role: 'operator', providers: [providerName('metal')] });
  expect((await s.ask({ verb: 'reboot', slots: [idOf(1)], reason })).status).toBe(202);
});

test('what was asked before under a key is not told to whoever may not ask for it', async () => {
  await s.ask({ verb: 'reinstall', ...one }, { key: 'k' });
  s.asker = person({ role: 'operator' });
  expect((await s.ask({ verb: 'reinstall', ...one }, { key: 'k' })).status).toBe(403);
});
