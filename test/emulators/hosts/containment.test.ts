import { existsSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import type { SFTPWrapper } from 'ssh2';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import { insidePath, outsidePath } from '../../../emulators/hosts/paths.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { testRows } from '../../support/rows.ts';
import { createStand, key, live, nothing } from './stand.ts';
import type { HostsStand } from './stand.ts';

let stand: HostsStand;
let session: ShellSession;
let client: ssh2.Client;
let sftp: SFTPWrapper;
let root: string;
beforeEach(async () => {
  stand = await createStand();
  session = await stand.raise('a');
  ({ root } = stand.snapshot('a'));
  await writeFile(join(stand.dir, 'secret'), 'secret');
  client = new ssh2.Client();
  const privateKey = key.privateKey;
  await new Promise<void>((resolve, reject) => {
    client.on('ready', resolve).on('error', reject);
    client.connect({ host: '127.0.0.1', port: stand.port('a'), username: 'root', privateKey });
  });
  sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
    client.sftp((error, opened) => (error ? reject(error) : resolve(opened)));
  });
});
afterEach(async () => {
  client.end();
  await stand.close();
});
type SftpCallback = (error: Error | null | undefined, result?: unknown) => void;
const ask = (send: (done: SftpCallback) => void) =>
  new Promise<unknown>((resolve, reject) => {
    send((error, result) => (error ? reject(error) : resolve(result)));
  });
const run = async (argv: readonly string[]) =>
  (await session.execute(argv, nothing, live)).stdout.toString();
/** From the machine's disk up to the simulator's directory, for a path that could climb. */
const upwards = '../../../secret';

test('stops paths at the root', () => {
  expect(insidePath('../../../../etc/passwd')).toBe('/etc/passwd');
  expect(insidePath('/../x')).toBe('/x');
  expect(insidePath('x')).toBe('/root/x');
  expect(outsidePath('/machine', '/a/../../b')).toBe('/machine/b');
});

describe('over SFTP', () => {
  const write = (path: string) => ask((done) => sftp.writeFile(path, 'x', { mode: 0o600 }, done));
  test('leads .. nowhere', async () => {
    await write('../../../planted');
    expect(existsSync(join(stand.dir, 'planted'))).toBe(false);
    expect(existsSync(join(root, 'planted'))).toBe(true);
  });
  test('does not follow a symbolic link that leads out', async () => {
    await symlink(stand.dir, join(root, 'root/up'));
    await symlink(join(stand.dir, 'unborn'), join(root, 'root/dangling'));
    await expect(write('/root/dangling')).rejects.toThrow(/EACCES/);
    await expect(write('/root/up/new')).rejects.toThrow(/EACCES/);
    expect(existsSync(join(stand.dir, 'unborn'))).toBe(false);
    expect(existsSync(join(stand.dir, 'new'))).toBe(false);
  });
  test('serves only uploads', async () => {
    await expect(ask((done) => sftp.symlink('/etc', '/root/link', done))).rejects.toThrow();
    await expect(ask((done) => sftp.readdir('/root', done))).rejects.toMatchObject({ code: 8 });
  });
});

describe('over exec', () => {
  test('two machines do not see each other', async () => {
    await session.upload('/root/mine', uploadOf(Buffer.from('mine')), live);
    const other = await stand.raise('b');
    const reading = other.execute(['cat', '/root/mine'], nothing, live);
    await expect(reading).rejects.toBeInstanceOf(RemoteFailure);
    expect(await run(['cat', '/root/mine'])).toBe('mine');
  });
  testRows([
    [['cat', upwards]],
    [['cat', `/root/${upwards}`]],
    [['cat', '/etc/passwd']],
    [['chmod', '--reference=/etc/passwd', '/root']],
    [['/bin/cat', '/etc/passwd']],
    [['../../../../../../bin/true']],
    [['sh', '-c', 'true']],
    [['env']],
  ])('refuses %j', async (argv) => {
    await expect(session.execute(argv, nothing, live)).rejects.toBeInstanceOf(RemoteFailure);
  });
  test('does not follow a symbolic link that leads out', async () => {
    await symlink(join(stand.dir, 'secret'), join(root, 'root/link'));
    await expect(run(['cat', 'link'])).rejects.toThrow(/Permission denied/);
    await expect(run(['cat', '/root/link'])).rejects.toThrow(/Permission denied/);
  });
  testRows([['true; true'], ['cat < /etc/passwd'], ['cat > a'], ['true && true']])(
    'refuses shell syntax: %s',
    async (command) => {
      const status = await new Promise((resolve, reject) => {
        client.exec(command, (error, channel) => {
          if (error) return reject(error);
          channel.resume().stderr.resume();
          channel.on('close', resolve);
          return channel.end();
        });
      });
      expect(status).toBe(2);
    },
  );
});
