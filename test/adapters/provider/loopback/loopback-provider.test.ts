import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { createFleetProvider } from '../../../../src/adapters/provider/core/fleet-provider.ts';
import { loopbackDriver } from '../../../../src/adapters/provider/loopback/driver.ts';
import type { FleetProvider, Provider } from '../../../../src/adapters/provider/port.ts';
import { parseSshKey } from '../../../../src/adapters/ssh/key-file.ts';
import { parseAddress, type ShellSession } from '../../../../src/adapters/ssh/port.ts';
import { createSsh2Shell } from '../../../../src/adapters/ssh/ssh2-shell.ts';
import { RemoteFailure } from '../../../../src/domain/errors.ts';
import { witness } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import {
  INSTANCE_SECRET_PATH,
  SECRET_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { createHash } from 'node:crypto';
import { commandOf } from '../../ssh/sshd-stand.ts';
import { callOf, driverContext, INSTANCE_SET_ID } from '../driver-stand.ts';
import { NO_SESSION } from '../../../doubles/scripted-driver.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const OTHER = witness('0b6e2222-2222-4222-8222-222222222222');
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const NOTHING = new Uint8Array(0);

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-loopback-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
});

const newKey = () => {
  for (;;) {
    const pem = ssh2.utils.generateKeyPairSync('ed25519').private;
    if (!(ssh2.utils.parseKey(pem) instanceof Error)) return parseSshKey(Buffer.from(pem), 'test');
  }
};
const key = newKey();
const shell = createSsh2Shell({ signers: [key], clock: systemClock, log: silentLog });

function provide(initCommand = ''): { fleet: FleetProvider; driven: Provider } {
  const all = driverContext('loopback', {
    clock: systemClock,
    publicKey: key.publicLine,
    random: systemRandom,
  });
  const driven = loopbackDriver.open({ dataDir: join(directory, 'host') }, all);
  const options = {
    name: all.name,
    type: 'loopback',
    instanceSetId: INSTANCE_SET_ID,
    sharedTags: {},
  };
  const fleet = createFleetProvider(
    driven,
    { ...options, image: null, initCommand, publicKey: key.publicLine },
    all,
  );
  onTestFinished(() => fleet.stop());
  return { fleet, driven };
}
const only = async (fleet: FleetProvider): Promise<ProviderMachine> => {
  const { machines } = await fleet.listMachines(callOf());
  expect(machines).toHaveLength(1);
  return machines[0]!;
};
const create = async (fleet: FleetProvider, mark = WITNESS) =>
  fleet.createMachine({ unused: await only(fleet), hostname: 'here', witness: mark }, callOf());
const connect = ({ address, remoteUser }: ProviderMachine): Promise<ShellSession> =>
  shell.connect({ ...parseAddress(address!, 22), username: remoteUser }, callOf().signal);
async function output(machine: ProviderMachine, ...argv: string[]): Promise<string> {
  const session = await connect(machine);
  try {
    const { stdout } = await session.execute(argv, NOTHING, callOf().signal);
    return stdout.toString();
  } finally {
    session.close();
  }
}

test('this host is one machine, and no more', async () => {
  const { fleet } = provide();
  const unused = await only(fleet);
  expect(unused).toMatchObject({ availability: 'KnownUnused', id: null });
  const made = await create(fleet);
  expect(await only(fleet)).toMatchObject({ id: made.id, ownership: 'ours', power: 'on' });
  const order = { unused, hostname: 'here', witness: OTHER };
  await expect(fleet.createMachine(order, callOf())).rejects.toMatchObject({ quota: true });
  const again = await fleet.createMachine({ ...order, witness: WITNESS }, callOf());
  expect(again.id).toBe(made.id);
});

test('commands run here; a leading sudo is dropped; exit codes come back', async () => {
  const { fleet } = provide();
  const machine = await create(fleet);
  expect(await output(machine, 'echo', 'hello there')).toBe('hello there\n');
  expect(await output(machine, 'sudo', 'echo', 'hi')).toBe('hi\n');
  expect(await output(machine, 'sudo', '-n', 'echo', 'hi')).toBe('hi\n');
  const session = await connect(machine);
  const failing = session.execute(['false'], NOTHING, callOf().signal);
  await expect(failing).rejects.toBeInstanceOf(RemoteFailure);
  session.close();
});

