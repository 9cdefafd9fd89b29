import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createMemoryDisk } from '../../../src/simulator/hosts/disk.ts';
import { takeFreePort } from '../../../src/simulator/hosts/free-port.ts';
import { createStand, key, live, nothing, type Stand } from './stand.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const config = (content: object) => `#cloud-config\n${stringify(content)}`;
const FILE = {
  path: '/var/lib/shepherd/first-boot',
  permissions: '0700',
  owner: 'root:root',
  encoding: 'b64',
};
const played = (content: object) => {
  const disk = createMemoryDisk(silentLog);
  return disk.runScript(config(content)).then(() => disk.files);
};

let stand: Stand;
beforeEach(async () => {
  stand = await createStand();
});
afterEach(() => stand.close());

test('a cloud-config puts a script in place, runs it and removes it; who logs in is the user of the system', async () => {
  const script = '#!/bin/sh\numask 0177\nprintf %s secret > /etc/note\n';
  const userdata = config({
    write_files: [
      { ...FILE, content: base64(script) },
      { path: '/opt/site/key', permissions: '0600', content: 'open' },
    ],
    runcmd: [[FILE.path], ['rm', '-f', FILE.path]],
  });
  const hosts = stand.hosts();
  const device = { id: 'a', hostname: 'a', authorizedKeys: [key.publicLine], user: 'ubuntu' };
  const { sshPort } = await hosts.assign({ ...device, userdata });
  await hosts.up('a');
  const { root } = stand.snapshot('a');
  expect(existsSync(join(root, FILE.path))).toBe(false);
  expect(((await stat(join(root, 'opt/site/key'))).mode & 0o777).toString(8)).toBe('600');
  expect(((await stat(join(root, 'etc/note'))).mode & 0o777).toString(8)).toBe('600');
  const session = await stand.connect(
    'a',
    {},
    { host: '127.0.0.1', port: sshPort, username: 'ubuntu' },
  );
  const { stdout } = await session.execute(['cat', '/etc/note'], nothing, live);
  expect(stdout.toString()).toBe('secret');
  const asRoot = { host: '127.0.0.1', port: sshPort, username: 'root' };
  await expect(stand.connect('a', {}, asRoot)).rejects.toThrow();
});

test.each([
  [[FILE.path]],
  [`${FILE.path} && rm -f ${FILE.path}`],
  [`sh ${FILE.path}; rm ${FILE.path}`],
  [['sh', '-c', `${FILE.path} && rm ${FILE.path}`]],
  [['/bin/sh', FILE.path]],
])('%j runs the script', async (command) => {
  const content = '#!/bin/sh\necho on > /etc/note\n';
  const files = await played({ write_files: [{ path: FILE.path, content }], runcmd: [command] });
  expect(files.get('/etc/note')).toBe('on\n');
  expect(files.has(FILE.path)).toBe(!JSON.stringify(command).includes('rm '));
});

test.each([['printf "%s\\n" on > /etc/note'], [['sh', '-c', 'echo on > /etc/note']]])(
  '%j is played as a line of a script',
  async (command) => {
    expect((await played({ runcmd: [command] })).get('/etc/note')).toBe('on\n');
  },
);

test.each([
  ['what is piped', { runcmd: ['echo on | tee /etc/note'] }],
  ['a program that is not there', { runcmd: ['/nowhere'] }],
  ['other modules', { bootcmd: ['echo on > /etc/note'], packages: ['x'] }],
  ['a list that is none', { runcmd: 'echo on > /etc/note' }],
  ['nothing', {}],
])('%s is left out', async (_what, content) => {
  expect([...(await played(content)).keys()]).toEqual([]);
});

test.each([
  ['#cloud-config\n{ unclosed'],
  ['#cloud-configuration\nruncmd: [echo on > /etc/note]\n'],
  ['#cloud-config'],
])('%j changes nothing', async (text) => {
  const disk = createMemoryDisk(silentLog);
  await disk.runScript(text);
  expect([...disk.files.keys()]).toEqual([]);
});

test('machines may share one port, each with an address of its own', async () => {
  const sshPort = await takeFreePort(new Set());
  await stand.replace({ sshPort });
  const places = await Promise.all(['a', 'b'].map((id) => stand.assign(id)));
  expect(places.map((place) => place.sshPort)).toEqual([sshPort, sshPort]);
  expect(new Set(places.map(({ address }) => address)).size).toBe(2);
  await stand.hosts().up('a');
  const session = await stand.connect(
    'a',
    {},
    { host: places[0]!.address, port: sshPort, username: 'root' },
  );
  expect((await session.execute(['true'], nothing, live)).stdout).toHaveLength(0);
});
