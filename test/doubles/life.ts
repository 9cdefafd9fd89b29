import { Duplex } from 'node:stream';
import type { Clock } from '../../src/adapters/clock/port.ts';
import type { Network } from '../../src/adapters/network/port.ts';
import type { Records } from '../../src/adapters/provider/port.ts';

/** When a daemon dies, and its progress. */
export interface DaemonLife {
  /** Number of the change at which it dies, from 1; 0: never. */
  killAt: number;
  when: 'before' | 'after';
  /** Changes so far: writes, and requests to others. */
  count: number;
  isDead: boolean;
  readonly atDeath: (() => void)[];
}
export const immortal = (): DaemonLife => ({
  ...{ killAt: 0, when: 'before', count: 0, isDead: false },
  atDeath: [],
});
export const dyingAt = (killAt: number, when: DaemonLife['when']): DaemonLife => ({
  ...immortal(),
  killAt,
  when,
});

/** The answer to a dead daemon's call: it never arrives. */
export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** Counts a change, at which the daemon may die. @returns false: the change does not happen. */
export function begins(life: DaemonLife): boolean {
  if (life.isDead) return false;
  life.count += 1;
  life.isDead = life.count === life.killAt;
  if (life.isDead) life.atDeath.forEach((end) => end());
  return !life.isDead || life.when === 'after';
}

interface Surroundings {
  readonly clock: Clock;
  readonly network: Network;
  readonly records: Records;
}

/** Clock, network and records of a daemon that may die. A dead daemon changes nothing and gets no answer. */
export function mortal(life: DaemonLife, { clock, network, records }: Surroundings): Surroundings {
  async function write<T>(change: () => Promise<T>): Promise<T> {
    if (!begins(life)) return never();
    const written = await change();
    return life.isDead ? never() : written;
  }
  return {
    clock: mortalClock(life, clock),
    network: mortalNetwork(life, network),
    records: {
      all: (options) => (life.isDead ? never() : records.all(options)),
      make: (...args) => write(() => records.make(...args)),
      replace: (...args) => write(() => records.replace(...args)),
      drop: (...args) => write(() => records.drop(...args)),
    },
  };
}

export const mortalClock = (life: DaemonLife, clock: Clock): Clock => ({
  ...clock,
  setTimeout: (fn, ms) => clock.setTimeout(() => void (life.isDead || fn()), ms),
});

/** Reads are not counted: a death at a read equals a death before the next change. */
const READING = /^(GET|HEAD) /;

function mortalNetwork(life: DaemonLife, network: Network): Network {
  return {
    listen(server, at) {
      const listening = network.listen(server, at);
      life.atDeath.push(() => void listening.close());
      return listening;
    },
    connect(to) {
      const far = network.connect(to);
      let isSent: boolean | null = null;
      const near = new Duplex({
        read: () => undefined,
        write(chunk: Buffer, _encoding, done) {
          isSent ??= READING.test(chunk.toString('latin1')) ? !life.isDead : begins(life);
          if (isSent) far.write(chunk);
          done();
        },
        destroy(error, done) {
          far.destroy();
          done(error);
        },
      });
      far.on('connect', () => near.emit('connect'));
      far.on('data', (chunk: Buffer) => void (life.isDead || near.push(chunk)));
      far.on('end', () => void (life.isDead || near.push(null)));
      far.on('error', (error) => void (life.isDead || near.destroy(error)));
      return near;
    },
  };
}
