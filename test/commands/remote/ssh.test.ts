import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { encodeOpensshKey, parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { rawKey } from '../../adapters/ssh/keys.ts';
import { createSshdStand } from '../../adapters/ssh/sshd-stand.ts';
import { runThrough, scriptedTransport } from '../run-through.ts';

const stand = createSshdStand();
afterEach(stand.close);

const raw = rawKey();
const own = parseSshKey(raw, 'own');

/** An sshd that knows the operator's key, and a file with that key. */
async function machine() {
  const sshd = await stand.sshd({ authorizedKeys: [own.publicLine] });
  const identity = join(await stand.directory(), 'id');
  await writeFile(identity, encodeOpensshKey(raw.subarray(0, 32), raw.subarray(32)), {
    mode: 0o600,
  });
  return { ...sshd, identity };
}

/** Runs `shepherd ssh` for a machine as a console describes it. */
function ssh(described: object, ...args: string[]) {
  const transport = scriptedTransport(async ({ path }) => {
    const found = [{ slot: 'metal/a', machineId: null, by: 'slot', whole: true }];
    const body = path.endsWith('/resolve')
      ? { machines: found, more: false }
      : { slot: 'metal/a', address: null, hostKey: null, remoteUser: null, ...described };
    return { status: 200, headers: {}, text: JSON.stringify(body) };
  });
  const means = { transport, monotonic: () => 0, sleep: async () => undefined };
  return runThrough(means, ['ssh', 'a', ...args]);
}

describe('ssh', () => {
  test('runs a command on a real sshd as the listed user, and ends with its exit status', async () => {
    const { target, hostKey, home, identity } = await machine();
    const address = `${target.host}:${target.port}`;
    const described = { address, hostKey, remoteUser: target.username };
    const file = join(home, 'was here');
    const run = (...command: string[]) => ssh(described, '--identity', identity, '--', ...command);
    expect(await run('touch', `'${file}'`)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(existsSync(file)).toBe(true);
    expect(await run('exit 7')).toMatchObject({ code: 7 });
  });

  test('runs nothing on a machine that shows another host key than the pinned one', async () => {
    const { target, home, identity } = await machine();
    const address = `${target.host}:${target.port}`;
    const other = parseSshKey(rawKey(), 'other').publicLine.split(' ')[1];
    const described = { address, hostKey: other, remoteUser: target.username };
    const file = join(home, 'was-here');
    const { code, stderr } = await ssh(described, '--identity', identity, '--', 'touch', file);
    expect([code, existsSync(file)]).toEqual([255, false]);
    expect(stderr).toContain('did not log in, or the command itself ended with 255');
    expect(stderr).toContain('"shepherd machine show metal/a" shows the address');
  });

  test('refuses a machine without an address or without a pinned host key', async () => {
    expect(await ssh({})).toMatchObject({ code: 1, stderr: expect.stringContaining('no address') });
    expect(await ssh({ address: '192.0.2.1' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no SSH host key of metal/a is pinned'),
    });
  });

  test.each(['AA==', '/////w==', 'not base64'])(
    'refuses the garbled host key %s',
    async (hostKey) => {
      expect(await ssh({ address: '192.0.2.1', hostKey })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('the pinned SSH host key of metal/a is damaged'),
      });
    },
  );
});
