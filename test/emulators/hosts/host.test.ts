import { beforeEach, expect, test } from 'vitest';
import { INSTANCE_SECRET_PATH } from '../../../src/domain/provisioning/provider-tags.ts';
import { BOOT_ID_PATH } from '../../../emulators/hosts/disk.ts';
import { createMemoryDisk, type MemoryDisk } from '../../doubles/memory-disk.ts';
import { createHost } from '../../../emulators/hosts/host.ts';
import type { Host, HostParts, HostSystem } from '../../../emulators/hosts/host.ts';
import { recordingLog } from '../../doubles/recording-log.ts';

const SCRIPT = `#!/bin/sh\nprintf %s first > ${INSTANCE_SECRET_PATH}\necho volatile > /run/note\n`;
const SYSTEM: HostSystem = { hostKey: 'key 1', authorizedKeys: ['ann'], userdata: SCRIPT };

let disk: MemoryDisk;
let host: Host<HostSystem>;
/** Calls to the parts, in order. */
let told: string[];
let saved: HostSystem[];
let bootIds: string[];
beforeEach(() => {
  told = [];
  saved = [];
  bootIds = ['boot 1', 'boot 2', 'boot 3', 'boot 4'];
  host = newHost();
});

function newHost(
  system: HostSystem = SYSTEM,
  parts: Partial<HostParts<HostSystem>> = {},
): Host<HostSystem> {
  disk = createMemoryDisk(recordingLog());
  return createHost(system, {
    disk,
    newBootId: () => bootIds.shift()!,
    programs: {
      end: async () => told.push('programs end'),
      freeze: (on) => void told.push(`programs ${on ? 'freeze' : 'go on'}`),
      discard: async () => void told.push('orphans end'),
      resume: async () => void told.push('agent resumes'),
    },
    listener: {
      open: async () => void told.push('listener opens'),
      close: async () => void told.push('listener closes'),
      freeze: (on) => void told.push(`listener ${on ? 'freezes' : 'thaws'}`),
    },
    save: async (change) => void saved.push(change),
    ...parts,
  });
}
const since = async (work: () => Promise<unknown>): Promise<string[]> => {
  told.length = 0;
  await work();
  return [...told];
};

test('plays the script at the first boot, opens SSH, and restarts earlier programs', async () => {
  expect(host.state()).toMatchObject({ up: false, bootId: undefined });
  expect(await since(() => host.on())).toEqual(['orphans end', 'listener opens', 'agent resumes']);
  expect(host.state()).toMatchObject({ up: true, bootId: 'boot 1', seen: { boots: 1 } });
  expect(disk.files.get(INSTANCE_SECRET_PATH)).toBe('first');
  expect(disk.files.get(BOOT_ID_PATH)).toBe('boot 1\n');
  expect(saved.at(-1)).toMatchObject({ initialized: true });
  expect(await since(() => host.on()), 'it is on').toEqual([]);
});

test('a reboot ends all processes, and changes the boot id; disk and host key stay', async () => {
  await host.on();
  disk.files.set('/root/file', 'kept');
  disk.files.set(INSTANCE_SECRET_PATH, 'changed by hand');
  expect(await since(() => host.reboot())).toEqual([
    'listener closes',
    'programs end',
    'listener opens',
  ]);
  expect(host.state()).toMatchObject({ up: true, bootId: 'boot 2' });
  expect(host.system()).toMatchObject({ hostKey: 'key 1' });
  expect(disk.files.get('/root/file')).toBe('kept');
  expect(disk.files.get('/run/note'), 'memory').toBeUndefined();
  expect(disk.files.get(INSTANCE_SECRET_PATH), 'no first boot').toBe('changed by hand');
});

test('neither reboots nor opens a host that is off', async () => {
  expect(await since(() => host.reboot())).toEqual([]);
  await host.on();
  expect(await since(() => host.off())).toEqual(['listener closes', 'programs end']);
  expect(await since(() => host.off())).toEqual(['listener closes']);
  expect(host.state().up).toBe(false);
});

