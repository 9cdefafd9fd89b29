import { stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import { createMemoryDisk } from '../../doubles/memory-disk.ts';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import { testRows } from '../../support/rows.ts';
import { createStand, key, live, nothing } from './stand.ts';

const config = (content: object) => `#cloud-config\n${stringify(content)}`;
const PATH = '/var/lib/shepherd/first-boot';
const content = '#!/bin/sh\necho on > /etc/note\n';
/** A script, and a command that runs it. */
const running = (command: unknown) =>
  config({ write_files: [{ path: PATH, content }], runcmd: [command] });

/** User data, the `/etc/note` that results, and whether `/etc/after` and the script exist. */
type UserDataRow = [userdata: string, note: string | undefined, after?: 'after' | 'script'];
const ROWS: readonly UserDataRow[] = [
  ['#!/bin/sh\nprintf "a %s\\n" "b c" > /etc/note', 'a b c\n'],
  ["#!/bin/sh\necho 'one   two' > /etc/note", 'one   two\n'],
  // Skips a line that it does not know, and runs the next one.
  ...[
    ...['echo x > /etc/note && true', 'echo x | tee /etc/note', 'echo $HOME > /etc/note'],
    ...['echo `id` > /etc/note', 'printf %d 7 > /etc/note', 'cat /etc/passwd > /etc/note'],
    ...['touch /etc/note', 'mkdir -p /etc/note/../note > /etc/x'],
  ].map((line): UserDataRow => [`#!/bin/sh\n${line}\necho on > /etc/after\n`, undefined, 'after']),
  ['runcmd:\n  - echo x > /etc/note\n', undefined],
  ['#cloud-config\n{ unclosed', undefined],
  ['#cloud-configuration\nruncmd: [echo on > /etc/note]\n', undefined],
  ['#cloud-config', undefined],
  [running([PATH]), 'on\n', 'script'],
  [running(['/bin/sh', PATH]), 'on\n', 'script'],
  [config({ runcmd: ['printf "%s\\n" on > /etc/note'] }), 'on\n'],
  [config({ runcmd: [['/nowhere'], ['reboot']] }), undefined],
  [config({ bootcmd: ['echo on > /etc/note'], packages: ['x'] }), undefined],
  [config({ runcmd: 'echo on > /etc/note' }), undefined],
];

testRows(ROWS)('plays %j: /etc/note holds %j', async (userdata, note, left) => {
  const disk = createMemoryDisk(silentLog);
  await disk.runScript(userdata);
  expect(disk.files.get('/etc/note')).toBe(note);
  const files = [...disk.files.keys()].filter((path) => path !== '/etc/note');
  expect(files).toEqual(left === undefined ? [] : [left === 'after' ? '/etc/after' : PATH]);
});

async function start() {
  const stand = await createStand();
  onTestFinished(() => stand.close());
  /** Over SSH, like the proof of the machine. */
  const read = async (path: string) => {
    const session = await stand.connect('a');
    return (await session.execute(['cat', path], nothing, live)).stdout.toString();
  };
  const modeOf = async (path: string) =>
    ((await stat(join(stand.snapshot('a').root, path))).mode & 0o777).toString(8);
  return { stand, read, modeOf };
}

test('keeps the secret of the user data for root alone, until the next boot', async () => {
  const { stand, read, modeOf } = await start();
  const secret = '/run/shepherd/instance-secret';
  const script = `#!/bin/sh\numask 0077\nmkdir -p /run/shepherd\numask 0177\nprintf %s s > ${secret}\n`;
  const name = 'shepherd-escaped-init-script';
  const up = '../../../../../../../..';
  await stand.install(
    'a',
    `${script}umask 0022\necho one > ${up}/tmp/${name}\nmkdir -p ${up}/${name}\n`,
  );
  expect([await read(secret), await modeOf(secret)]).toEqual(['s', '600']);
  expect([existsSync(`/tmp/${name}`), existsSync(`/${name}`)]).toEqual([false, false]);
  for (const next of [() => stand.hosts().down('a'), () => stand.replace()]) {
    await next();
    await stand.install('a', `#!/bin/sh\necho two > /tmp/${name}\n`);
    await expect(read(secret)).rejects.toBeInstanceOf(RemoteFailure);
    expect(await read(`/tmp/${name}`), 'there is no other first boot').toBe('one\n');
  }
});

test('plays a cloud-config: writes files with their modes, and lets only the system’s user log in', async () => {
  const { stand, modeOf } = await start();
  const script = '#!/bin/sh\numask 0177\nprintf %s secret > /etc/note\n';
  const encoded = Buffer.from(script).toString('base64');
  const first = { path: PATH, permissions: '0700', owner: 'root:root', encoding: 'b64' };
  const userdata = config({
    write_files: [
      { ...first, content: encoded },
      { path: '/opt/site/key', permissions: '0600', content: 'open' },
    ],
    runcmd: [[PATH], ['rm', '-f', PATH]],
  });
  const device = { id: 'a', hostname: 'a', authorizedKeys: [key.publicLine], user: 'ubuntu' };
  const { sshPort: port } = await stand.hosts().assign({ ...device, userdata });
  await stand.hosts().up('a');
  expect(existsSync(join(stand.snapshot('a').root, PATH))).toBe(false);
  expect([await modeOf('opt/site/key'), await modeOf('etc/note')]).toEqual(['600', '600']);
  const as = (username: string) => stand.connect('a', {}, { host: '127.0.0.1', port, username });
  const { stdout } = await (await as('ubuntu')).execute(['cat', '/etc/note'], nothing, live);
  expect(stdout.toString()).toBe('secret');
  await expect(as('root')).rejects.toThrow();
});

test('lets machines share one port, each with its own address', async () => {
  const { stand } = await start();
  const port = await takeFreePort(new Set());
  await stand.replace({ sshPort: port });
  const places = await Promise.all(['a', 'b'].map((id) => stand.assign(id)));
  expect(places.map(({ sshPort }) => sshPort)).toEqual([port, port]);
  const [host, other] = places.map(({ address }) => address);
  expect(host).not.toBe(other);
  await stand.hosts().up('a');
  const session = await stand.connect('a', {}, { host: host!, port, username: 'root' });
  expect((await session.execute(['true'], nothing, live)).stdout).toHaveLength(0);
});
