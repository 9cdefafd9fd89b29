import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import { createStand, live, nothing } from './stand.ts';
import type { Stand } from './stand.ts';

const SECRET_PATH = '/run/shepherd/instance-secret';
const secretOf = (digit: string) => digit.repeat(40);
/** What a fleet's daemon gives a new machine, with a line of the site's own. */
const script = (secret: string) =>
  [
    '#!/bin/sh',
    'umask 0077',
    'mkdir -p /run/shepherd',
    'umask 0177',
    `printf %s ${secret} > ${SECRET_PATH}`,
    'umask 0022',
    'systemctl enable --now something',
  ].join('\n');

let stand: Stand;
beforeEach(async () => {
  stand = await createStand();
});
afterEach(() => stand.close());

/** Over SSH, as the one who proves the machine would. */
async function read(id: string, path = SECRET_PATH): Promise<string> {
  const session = await stand.connect(id);
  return (await session.execute(['cat', path], nothing, live)).stdout.toString();
}

test('a machine has the secret of its user data, for root alone', async () => {
  await stand.install('a', script(secretOf('a')));
  expect(await read('a')).toBe(secretOf('a'));
  const { mode } = await stat(join(stand.snapshot('a').root, SECRET_PATH));
  expect((mode & 0o777).toString(8)).toBe('600');
});

test('a reinstalled machine has the secret of its new user data, and not the old one', async () => {
  await stand.install('a', script(secretOf('a')));
  await stand.hosts().down('a');
  await stand.reinstall('a', { userdata: script(secretOf('b')) });
  await stand.hosts().up('a');
  expect(await read('a')).toBe(secretOf('b'));
});

test('new user data without a reinstallation change nothing', async () => {
  await stand.install('a', `#!/bin/sh\necho one > /etc/note`);
  await stand.hosts().down('a');
  await stand.install('a', `#!/bin/sh\necho two > /etc/note`);
  expect(await read('a', '/etc/note')).toBe('one\n');
});

test('what is under /run is gone with a reboot, and the script does not run again', async () => {
  await stand.install('a', `${script(secretOf('a'))}\necho kept > /etc/note`);
  await stand.hosts().down('a');
  await stand.hosts().up('a');
  await expect(read('a')).rejects.toBeInstanceOf(RemoteFailure);
  expect(await read('a', '/etc/note')).toBe('kept\n');
});

test('a simulator that finds the machine again remembers that it was initialized', async () => {
  await stand.install('a', `#!/bin/sh\necho one > /etc/note`);
  await stand.replace();
  await stand.install('a', `#!/bin/sh\necho two > /etc/note`);
  expect(await read('a', '/etc/note')).toBe('one\n');
});

test.each([
  ['printf "a %s\\n" "b c" > /etc/note', 'a b c\n'],
  ["echo 'one   two' > /etc/note", 'one   two\n'],
])('%s is played as a shell would', async (line, expected) => {
  await stand.install('a', `#!/bin/sh\n${line}\n`);
  expect(await read('a', '/etc/note')).toBe(expected);
});

test.each([
  'echo x > /etc/note && true',
  'echo x | tee /etc/note',
  'echo $HOME > /etc/note',
  'echo `id` > /etc/note',
  'printf %d 7 > /etc/note',
  'cat /etc/passwd > /etc/note',
  'touch /etc/note',
  'mkdir -p /etc/note/../note > /etc/note/x',
])('%s is left out, and the next line runs', async (line) => {
  await stand.install('a', `#!/bin/sh\n${line}\necho on > /etc/after\n`);
  const { root } = stand.snapshot('a');
  expect(existsSync(join(root, 'etc/note'))).toBe(false);
  expect(await read('a', '/etc/after')).toBe('on\n');
});

test('no path leads out of the machine', async () => {
  const name = 'shepherd-escaped-init-script';
  await stand.install(
    'a',
    `#!/bin/sh\necho out > ../../../../../../../../tmp/${name}\nmkdir -p ../../../${name}\n`,
  );
  expect(existsSync(`/tmp/${name}`)).toBe(false);
  expect(existsSync(join(stand.dir, name))).toBe(false);
  expect(await read('a', `/tmp/${name}`)).toBe('out\n');
});

test('text that is no script and no cloud-config does nothing', async () => {
  await stand.install('a', 'runcmd:\n  - echo x > /etc/note\n');
  await expect(read('a', '/etc/note')).rejects.toBeInstanceOf(RemoteFailure);
});
