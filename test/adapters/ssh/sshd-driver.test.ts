import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createFleetDriverShell } from '../../../src/adapters/ssh/driver-shell.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { fingerprintOf } from '../../../src/adapters/ssh/port.ts';
import { rawKey } from './keys.ts';
import { createSshdStand, key } from './sshd-stand.ts';

/** Drivers' operations over SSH, with OpenSSH's real server. */
let stand: ReturnType<typeof createSshdStand>;
beforeEach(() => void (stand = createSshdStand()));
afterEach(() => stand.close());

const call = { signal: new AbortController().signal };

async function rescueSystem() {
  const raw = rawKey();
  const own = parseSshKey(raw, 'own');
  const keyFile = join(await stand.directory(), 'rescue-key');
  await writeFile(keyFile, raw, { mode: 0o600 });
  const sshd = await stand.sshd({ authorizedKeys: [own.publicLine] });
  const shell = createFleetDriverShell({
    signers: () => [key],
    sudo: 'never',
    limits: { connectMs: 30_000, handshakeMs: 60_000 },
    clock: systemClock,
    log: stand.log,
  });
  const hostKey = { told: [fingerprintOf(sshd.hostKey)] };
  return { sshd, shell, keyFile, target: { ...sshd.target, hostKey } };
}

test("logs in with a key of the driver where the fleet's keys are refused", async () => {
  const { shell, keyFile, target, sshd } = await rescueSystem();
  await expect(shell.connect(target, call)).rejects.toMatchObject({ kind: 'auth' });
  const session = await shell.connect({ ...target, keyFile }, call);
  expect(session.hostKey).toBe(sshd.hostKey);
  session.close();
  const missing = shell.connect({ ...target, keyFile: `${keyFile}.gone` }, call);
  await expect(missing).rejects.toMatchObject({ kind: 'invalid' });
});

test('passes commands an environment hidden from process lists, input and a status', async () => {
  const { shell, keyFile, target } = await rescueSystem();
  const session = await shell.connect({ ...target, keyFile }, call);
  const secret = 'hu\'sh $HOME\n"quoted" `x`';
  const script = 'cat; printf "%s" "$SECRET"; tr "\\0" " " </proc/$$/cmdline >&2; exit 4';
  const command = { argv: ['sh', '-c', script], env: { SECRET: secret }, stdin: 'the input, ' };
  const result = await session.execute(command, call);
  expect(result).toMatchObject({ exitCode: 4, stdout: `the input, ${secret}` });
  expect(result.stderr).not.toContain('hu');
  session.close();
});
