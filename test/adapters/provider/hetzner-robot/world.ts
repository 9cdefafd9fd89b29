import { createHash } from 'node:crypto';
import type { RobotClient } from '../../../../src/adapters/provider/hetzner-robot/client.ts';
import { md5Of } from '../../../../src/adapters/provider/hetzner-robot/systems.ts';
import type { DriverShell, Records } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { createMemoryRecords } from '../../../../src/adapters/driver-kit/stand-ins.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { immortal, type Life, never } from '../../../doubles/life.ts';
import type { Machine, Running } from './machine.ts';
import { createSeededRandom, type VirtualClock } from '../../../doubles/simulated-clock.ts';

const RESCUE_MS = 180_000;
const INSTALL_MS = 120_000;
const DISK_MS = 90_000;

/** What a test may put in the way of a request: it answers instead, or throws. */
export type Strike = (what: string) => unknown;

/** An account in memory, and the machines behind it, on a virtual clock. */
export interface World {
  readonly machines: Map<number, Machine>;
  /** Everything that was asked, in order. */
  readonly asked: string[];
  /** How often a look was run on a machine. */
  looks: number;
  strike: Strike | null;
  /** Throws after the effect, so that the answer is lost. */
  lose: ((what: string) => boolean) | null;
  readonly records: Records;
  readonly keys: Map<string, string>;
  client(life?: Life): RobotClient;
  shell(life?: Life): DriverShell;
  recordsOf(life?: Life): Records;
  machine(number: number): Machine;
  count(pattern: RegExp): number;
}

const hostKeyOf = (seed: string): string =>
  Buffer.from(
    `\0\0\0\x0bssh-ed25519${createHash('sha256').update(seed).digest('binary')}`,
    'latin1',
  ).toString('base64');

