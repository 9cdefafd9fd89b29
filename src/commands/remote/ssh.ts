import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyTypeOf, signaturesOf } from '../../adapters/ssh/algorithms.ts';
import { parseAddress } from '../../adapters/ssh/port.ts';
import { explain, Malformed, NotFound, RemoteFailure } from '../../domain/errors.ts';
import type { Machine } from './answers.ts';
import { named, pathOf } from './names.ts';
import type { Session, CommandOutput } from './session.ts';

export interface SshFlags {
  readonly user?: string;
  readonly port?: number;
  readonly identity?: string;
}

/**
 * `shepherd ssh`: runs the operator's own OpenSSH client. The client may accept only the host key that
 * Shepherd pinned. Ends with the exit status of ssh.
 * @throws {NotFound} the machine has no address or no pinned host key. @throws {Malformed} the key is damaged.
 */
export async function openSsh(
  { client, say }: Session,
  flags: SshFlags,
  name: string,
  command: readonly string[],
): Promise<CommandOutput> {
  const { slot } = await named(client, name, false);
  const machine = await client.get<Machine>(pathOf(slot));
  const directory = await mkdtemp(join(tmpdir(), 'shepherd-ssh-'));
  try {
    const knownHosts = join(directory, 'known_hosts');
    const { args, line } = sshArguments(machine, flags, knownHosts);
    await writeFile(knownHosts, line, { mode: 0o600 });
    const exitCode = await runSsh([...args, ...command]);
    if (exitCode === MAYBE_NO_LOGIN) {
      say(
        `exit status 255: ssh did not log in, or the command itself ended with 255; ` +
          `"shepherd machine show ${slot}" shows the address and the pinned host key`,
      );
    }
    return { text: '', exitCode };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const DEFAULT_PORT = 22;
/** Exit status of ssh without a connection or login. A remote command may end with the same status. */
const MAYBE_NO_LOGIN = 255;

/** Arguments of ssh up to the command, and the line of its file of known hosts. */
export function sshArguments(
  { slot, address, hostKey, remoteUser }: Machine,
  { user = remoteUser ?? undefined, port, identity }: SshFlags,
  knownHosts: string,
): { readonly args: readonly string[]; readonly line: string } {
  if (address === null) {
    throw new NotFound(`${slot} has no address yet; "shepherd machine explain ${slot}" says why`);
  }
  if (hostKey === null) {
    throw new NotFound(
      `no SSH host key of ${slot} is pinned yet; a daemon pins it when it starts the agent`,
    );
  }
  const target = parseAddress(address, DEFAULT_PORT);
  const algorithms = signaturesOf(hostKey);
  if (algorithms.length === 0) {
    throw new Malformed(
      `the pinned SSH host key of ${slot} is damaged or of an unknown type; ` +
        `"shepherd machine release ${slot} --forget-host-key" forgets it`,
    );
  }
  // The name under which ssh looks for the key, whatever the configuration of the operator says.
  const alias = slot.replaceAll(/[^\w./-]/g, '_');
  const settings = {
    StrictHostKeyChecking: 'yes',
    HostKeyAlias: alias,
    UserKnownHostsFile: knownHosts,
    GlobalKnownHostsFile: '/dev/null',
    KnownHostsCommand: 'none',
    VerifyHostKeyDNS: 'no',
    UpdateHostKeys: 'no',
    HostKeyAlgorithms: algorithms.join(','),
    // A connection that exists already would be used without a look at the host key.
    ControlPath: 'none',
  };
  const args = [
    ...Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]),
    ...['-p', String(port ?? target.port)],
    ...(identity === undefined ? [] : ['-i', identity]),
    ...(user === undefined ? [] : ['-l', user]),
    // What follows is never an option.
    ...['--', target.host],
  ];
  return { args, line: `${alias} ${keyTypeOf(hostKey)} ${hostKey}\n` };
}

/** Ctrl-C is for ssh and the machine: this process only waits. */
async function runSsh(args: readonly string[]): Promise<number> {
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  try {
    const child = spawn('ssh', args, { stdio: 'inherit' });
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (cause) {
    throw new RemoteFailure(`ssh does not start: ${explain(cause)}; install an OpenSSH client`, {
      cause,
    });
  } finally {
    process.off('SIGINT', ignore);
  }
}
