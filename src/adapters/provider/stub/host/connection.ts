import type { Socket } from 'node:net';
import type { ServerChannel } from 'ssh2';
import { isAuthorized, readKey } from '../../../../../emulators/hosts/keys.ts';
import type { Visit } from '../../../../../emulators/hosts/ssh-server.ts';
import { type Clock, sleep } from '../../../clock/port.ts';
import type { Log } from '../../../log/port.ts';
import type { Faults, Occasion } from '../faults.ts';
import { deviceOccasion } from '../views.ts';
import { runCommand } from './commands.ts';
import type { Outcome } from './runner.ts';
import type { StubHost } from './ssh-machines.ts';

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Faults;
}

/** How a machine meets who connects, with whatever is wrong with it. Ends with the socket. */
export function visitOf(socket: Socket, host: StubHost, deps: ConnectionDeps): Visit | null {
  const { clock, log, faults } = deps;
  const { device } = host;
  const { hostKey, authorizedKeys } = host.machine.system();
  host.connections += 1;
  const occasion: Occasion = {
    operation: 'ssh',
    call: host.connections,
    device: device.id,
    reservation: device.reservationId,
  };
  const closed = new AbortController();
  socket.on('close', () => closed.abort());
  if (faults.strike(occasion, 'accept-then-hang')) return null;
  const refuses = faults.strike(occasion, 'auth-refused') !== null;
  const changed = faults.sticks('host-key-changed', deviceOccasion(device));
  return {
    hostKey: changed && clock.now() >= host.bootedAtMs + changed.amount ? host.otherKey : hostKey,
    authenticate(attempt) {
      const isOurs =
        attempt.username === 'root' && isAuthorized(attempt, authorizedKeys.map(readKey));
      if (isOurs && !refuses) attempt.accept();
      else attempt.reject(['publickey']);
    },
    exec: (line, channel) => void exec(line, channel),
  };

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