export function createWorld(clock: VirtualClock, numbers: readonly number[] = [321]): World {
  const random = createSeededRandom(3);
  const records = createMemoryRecords(random)(providerName('robot'));
  const machines = new Map(numbers.map((number) => [number, createMachine(number)]));
  const asked: string[] = [];
  const keys = new Map<string, string>();

  function createMachine(number: number): Machine {
    return {
      server: {
        number,
        name: `free-${number}`,
        ipv4: `192.0.2.${number % 250}`,
        ipv6Net: null,
        product: 'EX44',
        location: 'FSN1-DC14',
        isReady: true,
        isCancelled: false,
        paidUntil: '2027-01-31',
        canReset: true,
        canRescue: true,
      },
      types: ['sw', 'hw', 'man'],
      operatingStatus: 'not supported',
      armed: null,
      ordered: [],
      disk: {
        hostname: 'old',
        hostKey: hostKeyOf(`old ${number}`),
        installed: null,
        secret: null,
        isClosed: true,
      },
      running: null,
      tells: 'right',
      boots: 'as armed',
      installer: 'works',
      wipes: true,
      resets: [],
      renames: [],
      installs: 0,
      wiped: 0,
    };
  }

  const machine = (number: number): Machine => {
    const found = machines.get(number);
    if (found) return found;
    throw new ProviderError('not-found', `there is no server ${number}`);
  };

  /** Boots of a machine overtake each other: the last one counts. */
  const boots = new Map<number, unknown>();
  function boot(number: number): void {
    const one = machine(number);
    clock.clearTimeout(boots.get(number));
    one.running = null;
    if (one.boots === 'nothing') return;
    const { armed } = one;
    const goesToRescue = armed !== null && one.boots === 'as armed';
    if (goesToRescue) one.armed = null;
    const start = () => {
      const bootId = random.uuid();
      if (goesToRescue) {
        one.running = { kind: 'rescue', bootId, hostKey: armed.hostKey, guards: new Map() };
      } else if (one.disk) {
        one.running = { kind: 'disk', bootId, hostKey: one.disk.hostKey, guards: new Map() };
      }
    };
    boots.set(number, clock.setTimeout(start, goesToRescue ? RESCUE_MS : DISK_MS));
  }

  async function op<T>(life: Life, what: string, effect: () => T): Promise<T> {
    if (life.isDead) return never();
    life.count += 1;
    const dies = life.count === life.killAt;
    if (dies) life.isDead = true;
    if (dies && life.when === 'before') return never();
    await Promise.resolve();
    asked.push(what);
    const struck = world.strike?.(what);
    // A strike may end the daemon, too: then nothing is sent.
    if (life.isDead && !dies) return never();
    if (struck !== undefined && struck !== null) return struck as T;
    const answer = effect();
    if (dies) return never();
    if (world.lose?.(what)) {
      throw new ProviderError('transient', `${what}: the answer was lost`, { outcome: 'unknown' });
    }
    return answer;
  }

  const rescueOf = ({ armed, tells }: Machine) => ({
    isArmed: armed !== null,
    systems: ['linux'],
    keys: armed?.keys ?? [],
    hostKeys:
      armed === null || tells === 'nothing'
        ? []
        : [md5Of(tells === 'right' ? armed.hostKey : hostKeyOf('wrong'))],
  });

  function client(life: Life = immortal()): RobotClient {
    const ask = <T>(what: string, effect: () => T) => op(life, what, effect);
    return {
      listServers: () =>
        ask('GET /server', () => ({
          servers: [...machines.values()].map(({ server }) => server),
          unreadable: [],
          nameless: 0,
        })),
      getServer: (number) => ask(`GET /server/${number}`, () => machine(number).server),
      rename: (number, name) =>
        ask(`POST /server/${number} ${name}`, () => {
          const one = machine(number);
          one.renames.push(name);
          return (one.server = { ...one.server, name });
        }),
      resetOptions: (number) =>
        ask(`GET /reset/${number}`, () => ({
          types: machine(number).types,
          operatingStatus: machine(number).operatingStatus,
        })),
      reset: (number, type) =>
        ask(`POST /reset/${number} ${type}`, () => {
          const one = machine(number);
          one.resets.push(type);
          if (type === 'power_long') {
            one.running = null;
            one.operatingStatus = 'off';
          } else if (type === 'power') one.operatingStatus = 'running';
          // A dead kernel heeds no Ctrl+Alt+Del; what is on its way up does.
          if (type !== 'power_long') boot(number);
        }),
      bootState: (number) =>
        ask(`GET /boot/${number}`, () => ({
          isRescueArmed: machine(number).armed !== null,
          others: machine(number).ordered,
        })),
      disarmLinux: (number) =>
        ask(`DELETE /boot/${number}/linux`, () => void (machine(number).ordered = [])),
      rescue: (number) => ask(`GET /boot/${number}/rescue`, () => rescueOf(machine(number))),
      armRescue: (number, given) =>
        ask(`POST /boot/${number}/rescue`, () => {
          const one = machine(number);
          if (one.armed) throw new ProviderError('conflict', 'armed already');
          one.armed = { keys: given, hostKey: hostKeyOf(random.uuid()) };
          return rescueOf(one);
        }),
      disarmRescue: (number) =>
        ask(`DELETE /boot/${number}/rescue`, () => void (machine(number).armed = null)),
      findKey: (md5) =>
        ask(`GET /key/${md5}`, () => {
          const name = keys.get(md5);
          return name === undefined ? null : { name, md5, createdAt: null };
        }),
      storeKey: ({ name, line }) =>
        ask('POST /key', () => {
          const md5 = md5Of(line.split(' ')[1]!);
          if (keys.has(md5)) throw new ProviderError('conflict', 'there already');
          keys.set(md5, name);
        }),
      listKeys: () =>
        ask('GET /key', () =>
          [...keys].map(([md5, name]) => ({ name, md5, createdAt: '2020-01-01 00:00:00' })),
        ),
      deleteKey: (md5) => ask(`DELETE /key/${md5}`, () => void keys.delete(md5)),
      takeOverCounts: async () => undefined,
      stop: () => undefined,
    };
  }

  function machineAt(host: string): Machine | undefined {
    return [...machines.values()].find(({ server }) => server.ipv4 === host);
  }

  function shell(life: Life = immortal()): DriverShell {
    return {
      async connect({ host, hostKey: rule }) {
        if (life.isDead) return never();
        const one = machineAt(host);
        const running = one?.running;
        if (!one || !running) throw new ProviderError('transient', 'nobody answers');
        const isDisk = running.kind === 'disk';
        if (isDisk && one.disk?.isClosed) throw new ProviderError('auth', 'every key was refused');
        const { hostKey } = running;
        const fingerprint = `SHA256:${createHash('sha256').update(Buffer.from(hostKey, 'base64')).digest('base64').replace(/=+$/, '')}`;
        const names = [fingerprint, md5Of(hostKey)];
        const isNamed = ('told' in rule ? rule.told : rule.unlike).some((each) =>
          names.includes(each),
        );
        if (isNamed !== 'told' in rule) throw new ProviderError('conflict', 'another host key');
        if ('note' in rule) await rule.note({ hostKey, fingerprint });
        return {
          hostKey,
          fingerprint,
          close: () => undefined,
          upload: () => Promise.reject(new Error('nothing is uploaded')),
          execute: ({ argv, stdin = '' }) => {
            if (argv.join(' ') !== 'sh -s') throw new Error(`not played: ${argv.join(' ')}`);
            if (one.running !== running)
              throw new ProviderError('transient', 'broken', { outcome: 'unknown' });
            const { name, play } = playFor(one, running, String(stdin));
            // A look changes nothing, and there are many: a kill there is a kill before what follows.
            if (name === 'look') world.looks += 1;
            if (name === 'look') return life.isDead ? never() : Promise.resolve(play());
            return op(life, `SSH ${one.server.number} ${name}`, play);
          },
        };
      },
    };
  }

  function playFor(one: Machine, running: Running, script: string) {
    const short = /shepherd-([a-z2-7]{8})'/.exec(script)?.[1] ?? '';
    const said = (stdout: string, exitCode = 0, stderr = '') => ({ exitCode, stdout, stderr });
    if (script.includes('say hostname')) {
      return { name: 'look', play: () => said(lookOf(one, running, short)) };
    }
    if (script.includes("'sleep 1; reboot'")) {
      return {
        name: 'reboot',
        play: () => {
          boot(one.server.number);
          return said('');
        },
      };
    }
    if (script.includes('wipefs')) {
      return {
        name: 'wipe',
        play: () => {
          if (!one.wipes) return said('', 1, 'no');
          one.wiped += 1;
          one.disk = null;
          return said('wiped 2\n');
        },
      };
    }
    if (script.includes('tail -n 50')) return { name: 'log', play: () => said('it went wrong\n') };
    return { name: 'install', play: () => start(one, running, short, script) };
  }

  function lookOf(one: Machine, running: Running, short: string): string {
    const lines = [
      `hostname ${running.kind === 'rescue' ? 'rescue' : one.disk?.hostname}`,
      `boot ${running.bootId}`,
    ];
    for (const [guard, { tags, ended }] of running.guards) {
      if (guard !== short) lines.push(`other shepherd-${guard}`);
      else lines.push(`guard ${tags}`, ...(ended === null ? [] : [`ended ${ended}`]));
    }
    if (running.kind === 'disk' && one.disk?.installed)
      lines.push(`installed ${one.disk.installed}`);
    if (running.kind === 'disk' && one.disk?.secret) {
      lines.push(`secret ${createHash('sha256').update(one.disk.secret).digest('hex')}`);
    }
    return `${lines.join('\n')}\n`;
  }

  function start(one: Machine, running: Running, short: string, script: string) {
    if (running.kind !== 'rescue') throw new Error('an installation outside of a rescue system');
    if (running.guards.has(short)) return { exitCode: 46, stdout: '', stderr: '' };
    const tags = /printf '%s\\n' '([A-Za-z0-9+/=]+)' > "\$guard\/tags"/.exec(script)![1]!;
    const guard = { tags, ended: null as string | null };
    running.guards.set(short, guard);
    const installed =
      /'\\''([A-Za-z0-9+/=]{40,})'\\'' > '\\''\/var\/lib\/shepherd\/installation/.exec(script)![1]!;
    const secret = /secret=([0-9a-z-]+)/.exec(script)![1]!;
    const hostname = /HOSTNAME ([a-z0-9-]+)/.exec(script)![1]!;
    clock.setTimeout(() => {
      if (one.running !== running || one.installer === 'hangs') return;
      guard.ended = one.installer === 'works' ? 'finished' : 'failed';
      if (one.installer !== 'works') return;
      one.installs += 1;
      one.disk = { hostname, hostKey: hostKeyOf(random.uuid()), installed, secret };
      boot(one.server.number);
    }, INSTALL_MS);
    return { exitCode: 0, stdout: 'started\n', stderr: '' };
  }

  const recordsOf = (life: Life = immortal()): Records => ({
    all: (options) => (life.isDead ? never() : records.all(options)),
    make: async (key, value, options) => {
      const made = await op(life, `record make ${key}`, () => records.make(key, value, options));
      return made;
    },
    replace: (key, value, version, options) =>
      op(life, `record replace ${key}`, () => records.replace(key, value, version, options)).then(
        (v) => v,
      ),
    drop: (key, version, options) =>
      op(life, `record drop ${key}`, () => records.drop(key, version, options)).then(
        () => undefined,
      ),
  });

  const world: World = {
    machines,
    asked,
    looks: 0,
    strike: null,
    lose: null,
    records,
    keys,
    client,
    shell,
    recordsOf,
    machine,
    count: (pattern) => asked.filter((what) => pattern.test(what)).length,
  };
  return world;
}
