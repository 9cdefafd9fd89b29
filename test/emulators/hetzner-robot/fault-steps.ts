import { expect } from 'vitest';
import { newKey, type Robot, SERVER, type TestSshKey } from './harness.ts';

export const rename = ({ post }: Robot, name = 'shep-a') =>
  post(`/server/${SERVER}`, { server_name: name });
export const nameOf = async ({ get }: Robot): Promise<unknown> => {
  const body = (await get(`/server/${SERVER}`)) as { server: { server_name: unknown } };
  return body.server.server_name;
};
export const reset = ({ post }: Robot, type = 'hw') => post(`/reset/${SERVER}`, { type });

const AUTOSETUP = [
  'DRIVE1 /dev/nvme0n1',
  'DRIVE2 /dev/nvme1n1',
  'SWRAID 1',
  'HOSTNAME shep-1',
  'PART / ext4 all',
  'IMAGE Debian-1210-bookworm-amd64-base.tar.gz',
].join('\n');

/** Starts an installation whose log is read later. `status` holds whether it finished. */
export async function install(robot: Robot, key: TestSshKey, setup = AUTOSETUP): Promise<void> {
  const begun = await robot.shell(
    key,
    'sh -s',
    `cat > /autosetup <<'END'
${setup}
END
printf '#!/bin/sh\\necho MARKER\\n' > /root/post.sh
nohup sh -c 'installimage -a -c /autosetup -x /root/post.sh; echo $? > /root/status' > /root/log 2>&1 &
`,
  );
  expect(begun).toMatchObject({ code: 0, stderr: '' });
}
export const INSTALL_MS = 120_000;
export const logOf = async (robot: Robot, key: TestSshKey): Promise<string> =>
  (await robot.shell(key, 'cat /root/log /root/status 2>/dev/null')).stdout;

/** Activates the rescue system with a key of its own. Returns the key. */
export async function arm(robot: Robot): Promise<TestSshKey> {
  const key = newKey();
  const fingerprint = await robot.addKey(key);
  const form = { os: 'linux', 'authorized_key[]': fingerprint };
  expect((await robot.post(`/boot/${SERVER}/rescue`, form)).status).toBe(200);
  return key;
}
