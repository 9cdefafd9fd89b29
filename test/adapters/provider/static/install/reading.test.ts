import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  faultIn,
  networkWords,
  readLook,
} from '../../../../../src/adapters/provider/static/install/reading.ts';
import { root } from '../../../../repo/sources.ts';
import { SOUND } from './sound.ts';

const HOW = { wanted: null, hasKexec: false };

test('a machine with all that is needed has no fault', () => {
  expect(faultIn(SOUND, HOW)).toBe(null);
  expect(faultIn({ ...SOUND, lockdown: '' }, HOW)).toBe(null);
  expect(faultIn({ ...SOUND, kexec: '' }, { ...HOW, hasKexec: true })).toBe(null);
});

test.each([
  [{ user: '1000' }, /not root/],
  [{ container: 'lxc' }, /it is a container \(lxc\)/],
  [{ machine: 'aarch64' }, /it is aarch64/],
  [{ kexec: '' }, /apt-get install kexec-tools/],
  [{ disabled: '1' }, /kernel\.kexec_load_disabled/],
  [{ disabled: '' }, /kernel\.kexec_load_disabled/],
  [{ lockdown: 'none [integrity] confidentiality' }, /Secure Boot must be off/],
  [{ memory: '100000' }, /100000 kB of free memory/],
  [{ disk: '' }, /0 disks match the only fixed disk; give Disk; it has: sda s1/],
  [{ disk: 'sda sdb' }, /2 disks match/],
  [{ card: '' }, /no default route for IPv4/],
  [{ mac: '' }, /leaves by eth0, which is no network card/],
  [{ address: '' }, /eth0 has no IPv4 address/],
  [{ image: '' }, /cannot fetch the image/],
  [{ seed: '' }, /does not reach install\.seedUrl/],
])('%j is a fault', (change, fault) => {
  expect(faultIn({ ...SOUND, ...change }, HOW)).toMatch(fault);
});

test.each([
  [{}, 'shepherd.net=02:00:00:00:00:01,192.0.2.7/24,192.0.2.1,192.0.2.53'],
  [{ address: '192.0.2.7', dns: '' }, 'shepherd.net=02:00:00:00:00:01,192.0.2.7/32,192.0.2.1,'],
])('the installer gets the network of the machine: %j', (change, words) => {
  expect(networkWords({ ...SOUND, ...change })).toBe(words);
});

test('the look tells of a real system, and changes nothing that it would need', () => {
  const folder = join(root, 'src/adapters');
  const input = ['driver-kit/disks.sh', 'provider/static/install/look.sh']
    .map((path) => readFileSync(join(folder, path), 'utf8'))
    .join('');
  const env = {
    ...process.env,
    wanted: 'no-such-disk',
    image: 'http://127.0.0.1:1/',
    seed: 'http://127.0.0.1:1/',
  };
  const told = execFileSync('sh', ['-s'], {
    input,
    encoding: 'utf8',
    env: { ...env, secret: '/none' },
  });
  const reading = readLook(told);
  expect(reading['hostname']).toBe(hostname());
  expect(Number(reading['memory'])).toBeGreaterThan(0);
  expect(reading).toMatchObject({ disk: '', image: '', seed: '' });
  expect(Object.keys(reading)).not.toContain('secret');
});