test('a forced power-off ends what an earlier process left', async () => {
  expect(await since(() => host.off())).toEqual(['listener closes', 'orphans end', 'programs end']);
  expect(await since(() => host.on()), 'nothing of it comes back').toEqual(['listener opens']);
});

test('an installation makes an empty disk, a new host key, and another first boot', async () => {
  await host.on();
  disk.files.set('/root/file', 'old');
  const userdata = `#!/bin/sh\nprintf %s second > ${INSTANCE_SECRET_PATH}\n`;
  await host.install({ hostKey: 'key 2', authorizedKeys: ['ben'], userdata });
  expect(host.state()).toMatchObject({ up: false, bootId: undefined, seen: { installs: 1 } });
  expect(disk.files.size).toBe(0);
  await host.on();
  expect(host.system()).toMatchObject({ hostKey: 'key 2', authorizedKeys: ['ben'] });
  expect(disk.files.get(INSTANCE_SECRET_PATH)).toBe('second');
  expect(disk.files.get('/root/file')).toBeUndefined();
});

test('gives each boot a new id, even if chance repeats one', async () => {
  bootIds = ['same', 'same', 'same', 'other'];
  await host.on();
  await host.reboot();
  expect(host.state().bootId).toBe('other');
});

test('boots a host of an earlier process with another id than before', async () => {
  host = newHost(SYSTEM, { bootId: 'boot 1' });
  await host.on();
  expect(host.state().bootId).toBe('boot 2');
});

test('stays off without power; with power again it boots, if it was on', async () => {
  await host.on();
  await host.losePower(true);
  await host.on();
  expect(host.state()).toMatchObject({ up: false, powerless: true });
  await host.losePower(false);
  expect(host.state()).toMatchObject({ up: true, powerless: false, bootId: 'boot 2' });
  await host.off();
  await host.losePower(true);
  await host.losePower(false);
  expect(host.state().up).toBe(false);
});

test('hangs until that is revoked, or until it is off', async () => {
  expect(await since(() => host.hang(true)), 'off').toEqual([]);
  await host.on();
  expect(await since(() => host.hang(true))).toEqual(['listener freezes', 'programs freeze']);
  expect(await since(() => host.hang(true))).toEqual([]);
  expect(await since(() => host.hang(false))).toEqual(['listener thaws', 'programs go on']);
  await host.hang(true);
  const ends = ['listener closes', 'programs end', 'listener thaws', 'programs go on'];
  expect(await since(() => host.off())).toEqual(ends);
  expect(host.state().hanging).toBe(false);
});

test('refuses SSH even after a reboot; a refused key leaves the port open', async () => {
  await host.on();
  expect(await since(() => host.refuse('connection'))).toEqual(['listener closes']);
  expect(await since(() => host.reboot())).toEqual(['listener closes', 'programs end']);
  expect(await since(() => host.refuse('key'))).toEqual(['listener opens']);
  expect(host.state().refusing).toBe('key');
  await host.off();
  expect(await since(() => host.refuse(undefined)), 'off').toEqual([]);
});

test('a lost agent ends nothing else', async () => {
  await host.on();
  expect(await since(() => host.loseAgent())).toEqual(['programs end']);
  expect(host.state()).toMatchObject({ up: true, bootId: 'boot 1' });
});

test('leaves its programs alone after close, and is neither on nor changed again', async () => {
  await host.on();
  expect(await since(() => host.close())).toEqual(['listener closes']);
  expect(await since(() => host.on())).toEqual([]);
  saved.length = 0;
  await host.update({ authorizedKeys: [] });
  expect(saved).toEqual([]);
});

test('keeps a removed host off', async () => {
  await host.on();
  await host.remove();
  await host.on();
  expect(host.state().up).toBe(false);
});

test('runs its calls one after another, also after a failed call', async () => {
  const failing = host.inTurn(async () => {
    throw new Error('once');
  });
  const order: string[] = [];
  const on = host.on().then(() => order.push('on'));
  const off = host.off().then(() => order.push('off'));
  await expect(failing).rejects.toThrow('once');
  await Promise.all([on, off]);
  expect([order, host.state().up]).toEqual([['on', 'off'], false]);
});
