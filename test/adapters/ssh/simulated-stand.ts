import { chmod, mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { createSimulatedHosts } from '../../../emulators/hosts/simulated-hosts.ts';
import { rawKey } from './keys.ts';
import { LIMIT_MS, type ShellStand } from '../../contracts/shell.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';

const scripts = {
  'prints-arguments': '#!/bin/sh\nfor arg; do printf "%s\\n" "$arg"; done\n',
  fails: '#!/bin/sh\necho broken >&2\nexit 3\n',
  hangs: '#!/bin/sh\nexec sleep 1000\n',
  floods: '#!/bin/sh\nexec yes\n',
};

/** Real SSH over loopback to simulated machines. */
export async function startSimulatedStand(): Promise<ShellStand> {
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-shell-'));
  const hosts = createSimulatedHosts({
    dir,
    log: silentLog,
    random: systemRandom,
    throwaway: true,
  });
  const key = parseSshKey(rawKey(), 'key');
  const raise = async (id: string, authorizedKeys: readonly string[]) => {
    const { address: host, sshPort: port } = await hosts.assign({
      id,
      hostname: id,
      authorizedKeys,
    });
    await hosts.up(id);
    return { host, port, username: 'root' };
  };
  const open = await raise('open', [key.publicLine]);
  const other = await raise('other', [key.publicLine]);
  const strict = await raise('strict', []);
  const silent = await raise('silent', [key.publicLine]);
  await hosts.hang('silent', true);
  const absent = await raise('absent', [key.publicLine]);
  await hosts.down('absent');
  const snapshot = () => hosts.list().find(({ deviceId }) => deviceId === 'open')!;
  const { root, hostKey: openHostKey } = snapshot();
  for (const [name, text] of Object.entries(scripts)) {
    const path = join(root, 'opt', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    await chmod(path, 0o755);
  }
  const clock = createSimulatedClock();
  return {
    clock,
    shell: createSsh2Shell({
      signers: [key],
      limits: { handshakeMs: LIMIT_MS, executeMs: LIMIT_MS },
      clock,
      log: silentLog,
    }),
    open,
    openHostKey,
    other,
    strict,
    silent,
    absent,
    programs: {
      printsArguments: ['/opt/prints-arguments'],
      fails: ['/opt/fails'],
      hangs: ['/opt/hangs'],
      floods: ['/opt/floods'],
    },
    async readBack(path) {
      const outside = join(root, path);
      const found = await stat(outside).catch(() => undefined);
      return found && { content: await readFile(outside), mode: found.mode & 0o777 };
    },
    async reboot() {
      await hosts.down('open');
      await hosts.up('open');
    },
    close: () => hosts.close(),
  };
}
