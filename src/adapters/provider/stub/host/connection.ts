import type { Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { AuthContext, Connection, ServerChannel } from 'ssh2';
import { type Clock, sleep } from '../../../clock/port.ts';
import type { Log } from '../../../log/port.ts';
import type { Faults, Occasion } from '../faults.ts';
import { deviceOccasion } from '../views.ts';
import { runCommand } from './commands.ts';
import { type Host, parsed } from './host.ts';
import type { Outcome } from './outcome.ts';

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Faults;
}

/** Speaks SSH as the machine does, with whatever is wrong with it. Ends with the socket. */
export function serveConnection(socket: Socket, host: Host, deps: ConnectionDeps): void {
  const { clock, log, faults } = deps;
  const { device } = host;
  host.connections += 1;
  const occasion: Occasion = {
    operation: 'ssh',
    call: host.connections,
    device: device.id,
    reservation: device.reservationId,
  };
  const closed = new AbortController();
  socket.on('close', () => closed.abort());
  socket.on('error', (err) => log.debug({ err, device: device.id }, 'a connection broke'));
  if (faults.strike(occasion, 'accept-then-hang')) return;
  const server = new ssh2.Server({ hostKeys: [shownKey()] }, serve);
  server.injectSocket(socket);
  socket.resume();

  function shownKey(): string {
    const changed = faults.sticks('host-key-changed', deviceOccasion(device));
    const isDue = changed && clock.now() >= host.bootedAtMs + changed.amount;
    return isDue ? host.otherKey : host.hostKey;
  }

  function serve(connection: Connection): void {
    const refuses = faults.strike(occasion, 'auth-refused') !== null;
    connection.on('error', (err) => log.debug({ err, device: device.id }, 'SSH broke'));
    connection.on('authentication', (attempt) => {
      if (!refuses && mayEnter(attempt, device.installation.publicKey)) attempt.accept();
      else attempt.reject(['publickey']);
    });
    connection.on('session', (accept) => {
      accept().on('exec', (acceptExec, _reject, { command }) => void exec(command, acceptExec()));
    });
  }

  async function exec(line: string, channel: ServerChannel): Promise<void> {
    channel.on('error', (err: Error) => log.debug({ err, line }, 'a channel broke'));
    try {
      const { signal } = closed;
      const outcome = await runCommand(line, host, { clock, faults, signal });
      await answer(channel, outcome);
    } catch (err) {
      if (closed.signal.aborted) return;
      log.error({ err, line }, 'a command of the stub failed');
      socket.destroy();
    }
  }

  async function answer(channel: ServerChannel, outcome: Outcome): Promise<void> {
    const flood = faults.strike(occasion, 'output-flood');
    if (flood) await writeFlood(channel, flood.amount);
    if (faults.strike(occasion, 'drop-mid-command')) {
      const { stdout } = outcome;
      channel.write(stdout.slice(0, stdout.length / 2), () => socket.destroy());
      return;
    }
    const slow = faults.strike(occasion, 'slow-bytes');
    if (slow) await writeSlowly(channel, outcome.stdout, slow.amount);
    else channel.write(outcome.stdout);
    channel.stderr.write(outcome.stderr);
    channel.exit(outcome.exitCode);
    channel.end();
  }

  async function writeSlowly(channel: ServerChannel, text: string, gapMs: number) {
    for (const byte of Buffer.from(text)) {
      await sleep(clock, gapMs, closed.signal);
      channel.write(Buffer.of(byte));
    }
  }

  async function writeFlood(channel: ServerChannel, bytes: number) {
    const chunk = Buffer.alloc(32_768, 'x');
    for (let left = bytes; left > 0 && !closed.signal.aborted; left -= chunk.length) {
      await new Promise<void>((resolve) => {
        closed.signal.addEventListener('abort', () => resolve(), { once: true });
        channel.write(chunk.subarray(0, left), () => resolve());
      });
    }
  }
}

/** A client first asks whether a key would do, then comes back with a signature. */
function mayEnter(attempt: AuthContext, publicKey: string): boolean {
  if (attempt.username !== 'root' || attempt.method !== 'publickey' || publicKey === '')
    return false;
  const key = parsed(publicKey);
  if (!key.getPublicSSH().equals(attempt.key.data)) return false;
  const { blob, signature, hashAlgo } = attempt;
  return !signature || !blob || key.verify(blob, signature, hashAlgo) === true;
}
