import type { AuthContext, ParsedKey } from 'ssh2';
import type { EmulatorLog } from '../../kit/log.ts';
import type { Activity } from '../../kit/activity.ts';
import type { Play } from '../../hosts/commands.ts';
import { runOnChannel } from '../../hosts/exec-channel.ts';
import { isAuthorized, readKey } from '../../hosts/keys.ts';
import type { Visit } from '../../hosts/ssh-server.ts';
import { AUTHORIZED_KEYS_PATH, BOOT_ID_PATH, type Tree } from './disk.ts';
import { createShell, type Program, said, type Shell, type ShellHost } from './shell.ts';

/** A live kernel and its processes. */
export interface BootedSystem {
  readonly kind: 'rescue' | 'disk';
  readonly tree: Tree;
  bootId: string;
  readonly shell: Shell;
  /** Shells in other trees, as with `chroot`. */
  shellIn(tree: Tree): Shell;
  background(work: Promise<unknown>): void;
  /** Aborts at the end of the system. */
  readonly ended: AbortSignal;
  /** Ends everything on it. */
  end(): void;
}

export interface SystemDeps {
  readonly log: EmulatorLog;
  readonly activity: Activity;
  /** Rejects when the signal aborts. `ms` are the machine's milliseconds. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Whether no command ends any more. */
  hangs(): boolean;
}

type Programs = (sleep: ShellHost['sleep']) => Readonly<Record<string, Program>>;

/** Boots a tree of files. */
export function startSystem(
  { kind, tree, bootId }: Pick<BootedSystem, 'kind' | 'tree' | 'bootId'>,
  programs: Programs,
  { log, activity, sleep }: SystemDeps,
): BootedSystem {
  const ending = new AbortController();
  const { signal } = ending;
  const background = (work: Promise<unknown>) =>
    activity.run(async () => {
      await work.catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, 'a job failed');
      });
    });
  const ownSleep = (ms: number) => sleep(ms, signal);
  const shellIn = ({ files, hostname }: Tree, more: Readonly<Record<string, Program>> = {}) =>
    createShell({
      ...{ files, signal, sleep: ownSleep, background },
      programs: { hostname: () => said(`${hostname}\n`), ...more },
    });
  tree.files.writeFileSync(BOOT_ID_PATH, `${bootId}\n`);
  const shell = shellIn(tree, programs(ownSleep));
  const end = () => ending.abort(new Error('the machine ended'));
  return { kind, tree, bootId, shell, shellIn, background, ended: signal, end };
}

/** How one connection to the system is served: root, by key only. */
export const visitOf = (system: BootedSystem, deps: SystemDeps): Visit => ({
  hostKey: system.tree.hostKey,
  authenticate(attempt: AuthContext) {
    const decide = async () => {
      const keys = await keysOf(system.tree, deps.log);
      if (attempt.username === 'root' && isAuthorized(attempt, keys)) attempt.accept();
      else attempt.reject(['publickey']);
    };
    system.background(decide());
  },
  exec: (line, channel) =>
    runOnChannel(line, channel, async () => playLine(line, system, deps), deps.log),
});

export async function keysOf({ files }: Tree, log: EmulatorLog): Promise<ParsedKey[]> {
  if (!(await files.exists(AUTHORIZED_KEYS_PATH))) return [];
  return (await files.readFile(AUTHORIZED_KEYS_PATH))
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      try {
        return [readKey(line)];
      } catch (err) {
        log.warn({ err }, 'a line of authorized_keys cannot be read');
        return [];
      }
    });
}

/** A command line, from start to end. */
export const playLine =
  (line: string, { shell, background }: BootedSystem, { hangs }: SystemDeps): Play =>
  (stdin) =>
    new Promise((resolve) => {
      // An ended machine says nothing: its connections are cut.
      if (!hangs()) background(shell(line, stdin.toString()).then(resolve));
    });