test('the first boot has run, and left the secret in a place of its own', async () => {
  const { fleet } = provide(`echo done > "$(dirname ${INSTANCE_SECRET_PATH})/site"`);
  const machine = await create(fleet);
  const secret = await output(machine, 'sudo', 'cat', INSTANCE_SECRET_PATH);
  expect(createHash('sha256').update(secret).digest('hex')).toBe(machine.tags[SECRET_TAG]);
  const beside = INSTANCE_SECRET_PATH.replace(/[^/]+$/, 'site');
  expect(await output(machine, 'cat', beside)).toBe('done\n');
  const own = join(directory, 'host/private');
  expect(readFileSync(join(own, INSTANCE_SECRET_PATH), 'utf8')).toBe(secret);
});

test('a reboot is another boot id and nothing else', async () => {
  const { fleet } = provide();
  const machine = await create(fleet);
  const before = await output(machine, 'cat', BOOT_ID);
  const session = await connect(machine);
  const { operationRef } = await fleet.rebootMachine(machine.id!, 'graceful', callOf());
  expect(operationRef).toContain(machine.id);
  await expect(session.execute(['true'], NOTHING, callOf().signal)).rejects.toThrow();
  const after = await fleet.getMachine(machine.id!, callOf());
  expect(after.address).toBe(machine.address);
  expect(await output(after, 'cat', BOOT_ID)).not.toBe(before);
  const again = await connect(after);
  expect(again.hostKey).toBe(session.hostKey);
  again.close();
});

test('what left its group ends with a reboot too; the end of the daemon spares it', async () => {
  const first = provide().fleet;
  const machine = await create(first);
  const pid = Number(
    await output(machine, 'sh', '-c', 'setsid sleep 60 > /dev/null 2>&1 & echo $!'),
  );
  const isRunning = () => existsSync(`/proc/${pid}/cmdline`) && commandOf(pid).includes('sleep');
  await first.stop();
  expect(isRunning()).toBe(true);
  const second = provide().fleet;
  await second.prepare(callOf());
  await second.rebootMachine(machine.id!, 'force', callOf());
  expect(isRunning()).toBe(false);
});

test('an agent is told the boot id that is told over SSH', async () => {
  const machine = await create(provide().fleet);
  const told = await output(machine, 'sh', '-c', 'cat "$SHEPHERD_AGENT_BOOT_ID_FILE"');
  expect(told).toBe(await output(machine, 'cat', BOOT_ID));
});

test('a machine of an earlier release, whose file has one key, lets it in', async () => {
  const first = provide().fleet;
  const machine = await create(first);
  await first.stop();
  const path = join(directory, 'host/machine.json');
  const { authorizedKeys, ...state } = JSON.parse(readFileSync(path, 'utf8')) as Record<
    string,
    unknown
  >;
  const [authorized] = authorizedKeys as string[];
  writeFileSync(path, JSON.stringify({ ...state, authorized }));
  const second = provide().fleet;
  await second.prepare(callOf());
  expect(await output(machine, 'echo', 'in')).toBe('in\n');
});

test('a reinstallation keeps the id; key and secret are new', async () => {
  const { fleet } = provide();
  const machine = await create(fleet);
  const before = await connect(machine);
  before.close();
  await fleet.reinstallMachine(machine.id!, callOf());
  const after = await fleet.getMachine(machine.id!, callOf());
  const session = await connect(after);
  session.close();
  expect(session.hostKey).not.toBe(before.hostKey);
  expect(after.tags[SECRET_TAG]).not.toBe(machine.tags[SECRET_TAG]);
  const verify = ({ hostKey }: ShellSession) =>
    fleet.verifyHostKey(after, Buffer.from(hostKey, 'base64'), callOf(), NO_SESSION);
  await verify(session);
  await expect(verify(before)).rejects.toMatchObject({ kind: 'conflict' });
});

test('switched off it answers nobody', async () => {
  const { fleet } = provide();
  const machine = await create(fleet);
  await fleet.setPower(machine.id!, 'off', callOf());
  expect(await only(fleet)).toMatchObject({ power: 'off', status: 'Stopped' });
  await expect(connect(machine)).rejects.toMatchObject({ code: 'unreachable' });
  const reboot = fleet.rebootMachine(machine.id!, 'force', callOf());
  await expect(reboot).rejects.toMatchObject({ kind: 'conflict' });
  await fleet.setPower(machine.id!, 'on', callOf());
  expect(await output(await only(fleet), 'echo', 'up')).toBe('up\n');
});

