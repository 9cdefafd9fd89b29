import { expect, test } from 'vitest';
import type { Wire } from '../../../../src/adapters/provider/redfish/client/bmc.ts';
import {
  errorOf,
  isOwnPath,
  locationOf,
  readReply,
} from '../../../../src/adapters/provider/redfish/client/errors.ts';
import { patch } from '../../../../src/adapters/provider/redfish/client/system.ts';
import { testRows } from '../../../support/rows.ts';
import { failureOf, startRack } from './stand.ts';

const SYSTEM = '/redfish/v1/Systems/{system}';
const PXE = { BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'Pxe' };
const same = (text: string) => text;

test.each([
  ['W/"1a"', ['W/"1a"', '"1a"', undefined]],
  ['"1a"', ['"1a"', undefined]],
  [null, [undefined]],
])('vector 18: what is sent with an ETag %s that is refused', async (etag, expected) => {
  const matches: (string | undefined)[] = [];
  const path = '/redfish/v1/Systems/1';
  const wire: Pick<Wire, 'send'> = {
    async send(_method, _path, _body, headers = {}) {
      matches.push(headers['If-Match']);
      const reply = readReply({ status: 412, headers: {}, text: '' }, path, same);
      throw errorOf(reply, { doing: 'PATCH', changing: true, nowMs: 0 });
    },
  };
  const failure = await failureOf(patch(wire as Wire, { path, etag }, {}));
  expect(failure.kind).toBe('conflict');
  expect(matches).toEqual(expected);
});

test.each(['weak', 'refused'] as const)(
  'vectors 17 and 18: an override for ever is cleared before a reboot by a BMC whose ETags are %s',
  async (does) => {
    const rack = await startRack();
    await rack.boot();
    await rack.raw.override(PXE);
    await rack.fault({ type: 'etag', does });
    await rack.reboot();
    const changes = rack.fake.requests().filter(({ method }) => method !== 'GET');
    const told = changes.slice(-3).map(({ method, status }) => `${method} ${status}`);
    expect(told).toEqual(['PATCH 412', 'PATCH 200', 'POST 204']);
    expect(changes.at(-2)!.body).toEqual({ Boot: { BootSourceOverrideEnabled: 'Disabled' } });
    expect(rack.system().boot.enabled).toBe('Disabled');
  },
);

test('a link without a slash at its end is followed where the BMC wants one, and only for reading', async () => {
  const rack = await startRack({ vendor: 'ilo5' });
  await rack.power('on');
  const statuses = rack.sent('GET').map(({ status }) => status);
  expect(statuses.filter((status) => status === 308)).toHaveLength(1);
  expect(rack.resets()).toEqual(['On']);
  expect(rack.sent('POST').map(({ status }) => status)).not.toContain(308);
});

test('a redirect to another host is not followed: the token stays here', async () => {
  const [rack, other] = [await startRack(), await startRack()];
  const headers = { location: `${other.fake.bmcs()[0]!.url}${rack.path}` };
  await rack.fault({ type: 'status', code: 307, headers });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'permanent' });
  expect(other.fake.requests()).toEqual([]);
});

test('a BMC that refuses the header against compression is asked without it', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'identityRefused' });
  await rack.power('on');
  expect(rack.sent('GET').filter(({ status }) => status === 406)).toHaveLength(1);
});

test.each(['truncated', 'html', 'notJson', 'wrongType'] as const)(
  'a BMC whose answers are %s changes nothing, and its machine is not gone',
  async (kind) => {
    const rack = await startRack();
    await rack.fault({ type: 'garbage', kind }, { match: { method: 'GET', route: SYSTEM } });
    const failure = await failureOf(rack.power('on'));
    expect(failure.kind).toMatch(/transient|permanent/);
    expect(rack.resets()).toEqual([]);
    expect(await rack.get()).toMatchObject({ id: 'system-1', power: 'unknown' });
    expect((await rack.list()).complete).toBe(true);
  },
);

test('an answer to a change that cannot be read is judged by the state', async () => {
  const rack = await startRack();
  await rack.fault(
    { type: 'garbage', kind: 'html' },
    { match: { route: `${SYSTEM}/Actions/ComputerSystem.Reset` } },
  );
  await rack.power('on');
  expect(rack.resets()).toEqual(['On']);
});

test('a function without a licence is not implemented, and all else goes on', async () => {
  const reply = readReply(
    {
      status: 403,
      headers: {},
      text: JSON.stringify({
        error: { '@Message.ExtendedInfo': { MessageId: 'SMC.1.0.OemLicenseNotPassed' } },
      }),
    },
    '/redfish/v1/x',
    same,
  );
  const error = errorOf(reply, { doing: 'POST', changing: true, nowMs: 0 });
  expect(error).toMatchObject({ kind: 'not-implemented', outcome: 'not-done' });
});

test.each([
  ['/redfish/v1/Systems/1', true],
  ['/redfish/v1/Systems/1/', true],
  ['/redfish/v1/Systems/437XR1138R2', true],
  ['https://elsewhere/redfish/v1', false],
  ['//elsewhere/redfish/v1', false],
  ['/redfish/../admin', false],
  ['/redfish/v1/%2e%2e/x', false],
  ['/redfish/v1//Systems', false],
  ['/cgi-bin/x', false],
  ['/redfish/v1/a\r\nX: y', false],
  ['/redfish/v1/Chassis#/Power', false],
])('whether %s may be asked for: %s', (path, may) => {
  expect(isOwnPath(path)).toBe(may);
});

test.each([
  ['/redfish/v1/TaskService/Tasks/1', '/redfish/v1/TaskService/Tasks/1'],
  ['https://bmc.example:8443/redfish/v1/T/1', '/redfish/v1/T/1'],
  ['https://other.example/redfish/v1/T/1', null],
  ['https://u:p@bmc.example:8443/redfish/v1/T/1', null],
  [undefined, null],
])('a location %s is %s', (location, path) => {
  expect(locationOf(location, 'https://bmc.example:8443')).toBe(path);
});

testRows([
  ['too long', `{"Name":"${'x'.repeat(512 * 1024)}"}`, /larger than 512 KiB/],
  ['too deep', '['.repeat(400_000), /no JSON object/],
])('a BMC whose reply is %s is refused', async (_, body, why) => {
  const rack = await startRack();
  await rack.fault({ type: 'status', code: 200, body }, { match: { route: '/redfish/v1' } });
  const failure = await failureOf(rack.power('on'));
  expect(failure.text).toMatch(why);
});
