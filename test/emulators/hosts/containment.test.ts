import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import type { SFTPWrapper } from 'ssh2';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { uploadSteps } from '../../../src/adapters/ssh/upload-scripts.ts';
import { CommandFailed, RemoteFailure } from '../../../src/domain/errors.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import { insidePath, outsidePath } from '../../../emulators/hosts/paths.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { testRows } from '../../support/rows.ts';
import { createStand, key, live, nothing } from './stand.ts';
import type { Stand } from './stand.ts';

let stand: Stand;
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
type Done = (error: Error | null | undefined, result?: unknown) => void;
const ask = (send: (done: Done) => void) =>
  new Promise<unknown>((resolve, reject) => {
    send((error, result) => (error ? reject(error) : resolve(result)));
  });
const run = async (argv: readonly string[]) =>
  (await session.execute(argv, nothing, live)).stdout.toString();
/** From the machine's disk to the simulator's directory, for whoever could climb. */
const upwards = '../../../secret';

test('paths end at the root', () => {
  expect(insidePath('../../../../etc/passwd')).toBe('/etc/passwd');
  expect(insidePath('/../x')).toBe('/x');
  expect(insidePath('x')).toBe('/root/x');
  expect(outsidePath('/machine', '/a/../../b')).toBe('/machine/b');
});

describe('over SFTP', () => {
  test('.. leads nowhere', async () => {
    await expect(ask((done) => sftp.readFile(upwards, done))).rejects.toThrow();
    await expect(ask((done) => sftp.readFile(`/root/${upwards}`, done))).rejects.toThrow();
    await ask((done) => sftp.writeFile('../../../planted', 'x', done));
    expect(existsSync(join(stand.dir, 'planted'))).toBe(false);
    expect(existsSync(join(root, 'planted'))).toBe(true);
    expect(await ask((done) => sftp.realpath('../..', done))).toBe('/');
  });
  test('a symbolic link that leads out is not followed', async () => {
    await symlink(join(stand.dir, 'secret'), join(root, 'root/link'));
    await symlink(stand.dir, join(root, 'root/up'));
    await symlink(join(stand.dir, 'unborn'), join(root, 'root/dangling'));
    await expect(ask((done) => sftp.readFile('/root/link', done))).rejects.toThrow(/EACCES/);
    await expect(ask((done) => sftp.readFile('/root/up/secret', done))).rejects.toThrow(/EACCES/);
    await expect(ask((done) => sftp.writeFile('/root/dangling', 'x', done))).rejects.toThrow();
    await expect(ask((done) => sftp.writeFile('/root/up/new', 'x', done))).rejects.toThrow();
    expect(existsSync(join(stand.dir, 'unborn'))).toBe(false);
    expect(existsSync(join(stand.dir, 'new'))).toBe(false);
  });
  test('links cannot be made', async () => {
    await expect(ask((done) => sftp.symlink('/etc', '/root/link', done))).rejects.toThrow();
  });
  test('directories, attributes and names work as usual', async () => {
    await ask((done) => sftp.mkdir('/root/sub', done));
    await ask((done) => sftp.writeFile('/root/sub/one', 'one', done));
    await ask((done) => sftp.writeFile('/root/sub/two', 'two', done));
    const rename = ask((done) => sftp.rename('/root/sub/one', '/root/sub/two', done));
    await expect(rename).rejects.toThrow();
    await ask((done) => sftp.ext_openssh_rename('/root/sub/one', '/root/sub/two', done));
    const listing = (await ask((done) => sftp.readdir('/root/sub', done))) as {
      filename: string;
    }[];
    expect(listing.map(({ filename }) => filename).toSorted()).toEqual(['two']);
    expect(String(await ask((done) => sftp.readFile('/root/sub/two', done)))).toBe('one');
    await ask((done) => sftp.chmod('/root/sub/two', 0o600, done));
    const { mode } = (await ask((done) => sftp.stat('/root/sub/two', done))) as { mode: number };
    expect(mode & 0o777).toBe(0o600);
    await expect(ask((done) => sftp.rmdir('/root/sub', done))).rejects.toThrow();
    await ask((done) => sftp.unlink('/root/sub/two', done));
    await ask((done) => sftp.rmdir('/root/sub', done));
    await expect(ask((done) => sftp.stat('/root/sub', done))).rejects.toMatchObject({ code: 2 });
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
    [['cat', '--', upwards]],
    [['/bin/cat', '/etc/passwd']],
    [['../../../../../../bin/true']],
    [['sh', '-c', 'true']],
    [['env']],
  ])('%j is refused', async (argv) => {
    await expect(session.execute(argv, nothing, live)).rejects.toBeInstanceOf(RemoteFailure);
  });
  test('a symbolic link that leads out is not followed', async () => {
    await symlink(join(stand.dir, 'secret'), join(root, 'root/link'));
    await expect(run(['cat', 'link'])).rejects.toThrow(/Permission denied/);
    await expect(run(['cat', '/root/link'])).rejects.toThrow(/Permission denied/);
  });
  test('shell syntax beyond one redirection is refused, and redirection stays inside', async () => {
    const exec = (command: string) =>
      new Promise<number>((resolve, reject) => {
        client.exec(command, (error, channel) => {
          if (error) return reject(error);
          channel.resume().stderr.resume();
          channel.on('close', resolve);
          return channel.end('content');
        });
      });
    expect(await exec('true; true')).toBe(2);
    expect(await exec('cat < /etc/passwd')).toBe(2);
    expect(await exec('cat > a > b')).toBe(2);
    expect(await exec('cat > ../../../planted')).toBe(0);
    expect(await readFile(join(root, 'planted'), 'utf8')).toBe('content');
    expect(existsSync(join(stand.dir, 'planted'))).toBe(false);
    expect(await exec('cat > /missing/file')).toBe(2);
  });
  test('a file that is not executable is refused', async () => {
    await session.upload('/root/data', uploadOf(Buffer.from('x'), 0o644), live);
    await expect(run(['/root/data'])).rejects.toThrow(/126/);
    await expect(run(['/root'])).rejects.toThrow(/126/);
    await expect(run(['/root/missing'])).rejects.toThrow(/127/);
  });
  test('steps of an upload stay inside, and put nothing in place that differs', async () => {
    const content = Buffer.from('the new program');
    const step = (own: string) =>
      uploadSteps(
        {
          ...{ directory: '/root', stem: '.agent.part-', parts: '.agent.part-0123-', copy: '' },
          ...{ own, target: '/root/agent', sizeBytes: content.length, mode: '755' },
          sha256: createHash('sha256').update(content).digest('hex'),
        },
        [],
      );
    const write = async (own: string) => session.execute(step(own).write, content, live);
    await symlink(stand.dir, join(root, 'root/up'));
    await expect(write('up/planted')).rejects.toBeInstanceOf(CommandFailed);
    await write('../../../planted');
    expect(existsSync(join(stand.dir, 'planted'))).toBe(false);
    const torn = step('.agent.part-0123-mine');
    await session.execute(torn.write, Buffer.from('torn'), live);
    await expect(run(torn.install)).rejects.toBeInstanceOf(CommandFailed);
    expect(existsSync(join(root, 'root/agent'))).toBe(false);
  });
});
