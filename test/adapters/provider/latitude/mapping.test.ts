import { expect, test } from 'vitest';
import type { Server } from '../../../../src/adapters/provider/latitude/api.ts';
import type { Owner } from '../../../../src/adapters/provider/latitude/ownership.ts';
import { LEAVING_TAG, toMachine } from '../../../../src/adapters/provider/latitude/view.ts';
import { SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';

const NOW_MS = 1_700_000_000_000;
const MINUTE_MS = 60_000;
const SLOT = 'c3-small-x86/ASH/1';
const SET = 'shep0-ci000-000000000000000';

function ours(ageMs: number, tags: Record<string, string> = {}): Owner {
  const claim = { set: SET, hostname: 'shep-ash-a', witness: 'w' };
  const t = NOW_MS - ageMs;
  const mark = { ...claim, tags: { [SET_ID_TAG]: SET, ...tags }, t, slot: SLOT, hasScript: true };
  return { kind: 'ours', record: { ...claim, id: 'ud_1', mark, writtenAtMs: t } };
}
const shown = (server: Partial<Server>, owner: Owner = ours(10 * MINUTE_MS)) =>
  toMachine(
    { id: 'sv_1', hostname: 'shep-ash-a', ...server },
    { slot: SLOT, owner, remoteUser: 'root', nowMs: NOW_MS, staleOnMs: 3 * MINUTE_MS },
  );

test.each([
  ['starting_deploy', 'Provisioning', false, 'unknown'],
  ['deploying', 'Provisioning', false, 'unknown'],
  ['disk_erasing', 'Provisioning', false, 'unknown'],
  ['on', 'Running', false, 'on'],
  ['ready', 'Running', false, 'on'],
  ['off', 'Stopped', false, 'off'],
  ['failed_deployment', 'ProvisioningFailedPermanent', true, 'unknown'],
  ['failed_disk_erasing', 'ProvisioningFailedPermanent', true, 'unknown'],
  ['rescue_mode', 'Unknown', false, 'on'],
  ['unknown', 'Unknown', false, 'unknown'],
  ['never_heard_of', 'Unknown', false, 'unknown'],
  ['constructor', 'Unknown', false, 'unknown'],
])('vector 15: the state %s', (status, expected, failed, power) => {
  expect(shown({ status })).toMatchObject({ status: expected, failed, power });
});

test('vector 15: a server that is only starting to be deployed has no address yet', () => {
  const address = { primary_ipv4: '198.51.100.7' };
  expect(shown({ status: 'starting_deploy', ...address }).address).toBeNull();
  expect(shown({ status: 'deploying', ...address }).address).toBe('198.51.100.7');
});

test('vector 16: on is power; for three minutes after an installation was asked for it is no more', () => {
  const at = (ageMs: number) => shown({ status: 'on' }, ours(ageMs));
  expect(at(3 * MINUTE_MS - 1)).toMatchObject({ status: 'Provisioning', power: 'on' });
  expect(at(3 * MINUTE_MS)).toMatchObject({ status: 'Running', power: 'on' });
});

test.each([
  [{ primary_ipv4: '198.51.100.7', primary_ipv6: '2001:db8::1' }, '198.51.100.7'],
  [{ primary_ipv6: '2001:db8::1' }, '[2001:db8::1]'],
  [{ primary_ipv6: '2001:db8::1/64' }, '[2001:db8::1]'],
  [{ primary_ipv4: 'soon', primary_ipv6: 'later' }, null],
  [{ primary_ipv4: '198.51.100.7:2222' }, null],
  [{}, null],
])('the address of %j', (server, address) => {
  expect(shown({ status: 'on', ...server }).address).toBe(address);
});

test('a server is shown on its slot, with what is known of it', () => {
  const server = { status: 'on', hostname: 'SHEP-ASH-A', plan: { slug: 'c3-small-x86' } };
  expect(shown({ ...server, region: { site: { slug: 'ASH' } } })).toMatchObject({
    id: 'sv_1',
    reservationId: SLOT,
    hostname: 'shep-ash-a',
    plan: 'c3-small-x86',
    location: 'ASH',
    availability: 'KnownUsed',
    tags: { [SET_ID_TAG]: SET },
  });
  expect(shown({ ...server, site: 'NYC' }).location).toBe('NYC');
  expect(shown({ status: 'on' })).toMatchObject({ plan: 'c3-small-x86', location: 'ASH' });
});

test('vector 14: what is not ours shows that, and nothing of the record', () => {
  expect(shown({ status: 'on' }, { kind: 'untagged' }).tags).toEqual({});
  expect(shown({ status: 'on' }, { kind: 'disputed' }).tags).toEqual({ [SET_ID_TAG]: 'disputed' });
});

test('one that is to go at the end of its billing cycle is not ours any more', () => {
  const machine = shown({ status: 'off' }, ours(0, { [LEAVING_TAG]: 'since then' }));
  expect(machine).toMatchObject({ status: 'Missing', reservationId: SLOT });
  expect(machine.tags).toEqual({ [SET_ID_TAG]: 'disputed', [LEAVING_TAG]: 'since then' });
});
