import { AsyncLocalStorage } from 'node:async_hooks';
import { openSync, writeSync } from 'node:fs';
import type { MemAgentServer } from '../doubles/mem-agent-server.ts';
import { createPgBmdb } from '../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb, BmdbSession, Work } from '../../src/adapters/bmdb/port.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { metricsTo } from '../../src/adapters/metrics/port.ts';
import { createFakeHost, createFakeShell, type FakeHost } from '../doubles/fake-shell.ts';
import { codeOf, explain } from '../../src/domain/errors.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { AGENT_PATH, startHurriedDaemon } from './daemon.ts';
import { createListedProvider } from './listed-provider.ts';
import type { Beat, EndKind, FromDaemon, MachineInfo, Note, Setup, ToDaemon } from './messages.ts';
import { HURRY } from './pace.ts';

/**
 * One daemon as a process of its own: the real supervisor over the real BMDB. Machines live in the
 * parent process.
 */
type ExecAnswer = { readonly exitCode: number; readonly stdout: Buffer };
/** When this daemon last compared the time with its own deadline, in the present call. */
const looking = new AsyncLocalStorage<{ atMs: number | null }>();
/** When it did so after a note was answered, by machine. */
const allowedAtMs = new Map<string, number>();
const pending = new Map<number, (answer: ExecAnswer) => void>();
const hosts = new Map<string, FakeHost>();
/** A stop may arrive before the daemon runs, and then follows its start. */
const started = Promise.withResolvers<Daemon>();
let report: ((beats: readonly Beat[]) => void) | undefined;

const send = (message: FromDaemon): void => void process.send?.(message);
process.on('message', (message: ToDaemon) => {
  switch (message.type) {
    case 'setup':
      void start(message.setup);
      break;
    case 'answer':
      pending.get(message.id)?.({ ...message, stdout: Buffer.from(message.stdout, 'base64') });
      pending.delete(message.id);
      break;
    case 'power': {
      const host = hosts.get(`${message.address}:22`);
      if (host) Object.assign(host, { bootId: message.bootId, unreachable: !message.up });
      break;
    }
    case 'beats':
      report?.(message.beats);
      break;
    case 'stop':
      void started.promise.then((daemon) => daemon.stop());
  }
});
// The parent process is gone, and the world with it.
process.on('disconnect', () => process.exit(0));

async function start(setup: Setup): Promise<void> {
  const note = openNotes(setup.logPath);
  const log = errorsTo(note);
  const random = createSeededRandom(setup.seed);
  const clock: Clock = {
    ...systemClock,
    monotonic: () => {
      const look = looking.getStore();
      if (look) look.atMs = Date.now();
      return systemClock.monotonic();
    },
  };
  const bmdb = noting(
    { note, isUnfenced: setup.isUnfenced ?? false },
    createPgBmdb({
      url: setup.url,
      clock,
      random,
      log,
      loss: HURRY.loss,
      budget: HURRY.budget,
      guard: HURRY.guard,
      poolMax: 6,
      timeoutMs: 1_500,
      jitter: 0.1,
    }),
  );
  for (const { machineId, address, bootId, up } of setup.machines) {
    const host = createFakeHost({
      bootId,
      unreachable: !up,
      hostKey: Buffer.from(address).toString('base64'),
      run: (argv, stdin) => runOn({ machineId, address }, argv, stdin),
    });
    hosts.set(`${address}:22`, host);
  }
  const names = new Set(setup.machines.map((machine) => machine.provider));
  const providers = new Map(
    [...names].map((name) => {
      const listed = setup.machines.filter((machine) => machine.provider === name);
      const reboot = async (machine: MachineInfo) => void (await effect('reboot', machine));
      return [providerName(name), createListedProvider(listed, reboot)];
    }),
  );
  const daemon = await startHurriedDaemon({
    bmdb,
    providers,
    clock,
    random,
    log,
    agents: { batch: { gapMs: 20, enough: 100, max: 500 } },
    onAgentServer: (agents) => {
      report = (beats) => {
        for (const beat of beats) void recordBeat(agents, beat, note);
      };
    },
    pace: HURRY,
    shell: createFakeShell({ hosts, clock }),
    name: setup.run,
    metrics: {
      ...metricsTo(({ name }) => {
        if (name === 'shepherd_actor_crashes_total') note({ t: 'crash', what: 'actor' });
      }),
      expose: async () => ({ contentType: 'text/plain', body: '' }),
    },
  });
  started.resolve(daemon);
  send({ type: 'ready' });
  await daemon.stopped;
  await bmdb.close();
  process.exit(0);
}

