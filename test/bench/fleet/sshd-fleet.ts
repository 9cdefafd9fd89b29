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
  /** Line of the key that they let in. */
  readonly authorizedKey: string;
  /** Where the daemon puts agents. */
  readonly targetPath: string;
}

/** Lets all of them be logged in to at once, and says little. */
const SETTINGS = ['MaxStartups 1000', 'LogLevel INFO'];

/**
 * Servers of OpenSSH, each of several machines: a port is a machine.
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
    /** A provider of as many of these machines, in order, which knows their host keys. */
    provider(count: number) {
      let raised = 0;
      return benchProvider(count, {
        onUp: () => machines[raised++]!.address,
        hostKeyAt: (address) => machines.find((each) => each.address === address)?.hostKey,
      });
    },
    /** The way to them: where an agent goes to `targetPath`, each has a directory of its own for it. */
    through: (opened: OpenedShell): OpenedShell => ({
      ...opened,
      shell: eachAtHome(opened.shell, targetPath, homes),
    }),
    /** Makes all machines new: nothing is on them. */
    async wipe() {
      for (const { home } of machines) {
        await rm(home, { recursive: true, force: true });
        await mkdir(home);
      }
    },
    /** Of the servers and all that they ran, since they were started. Waits until nobody is logged in. */
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

/** One path of the daemon is another file on each machine; and nobody has to be root. */
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

/** Of proc(5): their numbers with spaces between. */
const childrenOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

/** Kernels count processors' time in hundredths of a second for whoever reads it here. */
const TICK_MS = 10;

/** Of the process and its children that ended, milliseconds (proc(5), `stat`, 14 to 17). */
function cpuMsOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) /);
  const ticks = fields.split(' ').slice(11, 15).map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}
