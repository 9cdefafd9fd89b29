import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createMemoryRecords } from '../../../../src/adapters/driver-kit/memory-shell.ts';
import { createRobotClient } from '../../../../src/adapters/provider/hetzner-robot/client.ts';
import { hetznerRobotDriver } from '../../../../src/adapters/provider/hetzner-robot/driver.ts';
import { ourName } from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';
import type { ClaimValue } from '../../../../src/adapters/provider/hetzner-robot/parts.ts';
import type { RobotSettings } from '../../../../src/adapters/provider/hetzner-robot/settings.ts';
import { createDriverShell } from '../../../../src/adapters/ssh/driver-shell.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import type {
  CallOptions,
  CreateRequest,
  DriverShell,
  Provider,
  Records,
} from '../../../../src/adapters/provider/port.ts';
import {
  CommandFailed,
  Denied,
  NotListening,
  type ProviderError,
  Unreachable,
} from '../../../../src/domain/errors.ts';
import { unlessAborted } from '../../../../src/domain/joined.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import {
  INSTANCE_SECRET_PATH,
  SECRET_TAG,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import type { RobotFaultRule } from '../../../../emulators/hetzner-robot/api.ts';
import {
  type RobotEmulatorOptions,
  startRobotEmulator,
} from '../../../../emulators/hetzner-robot/emulator.ts';
import type { RunningSystem } from '../../../../emulators/hetzner-robot/machine/machine.ts';
import { publicBlobOf } from '../../../../emulators/hosts/keys.ts';
import { begins, immortal, type DaemonLife, mortal, never } from '../../../doubles/life.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  driven,
  runOut,
} from '../../../doubles/simulated-clock.ts';
import {
  callOf as usualCallOf,
  driverContext,
  INSTANCE_SET_ID,
  publicKeyLine,
} from '../driver-stand.ts';

export { failureOf, INSTANCE_SET_ID } from '../driver-stand.ts';

export const WITNESS = '0b6e0000-1234-4abc-8def-0123456789ab';
export const OTHER_WITNESS = '77770000-1234-4abc-8def-0123456789ab';
export const PREVIOUS_KEY = publicKeyLine(9);
export const PUBLIC_KEY = publicKeyLine(1);
export const PREFIXES = { namePrefix: 'shep-prod-', freePrefix: 'free-' };
export const OUR_NAME = ourName(PREFIXES, WITNESS);
export const LEAVING = 'shep-prod-leaving-321';
export const IMAGE = 'Debian-1301-trixie-amd64-base.tar.gz';

/** A direct call of the driver, which accepts every machine as ours. */
export const callOf = (change: Partial<CallOptions> = {}) =>
  usualCallOf({ operationId: WITNESS, ...change });
export const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex');

type ServerOrder = { server?: number; witness?: string } & Partial<CreateRequest>;
/** The core's order for a server. Each attempt has its own secret. */
export function orderOf(secret: string, change: ServerOrder = {}): CreateRequest {
  const { server = 321, witness = WITNESS, ...rest } = change;
  const unused = { id: null, reservationId: String(server), plan: 'EX44' };
  return {
    unused: { ...unused, availability: 'KnownUnused' } as unknown as ProviderMachine,
    ...{ hostname: `shep-prod-${server}`, plan: 'EX44', image: IMAGE, publicKey: PUBLIC_KEY },
    tags: { [SET_ID_TAG]: INSTANCE_SET_ID, [WITNESS_TAG]: witness, [SECRET_TAG]: hashOf(secret) },
    initCommand: `#!/bin/sh\nprintf %s ${secret} > ${INSTANCE_SECRET_PATH}`,
    resumed: false,
    onAttempt: async () => undefined,
    ...rest,
  };
}

/** A refusal in Robot's form. */
export const refusal = (code: number, text: string, more: object = {}) => ({
  type: 'status' as const,
  code,
  body: { error: { status: code, code: text, message: `about ${text}`, ...more } },
});
/** A fault at requests of one line of the documentation. */
export const at = (
  line: string,
  effect: RobotFaultRule['effect'],
  times?: number,
): RobotFaultRule => {
  const [method, route] = line.split(' ');
  return { id: line, match: { method, route }, effect, ...(times && { times }) };
};

