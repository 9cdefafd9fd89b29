import { readFileSync, rmSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenedShell } from '../../../src/daemon/ports.ts';
import type { RemoteShell, ShellSession } from '../../../src/adapters/ssh/port.ts';
import { startSshd, type Sshd } from '../../adapters/ssh/sshd.ts';
import { benchProvider } from './provider.ts';

interface SshdFleetOptions {
  readonly servers: number;
  readonly portsEach: number;
  /** Line of the accepted key. */
  readonly authorizedKey: string;
  /** The daemon's path for agents. */
  readonly targetPath: string;
}

/** Allows simultaneous logins to all, and logs little. */
const SETTINGS = ['MaxStartups 1000', 'LogLevel INFO'];

/**
 * OpenSSH servers for several machines each: one port is one machine.
 * @throws {Error} OpenSSH's server is missing, or does not start.
 */
export async function startSshdFleet(options: SshdFleetOptions) {
  const { servers, portsEach, authorizedKey, targetPath } = options;
  const sshds: Sshd[] = [];
  const abandon = () => {
    for (const { pid, home } of sshds) {
      process.kill(pid);
      rmSync(path.dirname(home), { recursive: true, force: true });
    }
  };
  process.once('exit', abandon);
  const stop = async () => {
    await Promise.all(sshds.map((sshd) => sshd.stop()));
    process.off('exit', abandon);
  };
  try {
    for (let at = 0; at < servers; at += 1) {
      const given = { authorizedKeys: [authorizedKey], ports: portsEach, settings: SETTINGS };
      sshds.push(await startSshd(given));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const machines = sshds.flatMap((sshd) =>
    sshd.ports.map((port) => ({
      address: `127.0.0.1:${port}`,
      hostKey: sshd.hostKey,
      home: path.join(sshd.home, String(port)),
    })),
  );
  const homes = new Map(machines.map(({ address, home }) => [address, home]));
  return {
    /** A provider of this many of these machines, in order, which knows their host keys. */
    provider(count: number) {
      let raised = 0;
      return benchProvider(count, {
        onUp: () => machines[raised++]!.address,
        hostKeyAt: (address) => machines.find((each) => each.address === address)?.hostKey,
      });
    },
    /** Connections to them. On each machine, `targetPath` leads to a directory of its own. */
    through: (opened: OpenedShell): OpenedShell => ({
      ...opened,
      shell: eachAtHome(opened.shell, targetPath, homes),
    }),
    /** Empties all machines. */
    async wipe() {
      for (const { home } of machines) {
        await rm(home, { recursive: true, force: true });
        await mkdir(home);
      }
    },
    /**
     * CPU time of the servers and their children since the start. Waits until nobody is logged in.
     */
    async cpuMs() {
      let sum = 0;
      for (const { pid } of sshds) {
        while (childrenOf(pid) !== '') await pause(POLL_MS);
        sum += cpuMsOf(pid);
      }
      return sum;
    },
    stop,
  };
}

/** Maps the daemon's path to a file per machine, and needs no root. */
function eachAtHome(
  shell: RemoteShell,
  targetPath: string,
  homes: ReadonlyMap<string, string>,
): RemoteShell {
  return {
    async connect(target, signal): Promise<ShellSession> {
      const own = path.join(homes.get(`${target.host}:${target.port}`)!, 'agent');
      const session = await shell.connect({ ...target, username: userInfo().username }, signal);
      return {
        ...session,
        upload: (_path, file, live) => session.upload(own, file, live),
        execute: (argv, stdin, live) =>
          session.execute(
            argv.map((each) => (each === targetPath ? own : each)),
            stdin,
            live,
          ),
      };
    },
  };
}

const POLL_MS = 20;

/** As in proc(5): process ids, separated by spaces. */
const childrenOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

/** The kernel reports CPU time in hundredths of a second here. */
const TICK_MS = 10;

/** CPU time of the process and its ended children, milliseconds (proc(5), `stat`, 14 to 17). */
function cpuMsOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) /);
  const ticks = fields.split(' ').slice(11, 15).map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}
