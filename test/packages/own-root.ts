import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { root } from '../repo/sources.ts';

const run = promisify(execFile);
const LIMIT_MS = 900_000;
/** How programs reach registries of packages. */
const NETWORK =
  /^(npm_config_(registry|userconfig|globalconfig)|NODE_EXTRA_CA_CERTS|https?_proxy)$/i;

/** Whether this process may mount file systems of its own. Only root may; for others, the run says what is left out. */
export function mayMount(): boolean {
  if (spawnSync('unshare', ['--mount', 'true']).status === 0) return true;
  process.stderr.write('NOT TESTED: only root can install packages in a chroot\n');
  return false;
}

/** A file system for a chroot. All that is written there is gone after the test, even if the test is killed. */
export interface OwnRoot {
  /** Runs a script of bash there, as root. @returns all that it wrote. @throws unless it ends with status 0. */
  run(script: string): Promise<string>;
  /** Paths of files and new directories that were made, changed or removed there, sorted. */
  changes(): Promise<readonly string[]>;
}

/** In a mount namespace that lives as long as its last process, which waits for the end of its input. */
const MOUNTS = `
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
for each in dev proc; do mount --rbind /$each /mnt/root/$each; done
for each in run tmp; do mount -t tmpfs tmpfs /mnt/root/$each; done
if [ -d "/mnt/root$CHECKOUT" ]; then mount -t tmpfs tmpfs "/mnt/root$CHECKOUT"; fi
mkdir /mnt/root/tmp/shared
mount --bind "$SHARED" /mnt/root/tmp/shared
rm -f /mnt/root/usr/bin/node /mnt/root/usr/local/bin/node
echo ready
exec cat
`;

/**
 * Lays a file system in memory over the one of this machine: its Debian, without Node and without the checkout.
 * @param shared a directory of this machine that is `/tmp/shared` there.
 */
export async function openOwnRoot(shared: string): Promise<OwnRoot> {
  const env = { ...process.env, CHECKOUT: root, SHARED: shared };
  const holder = spawn('unshare', ['--mount', 'sh', '-euc', MOUNTS], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  onTestFinished(async () => {
    holder.stdin.end();
    await ended;
  });
  const isReady = await Promise.race([once(holder.stdout, 'data'), ended.then(() => null)]);
  if (isReady === null) throw new Error('the file system for the chroot could not be mounted');
  const inside = async (...command: readonly string[]) => {
    const args = [`--mount=/proc/${holder.pid}/ns/mnt`, ...command];
    const { stdout } = await run('nsenter', args, { timeout: LIMIT_MS, maxBuffer: 2 ** 26 });
    return stdout;
  };
  const passed = Object.entries(process.env).filter(([name]) => NETWORK.test(name));
  const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const clean = [
    'env',
    '-i',
    ...passed.map((each) => each.join('=')),
    PATH,
    'LC_ALL=C.UTF-8',
    'HOME=/tmp',
    'DEBIAN_FRONTEND=noninteractive',
  ];
  return {
    async run(script) {
      const bash = ['bash', '--norc', '-euc', `exec 2>&1 </dev/null\n${script}`];
      return inside('chroot', '/mnt/root', ...clean, ...bash).catch((error: { stdout: string }) => {
        throw new Error(`${script}\n${error.stdout}`, { cause: error });
      });
    },
    async changes() {
      const listed = await inside('find', '/mnt/upper', '-printf', '%y/%P\\n');
      const lines = listed.trim().split('\n');
      // Each directory on the way to a change is there, too.
      const isOfMachine = (line: string) => line.startsWith('d') && existsSync(line.slice(1));
      return lines
        .filter((line) => !isOfMachine(line))
        .map((line) => line.slice(1))
        .toSorted();
    },
  };
}