/** Text that occurs in only one script of the driver. */
const SCRIPTS: readonly (readonly [mark: string, name: string])[] = [
  ['say hostname', 'look'],
  ["'sleep 1; reboot'", 'reboot'],
  ['wipefs', 'wipe'],
  ['tail -n 50', 'log'],
];

interface Daemon {
  readonly settings: object;
  readonly daemons: () => number;
  readonly life: DaemonLife;
  readonly records: Records;
}
export interface RobotStandOptions extends Pick<RobotEmulatorOptions, 'servers' | 'limits'> {
  readonly settings?: object;
  /** Robot's answers about host keys of rescue systems. */
  readonly tells?: 'right' | 'wrong' | 'nothing';
}

/** The emulator and its daemons in one virtual time. Of SSH only the connection is missing. */
export async function startStand(options: RobotStandOptions = {}) {
  const { settings: usual = {}, tells = 'right', ...own } = options;
  const clock = createSimulatedClock();
  const network = createMemoryNetwork(clock);
  const listen = { host: '127.0.0.1', port: 0, network };
  const fake = await startRobotEmulator({ listen, clock, ...own });
  if (tells !== 'nothing') fake.addFault({ effect: { type: 'hostKey', shows: tells } });
  const records = createMemoryRecords(createSeededRandom(3))(providerName('robot'));
  const log = recordingLog();
  const { user, password } = fake.credentials;
  const env: Record<string, string> = { PASSWORD: password };
  const schema = hetznerRobotDriver.settings({ env, baseDirectory: '/', checkFiles: false });
  const run = <T>(task: Promise<T>): Promise<T> => runOut(clock, task);
  const ends: (() => unknown)[] = [];
  onTestFinished(async () => {
    await run(Promise.all(ends.map((end) => end())));
    await fake.close();
  });
  let lives = 0;
  let forgotten = 0;
  /** Scripts that ran on machines, by name. */
  const ran: string[] = [];
  const hooks: { script: ((name: string) => void) | null } = { script: null };

  function shellOf(life: DaemonLife): DriverShell {
    const execute = async (system: RunningSystem, script: Uint8Array, signal: AbortSignal) => {
      const name = SCRIPTS.find(([mark]) => String(script).includes(mark))?.[1] ?? 'install';
      // A look changes nothing: a death there equals a death before the next step.
      if (name === 'look' ? life.isDead : !begins(life)) return never<never>();
      ran.push(name);
      hooks.script?.(name);
      const cut = AbortSignal.any([signal, system.ended]);
      const ended = await unlessAborted(system.play('sh -s')(Buffer.from(script)), cut).catch(
        () => {
          throw new Unreachable('the connection was cut');
        },
      );
      if (life.isDead) return never<never>();
      const [stdout, stderr] = [ended.stdout, ended.stderr].map((text) => Buffer.from(text ?? ''));
      const end = { exitCode: ended.exitCode, stdout: stdout!, stderr: stderr! };
      if (end.exitCode !== 0) throw new CommandFailed('sh', { signalName: undefined, ...end });
      return end;
    };
    const shellFor = () => ({
      async connect({ host }: { readonly host: string }) {
        if (life.isDead) return never<never>();
        const system = fake.answering(host);
        if (!system) throw new NotListening(`nobody answers at ${host}`);
        if (!(await system.authorizes(PUBLIC_KEY))) throw new Denied('every key was refused');
        return {
          hostKey: publicBlobOf(system.hostKey).toString('base64'),
          upload: () => Promise.reject(new Error('nothing is uploaded')),
          execute: (_: readonly string[], stdin: Uint8Array, signal: AbortSignal) =>
            execute(system, stdin, signal),
          close: () => undefined,
        };
      },
    });
    return createDriverShell({ shellFor, log: silentLog });
  }
  function contextOf(change: Partial<Daemon>) {
    const { daemons = () => 1, life = immortal(), records: kept = records } = change;
    return driverContext('robot', {
      ...{ log, publicKey: PUBLIC_KEY, previousKeys: [PREVIOUS_KEY], daemons },
      random: createSeededRandom((lives += 1)),
      shell: shellOf(life),
      ...mortal(life, { clock, network, records: kept }),
    });
  }
  const settingsOf = (change: object = {}) =>
    schema.parse({
      ...{ baseUrl: fake.url, user, password: '${PASSWORD}', ...PREFIXES, sshKeyName: 'shepherd' },
      imageUrl: 'https://images.example.net/debian.tar.gz',
      ...usual,
      ...change,
    }) as RobotSettings;
  /** Another daemon, as in another process. */
  function daemon(change: Partial<Daemon> = {}): Provider {
    const provider = hetznerRobotDriver.open(settingsOf(change.settings), contextOf(change));
    ends.push(async () => change.life?.isDead || (await provider.stop()));
    return provider;
  }
  const provider = daemon();
  const machine = (number = 321) => fake.servers().find((one) => one.number === number)!;
  /** Robot's requests with reset types and names, since the last `forget`. */
  const sent = (): string[] =>
    fake.requests(forgotten).map(({ method, path, body }) => {
      const { type, server_name: name } = (body ?? {}) as Record<string, string>;
      return [method, path, type ?? name].filter(Boolean).join(' ');
    });
  const claimRow = async (server = 321) =>
    (await records.all(callOf())).find(({ key }) => key === String(server));
  return {
    ...{
      clock,
      network,
      fake,
      records,
      log,
      env,
      run,
      daemon,
      provider,
      hooks,
      ran,
      machine,
      sent,
      claimRow,
    },
    /** Its calls let time pass. */
    client({ limits = {}, ...change }: Partial<Daemon> & { limits?: Record<string, number> } = {}) {
      const client = createRobotClient(settingsOf({ limits }), contextOf(change));
      ends.push(client.stop);
      return driven(clock, client);
    },
    pass: (ms: number) => advance(clock, ms),
    /** Lets time pass until the condition holds, with a check every five seconds. */
    async until(isSo: () => Promise<boolean> | boolean) {
      for (let looks = 0; !(await isSo()); looks++) {
        if (looks === 200) throw new Error('it did not come about');
        await advance(clock, 5_000);
      }
    },
    resets: () => machine().resets.map(({ type }) => type),
    /** Requests of another client of the account. */
    ask(method: string, path: string, body = '') {
      const login = Buffer.from(`${user}:${password}`).toString('base64');
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const headers = { authorization: `Basic ${login}`, ...form };
      return network.fetch(`${fake.url}${path}`, { method, headers, ...(body && { body }) });
    },
    count: (pattern: RegExp) => sent().filter((line) => pattern.test(line)).length,
    forget() {
      forgotten = fake.requests().at(-1)?.seq ?? 0;
      ran.length = 0;
    },
    create: (secret = 's1', by = provider) => run(by.createMachine(orderOf(secret), callOf())),
    list: async (by = provider) => (await run(by.listMachines({}, callOf()))).machines,
    isReusable: (by = provider) => run(by.isReusable!('321', callOf())),
    giveBack: (id: string, by = provider) => run(by.deprovisionMachine(id, callOf())),
    claim: async () => (await claimRow())?.value as ClaimValue | undefined,
    async dropClaim() {
      const { key, version } = (await claimRow())!;
      await records.drop(key, version, callOf());
    },
    /** The instance secret of the answering system. */
    async secret() {
      const system = fake.answering(machine().address);
      const shown = system?.play(`cat ${INSTANCE_SECRET_PATH}`)(Buffer.alloc(0));
      return String((await (shown && run(shown)))?.stdout ?? '');
    },
    /** Milliseconds until the next permitted request. Null: unknown. */
    inMs: (error: ProviderError | null) =>
      error?.rateLimit ? error.rateLimit.retryAt.getTime() - clock.now() : null,
  };
}
export type RobotStand = Awaited<ReturnType<typeof startStand>>;

/** With an installed and observed machine. The journal omits the steps that led there. */
export async function startInstalled(options: RobotStandOptions = {}) {
  const stand = await startStand(options);
  const { id } = await stand.create();
  await stand.pass(400_000);
  stand.forget();
  return { ...stand, id: id! };
}