async function recordBeat(
  agents: MemAgentServer,
  beat: Beat,
  note: (note: Note) => void,
): Promise<void> {
  const publicKey = Buffer.from(beat.publicKey, 'hex');
  try {
    const id = machineId(beat.machineId);
    const outcome = await agents.report({ machineId: id, publicKey, bootId: beat.bootId });
    if (outcome.kind !== 'accepted') return;
    note({ t: 'beat', machine: beat.machineId, atMs: outcome.atMs });
  } catch (error) {
    // The agent sees the failure and reports again in its next period.
    if (codeOf(error) === 'internal') throw error;
  }
}

function runOn(machine: MachinePlace, [path]: readonly string[], stdin: Buffer) {
  return path === AGENT_PATH ? effect('execute', machine, stdin) : { exitCode: 127 };
}

type MachinePlace = Pick<MachineInfo, 'machineId' | 'address'>;
let effects = 0;
function effect(
  kind: 'execute' | 'reboot',
  { machineId, address }: MachinePlace,
  stdin?: Buffer,
): Promise<ExecAnswer> {
  const id = (effects += 1);
  const sentAtMs = Date.now();
  const atMs = allowedAtMs.get(machineId) ?? sentAtMs;
  send({
    type: 'effect',
    id,
    kind,
    address,
    atMs,
    sentAtMs,
    stdin: stdin?.toString('base64') ?? '',
  });
  return new Promise((resolve) => pending.set(id, resolve));
}

/** Each note is in the file before the call returns, so that it outlives the process. */
function openNotes(path: string): (note: Note) => void {
  const file = openSync(path, 'a');
  return (note) => void writeSync(file, `${JSON.stringify(note)}\n`);
}

function errorsTo(note: (note: Note) => void): Log {
  const nothing = () => undefined;
  const log: Log = {
    debug: nothing,
    info: nothing,
    child: () => log,
    warn: (fields, message) => {
      if (process.env['FAULTS_LOG']) console.error(process.pid, message, explainFields(fields));
    },
    error: (fields, message) => {
      if (process.env['FAULTS_LOG']) console.error(process.pid, message, explainFields(fields));
      if (/crash/.test(message)) note({ t: 'crash', what: `${message} ${explainFields(fields)}` });
    },
  };
  return log;
}
const explainFields = (fields: object): string =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${value instanceof Error ? explain(value) : String(value)}`)
    .join(' ');

interface Noting {
  readonly note: (note: Note) => void;
  readonly isUnfenced: boolean;
}

/** Records what the BMDB acknowledged to us. */
function noting({ note, isUnfenced }: Noting, bmdb: Bmdb): Bmdb {
  return {
    ...bmdb,
    async openSession(options) {
      const session = await bmdb.openSession(options);
      note({ t: 'session', session: session.sessionId });
      const poke = isUnfenced ? withheldPokes(session) : session.poke;
      return { ...session, poke, claim: notedClaim(note, session) };
    },
  };
}

/**
 * The session is not extended for this long, though its daemon believes it is. So it is dead most
 * of the time.
 */
const WITHHELD_MS = 2.5 * HURRY.sessionIntervalMs;

function withheldPokes(session: BmdbSession): BmdbSession['poke'] {
  const openedMs = performance.now();
  return async () => {
    if (performance.now() - openedMs >= WITHHELD_MS) await session.poke();
  };
}

const notedClaim =
  (note: (note: Note) => void, session: BmdbSession): BmdbSession['claim'] =>
  async (process, machine) => {
    try {
      const work = await session.claim(process, machine);
      note({ t: 'claim', machine, process, result: 'ok', epoch: work.epoch });
      return notedWork(note, work);
    } catch (error) {
      note({ t: 'claim', machine, process, result: codeOf(error), epoch: '' });
      throw error;
    }
  };

function notedWork(note: (note: Note) => void, work: Work): Work {
  const { machineId: machine, epoch } = work;
  const noted =
    <Args extends unknown[]>(how: EndKind, end: (...args: Args) => Promise<void>) =>
    async (...args: Args) => {
      try {
        await end(...args);
        note({ t: 'end', machine, how, result: 'ok', epoch });
      } catch (error) {
        note({ t: 'end', machine, how, result: codeOf(error), epoch });
        throw error;
      }
    };
  return {
    ...work,
    async note(what) {
      const look: { atMs: number | null } = { atMs: null };
      await looking.run(look, () => work.note(what));
      allowedAtMs.set(machine, look.atMs ?? Date.now());
    },
    finish: noted('finish', work.finish),
    fail: noted('fail', work.fail),
    cancel: noted('cancel', work.cancel),
  };
}