test('a second instance sees the machine, and does not take it from the first', async () => {
  const { fleet } = provide();
  const machine = await create(fleet);
  const second = provide().fleet;
  await second.setTags(machine.id!, { 'shepherd-IdleBehavior': 'hold' }, callOf());
  expect((await fleet.getMachine(machine.id!, callOf())).tags).toMatchObject({
    ...machine.tags,
    'shepherd-IdleBehavior': 'hold',
  });
  const reboot = second.rebootMachine(machine.id!, 'force', callOf());
  await expect(reboot).rejects.toMatchObject({ kind: 'conflict' });
  await second.stop();
  expect(await output(machine, 'echo', 'still here')).toBe('still here\n');
});

test('the machine outlives its process', async () => {
  const first = provide().fleet;
  const machine = await create(first);
  const before = await output(machine, 'cat', BOOT_ID);
  await first.stop();
  await expect(connect(machine)).rejects.toMatchObject({ code: 'unreachable' });
  const second = provide().fleet;
  await second.prepare(callOf());
  const after = await only(second);
  expect(after).toMatchObject({ id: machine.id, tags: machine.tags });
  expect(await output(after, 'cat', BOOT_ID)).toBe(before);
  await second.deprovisionMachine(machine.id!, callOf());
  expect(await only(second)).toMatchObject({ availability: 'KnownUnused' });
});

test('who only looks starts nothing and writes nothing', async () => {
  const first = provide().fleet;
  const machine = await create(first);
  await first.stop();
  const state = () => {
    const path = join(directory, 'host/machine.json');
    return [readFileSync(path, 'utf8'), statSync(path, { bigint: true }).mtimeNs];
  };
  const before = state();
  const second = provide().fleet;
  expect(await only(second)).toMatchObject({ id: machine.id, address: machine.address });
  await second.getMachine(machine.id!, callOf());
  expect(await second.findByWitness(WITNESS, 'this-host', callOf())).toMatchObject({
    id: machine.id,
  });
  await expect(connect(machine)).rejects.toMatchObject({ code: 'unreachable' });
  expect(state()).toEqual(before);
});

test('only the key that was given may enter', async () => {
  const { fleet } = provide();
  const machine = await create(fleet);
  const stranger = createSsh2Shell({ signers: [newKey()], clock: systemClock, log: silentLog });
  const target = { ...parseAddress(machine.address!, 22), username: machine.remoteUser };
  await expect(stranger.connect(target, callOf().signal)).rejects.toMatchObject({ code: 'denied' });
});

test('a creation that is stopped before it begins makes nothing', async () => {
  const { fleet, driven } = provide();
  const unused = await only(fleet);
  const order = {
    unused,
    hostname: 'here',
    tags: {},
    initCommand: 'true',
    publicKey: key.publicLine,
  };
  const onAttempt = async () => void driven.stop();
  const creation = driven.createMachine(
    { ...order, plan: 'host', image: null, resumed: false, onAttempt },
    callOf(),
  );
  await expect(creation).rejects.toMatchObject({ kind: 'aborted' });
  await expect(driven.listMachines({}, callOf())).rejects.toMatchObject({ kind: 'stopped' });
  expect(await only(provide().fleet)).toMatchObject({ availability: 'KnownUnused' });
});

test('B5: what runs on the machine has none of the secrets in our environment', async () => {
  process.env['CANARY_TOKEN'] = 'a-secret-of-the-daemon';
  try {
    const { fleet } = provide();
    const machine = await create(fleet);
    const environment = await output(machine, 'env');
    expect(environment).toMatch(/^PATH=/m);
    expect(environment).not.toContain('a-secret-of-the-daemon');
  } finally {
    delete process.env['CANARY_TOKEN'];
  }
});

test('a machine that is to be on and is on, but answers nobody yet, can still be let answer', async () => {
  const first = provide().fleet;
  const { id } = await create(first);
  await first.stop();
  const second = provide().fleet;
  await second.setPower(id!, 'on', callOf());
  await second.prepare(callOf());
  expect(await output(await only(second), 'echo', 'here')).toBe('here\n');
});
