import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CallOptions, Provider } from '../../../../../src/adapters/provider/port.ts';
import { staticDriver } from '../../../../../src/adapters/provider/static/driver.ts';
import { createScaledClock } from '../../../../conformance/scaled-clock.ts';
import { callOf, driverContext, failureOf } from '../../driver-stand.ts';
import { IPMI_GUID, IPMI_LOGIN, startIpmiSim, startLossyNetwork } from './ipmi-sim.ts';

/** Fast enough that the wait for a shutdown takes no time, and slow enough for `ipmitool`. */
const clock = createScaledClock(20);

/** A list with one machine, behind this BMC. */
function listOf(
  { host, port }: { readonly host: string; readonly port: number },
  { reset = {}, entry = {} }: { readonly reset?: object; readonly entry?: object } = {},
): Provider {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-resets-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const Reset = { By: 'old', Addr: host, Port: port, ...entry };
  const machine = { ID: 'a', Addr: '127.0.0.1', SshPort: 1, Location: '', Reset };
  writeFileSync(join(directory, 'machines.json'), JSON.stringify([machine]));
  const around = {
    ...{ baseDirectory: directory, checkFiles: true },
    env: { PW: IPMI_LOGIN.password, WRONG: 'otherwise' },
  };
  const { username } = IPMI_LOGIN;
  const old = { kind: 'ipmi', username, password: '${PW}', cipherSuite: 3, timeout: '10m' };
  const settings = staticDriver
    .settings(around)
    .parse({ inventory: 'file:machines.json', resets: { old: { ...old, ...reset } } });
  const provider = staticDriver.open(settings as never, driverContext('rack', { clock }));
  onTestFinished(() => provider.stop());
  return provider;
}
const call = (change: Partial<CallOptions> = {}) =>
  callOf({ deadline: new Date(clock.now() + 3_600_000), ...change });
const powerOf = async (provider: Provider) => (await provider.getMachine('a', call())).power;

test('ipmitool switches a machine off and on, resets it, and reads its power', async () => {
  const sim = await startIpmiSim();
  const provider = listOf(sim, { entry: { Guid: IPMI_GUID.toUpperCase() } });
  expect(await powerOf(provider)).toBe('on');
  const asked: unknown[] = [];
  const requireOurs: CallOptions['requireOurs'] = ({ id, power }) => asked.push([id, power]);
  await provider.setPower!('a', 'off', call({ requireOurs }));
  expect([await powerOf(provider), sim.power()]).toEqual(['off', '0']);
  await provider.setPower!('a', 'on', call({ requireOurs }));
  expect([await powerOf(provider), sim.power()]).toEqual(['on', '1']);
  const { operationRef } = await provider.rebootMachine('a', 'force', call());
  expect(operationRef).toMatch(/^reset a /);
  expect(sim.done()).toEqual(['power 0', 'power 1', 'reset 1']);
  expect(asked).toEqual([
    ['a', 'on'],
    ['a', 'off'],
  ]);
  await provider.setPower!('a', 'on', call());
  expect(sim.done(), 'it is on already').toHaveLength(3);
});

test('ipmitool shuts a system down for a graceful reboot, and switches it on again', async () => {
  const sim = await startIpmiSim();
  const provider = listOf(sim);
  expect(await provider.rebootMachine('a', 'graceful', call())).toMatchObject({
    isGraceful: false,
  });
  expect([sim.done(), sim.power()]).toEqual([['shutdown 1', 'power 1'], '1']);
});

test('a BMC with another GUID is not touched', async () => {
  const sim = await startIpmiSim();
  const Guid = IPMI_GUID.replace(/.$/, '0');
  const failure = await failureOf(
    listOf(sim, { entry: { Guid } }).rebootMachine('a', 'force', call()),
  );
  expect(failure).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(failure.message).toContain(IPMI_GUID);
  expect(sim.done()).toEqual([]);
});

test('a refused login is reported, rests, and shows no password', async () => {
  const sim = await startIpmiSim();
  const network = await startLossyNetwork(sim, () => false);
  const provider = listOf(network, { reset: { password: '${WRONG}' } });
  const reboot = () => failureOf(provider.rebootMachine('a', 'force', call()));
  const refused = await reboot();
  expect(refused).toMatchObject({ kind: 'auth', outcome: 'not-done' });
  expect(refused.message).toMatch(/refuses the user name or the password/);
  const before = network.requests();
  expect(before).toBeGreaterThan(0);
  expect((await reboot()).message).toBe(
    `${refused.message}; it is asked again 10m later, or when the password changes`,
  );
  expect(network.requests(), 'no further request: BMCs lock accounts').toBe(before);
  const stranger = listOf(sim, { reset: { username: 'nobody' } });
  expect(await failureOf(stranger.rebootMachine('a', 'force', call()))).toMatchObject({
    kind: 'auth',
  });
});

test('a BMC without the cipher suite, and none at all, are told apart', async () => {
  const sim = await startIpmiSim();
  const modern = listOf(sim, { reset: { cipherSuite: 17 } });
  const failure = await failureOf(modern.rebootMachine('a', 'force', call()));
  expect(failure).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  expect(failure.message).toMatch(/cipherSuite/);
  const nobody = await startLossyNetwork(sim, () => true);
  const silent = listOf(nobody, { reset: { timeout: '5s' } });
  expect(await failureOf(silent.setPower!('a', 'off', call()))).toMatchObject({
    ...{ kind: 'transient', outcome: 'not-done' },
  });
  expect(await powerOf(silent)).toBe('unknown');
});

test('a reset whose answer is lost is sent once, and its outcome is unknown', async () => {
  const sim = await startIpmiSim();
  const network = await startLossyNetwork(sim, () => sim.done().length > 0);
  const provider = listOf(network);
  expect(await failureOf(provider.rebootMachine('a', 'force', call()))).toMatchObject({
    ...{ kind: 'transient', outcome: 'unknown' },
  });
  expect(sim.done()).toEqual(['reset 1']);
});
