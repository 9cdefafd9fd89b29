import { expect, onTestFinished, test } from 'vitest';
import { staticDriver } from '../../../../../src/adapters/provider/static/driver.ts';
import { failureOf, startRack, type RackOptions } from '../../redfish/stand.ts';
import { driverContext } from '../../driver-stand.ts';

/** A list whose first machine is behind a BMC of the emulator, and whose second is not. */
async function startList(reset: object = {}, options: RackOptions = {}) {
  const rack = await startRack(options);
  const { clock, network, page, env, inventory, inTime, call, fake } = rack;
  const [bmc] = fake.bmcs();
  const [system] = bmc!.systems;
  const where = { Bmc: bmc!.url, CertSha256: bmc!.certSha256, System: system!.path };
  const host = { Addr: '127.0.0.2', SshPort: 1, Location: 'rack-7' };
  const Reset = { By: 'bmc', ...where, Serial: system!.serial, ...reset };
  page.text = JSON.stringify([
    { ...host, ID: 'system-1', Reset },
    { ...host, ID: 'bare', SshPort: 2 },
  ]);
  const settings = staticDriver
    .settings({ env, baseDirectory: '/', checkFiles: false })
    .parse({
      inventory,
      resets: { bmc: { kind: 'redfish', username: 'admin', password: '${BMC_PASSWORD}' } },
    }) as never;
  const context = driverContext('rack', { clock, log: rack.log, network });
  const provider = staticDriver.open(settings, context);
  onTestFinished(() => inTime(provider.stop()));
  return {
    ...rack,
    provider,
    reboot: (id: string) => inTime(provider.rebootMachine(id, 'force', call())),
    power: (want: 'on' | 'off') => inTime(provider.setPower!('system-1', want, call())),
    get: (id = 'system-1') => inTime(provider.getMachine(id, call())),
    list: async () => (await inTime(provider.listMachines({}, call()))).machines,
  };
}

test('resets a machine of the list by its BMC, as the driver of BMCs does', async () => {
  const its = await startList();
  await its.boot();
  const { operationRef } = await its.reboot('system-1');
  expect(operationRef).toMatch(/^ForceRestart system-1 /);
  expect(its.asked).toEqual(['ours system-1', 'before']);
  await its.after(90_000);
  await its.power('off');
  await its.after(10_000);
  expect((await its.get()).power).toBe('off');
  expect(its.resets()).toEqual(['ForceRestart', 'ForceOff']);
  expect(await failureOf(its.reboot('bare'))).toMatchObject({ kind: 'not-implemented' });
});

test('lists both kinds of machines, with what is known of their power', async () => {
  const its = await startList();
  await its.list();
  await its.after(120_000);
  const machines = await its.list();
  expect(
    machines.map(({ id, plan, power, status, lacks }) => [id, plan, power, status, lacks]),
  ).toEqual([
    ['system-1', 'static', 'off', 'Stopped', undefined],
    ['bare', 'static', undefined, 'Unknown', ['reboot', 'power']],
  ]);
});

test('touches no BMC that belongs to another machine', async () => {
  const its = await startList({ Serial: 'another' });
  await its.boot();
  expect(await failureOf(its.reboot('system-1'))).toMatchObject({ kind: 'conflict' });
  expect(its.resets()).toEqual([]);
});

test('keeps a machine whose BMC is gone or does not have it: the list decides', async () => {
  const its = await startList({ System: '/redfish/v1/Systems/None' });
  for (let look = 0; look < 4; look += 1) {
    expect(await its.get()).toMatchObject({ id: 'system-1', power: 'unknown' });
    await its.after(60_000);
  }
  expect((await its.list()).map(({ id }) => id)).toEqual(['system-1', 'bare']);
  expect(await failureOf(its.reboot('system-1'))).toMatchObject({ kind: 'permanent' });
  expect(its.resets()).toEqual([]);
});
