import type { Bmdb, BmdbSession, Lease, Work } from '../../../../src/adapters/bmdb/port.ts';
import { codeOf, explain } from '../../../../src/domain/errors.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import type { Cursor, MachineId, Witness } from '../../../../src/domain/ids.ts';
import type { MachineRow, Provided } from '../../../../src/domain/machine.ts';
import { KEY } from '../../../contracts/bmdb-rows.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import { intervalMs, MACHINES, penaltyMs, PROVIDERS, SECOND } from './commands.ts';
import type { Beat, Command, Ending } from './commands.ts';
import { candidates, last, takeJob, withFleet } from './fleet.ts';
import { keepRecord, readRecords } from './records.ts';
import { file, list } from './requests.ts';
import { endWork, noteOf } from './works.ts';
import { hold, idOf, insert, removeIfThere, request, withdraw } from './rows.ts';
import { NO_TRAITS } from '../../../../src/domain/traits.ts';

/** What came of a command: a value, or the code of the error. */
export type Outcome = { readonly value: unknown } | { readonly error: string };

/** One of the two implementations, with all that was got from it so far. */
export interface Side {
  readonly h: BmdbHarness;
  /** Names of ids that were made up by the implementation, in the order in which they came. */
  readonly names: Map<string, string>;
  /** The latest of each daemon's; those before are in `opened` only, as after a crash. */
  readonly sessions: (BmdbSession | undefined)[];
  readonly opened: BmdbSession[];
  readonly works: Work[];
  readonly witnesses: Witness[];
  readonly leases: Lease[];
  readonly keys: string[];
  readonly versions: string[];
  /** What a reader that follows the changes knows. */
  mirror: Map<MachineId, MachineRow>;
  cursor: Cursor | null;
}

export const createSide = (h: BmdbHarness): Side => ({
  h,
  names: new Map(),
  sessions: [],
  opened: [],
  works: [],
  witnesses: [],
  leases: [],
  keys: [],
  versions: [],
  mirror: new Map(),
  cursor: null,
});

const WRONG_KEY = new Uint8Array(32).fill(9);
/** Two of the sessions belong to one daemon. */
const daemonOf = ({ h }: Side, session: number): Bmdb => (session < 2 ? h.bmdb : h.other);

/** What came of a command that found nothing it could be about. */
export const NOT_APPLICABLE: Outcome = { value: 'nothing to do it with' };

/** Does it and tells what came of it. Errors that are none of ours are passed on. */
export async function perform(side: Side, command: Command): Promise<Outcome> {
  const run = begin(side, command);
  return run ? outcomeOf(run()) : NOT_APPLICABLE;
}

async function outcomeOf(call: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: (await call) ?? null };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'internal') throw error;
    return { error: code === 'retry-exhausted' ? explain(error) : code };
  }
}

function name(side: Side, id: string, as: string): void {
  if (!side.names.has(id)) side.names.set(id, as);
}

type Run = (() => Promise<unknown>) | null;

function begin(side: Side, command: Command): Run {
  return (
    withSession(side, command) ??
    withWork(side, command) ??
    withFleet(side, command) ??
    withRows(side, command) ??
    withReads(side, command)
  );
}

function withSession(side: Side, command: Command): Run {
  if (!('session' in command)) return null;
  if (command.do === 'openSession') return () => openSession(side, command);
  const session = side.sessions[command.session];
  if (!session) return null;
  const witness = 'intent' in command ? last(side.witnesses, command.intent) : undefined;
  if ('intent' in command && !witness) return null;
  switch (command.do) {
    case 'poke':
      return () => session.poke();
    case 'closeSession':
      return () => session.close();
    case 'expireSession':
      return () => expireSession(side, session);
    case 'claim':
      return () => claim(side, session, command);
    case 'claimAll':
      return () => claimAll(side, session, command);
    case 'releaseWork':
      return () => session.releaseWork(idOf(command.machine));
    case 'updateProvided':
      return () => session.updateProvided(idOf(command.machine), command.patch);
    case 'file':
      return () => file(side, session, command);
    case 'settle': {
      const key = last(side.keys, command.request);
      return key === undefined ? null : () => session.settle(key);
    }
    case 'openIntent':
      return () => openIntent(side, session, command);
    case 'keepRecord':
      return keepRecord(side, session, command);
    case 'lease':
      return () => takeLease(side, session, command.job);
    case 'resumeIntent':
      return () => session.intents.resume(witness!);
    case 'progressIntent':
      return () => session.intents.progress(witness!, command.change);
    case 'adoptIntent':
      return () => session.intents.adopt(witness!, providedOf(command.device));
    case 'endIntent':
      return () =>
        session.intents.end(witness!, {
          state: command.state,
          cause: 'no luck',
          ...penaltyMs(command.penalty),
        });
  }
}

async function openSession(
  side: Side,
  { session: at, interval }: Extract<Command, { do: 'openSession' }>,
) {
  const options = { component: `daemon-${at}`, runtimeInfo: 'host test' };
  const opened = await daemonOf(side, at).openSession({
    ...options,
    intervalMs: intervalMs(interval),
  });
  side.sessions[at] = opened;
  side.opened.push(opened);
  name(side, opened.sessionId, `session ${side.names.size}`);
}

/** It may be gone already. */
async function expireSession(side: Side, session: BmdbSession): Promise<void> {
  const { sessions } = await side.h.bmdb.scan(SIGNAL);
  const lives = sessions.some((each) => each.sessionId === session.sessionId);
  if (lives) await side.h.expireSession(session.sessionId);
}

function keep(side: Side, work: Work): unknown {
  side.works.push(work);
  name(side, `epoch ${work.epoch}`, `claim ${side.works.length}`);
  return { process: work.process, row: work.row };
}

async function claim(
  side: Side,
  session: BmdbSession,
  { process, machine }: Extract<Command, { do: 'claim' }>,
) {
  return keep(side, await session.claim(process, idOf(machine)));
}

/** In one batch; then told in the order of the machines. */
async function claimAll(
  side: Side,
  session: BmdbSession,
  { process }: Extract<Command, { do: 'claimAll' }>,
) {
  const ids = Array.from({ length: MACHINES }, (_, at) => idOf(at));
  const claims = ids.map((id) =>
    session.claim(process, id).then(
      (work) => work,
      (error: unknown) => error,
    ),
  );
  const found: unknown[] = [];
  for (const each of await Promise.all(claims)) {
    if (each instanceof Error) found.push(await outcomeOf(Promise.reject(each)));
    else found.push(keep(side, each as Work));
  }
  return found;
}

async function takeLease(side: Side, session: BmdbSession, job: number) {
  const lease = await takeJob(session, job);
  if (!lease) return null;
  side.leases.push(lease);
  name(side, `epoch ${lease.epoch}`, `lease ${side.leases.length}`);
  return { name: lease.name, epoch: lease.epoch };
}

async function openIntent(
  side: Side,
  session: BmdbSession,
  { slot, lease: which }: Extract<Command, { do: 'openIntent' }>,
) {
  const input = { provider: PROVIDERS[0]!, slotId: `slot-${slot}`, hostname: `host-${slot}` };
  const lease = which === null ? undefined : last(side.leases, which);
  const intent = await session.intents.open({ ...input, ...(lease ? { lease } : {}) });
  side.witnesses.push(intent.witness);
  const at = side.witnesses.length;
  name(side, intent.witness, `witness ${at}`);
  name(side, intent.machineId, `machine of witness ${at}`);
  return intent;
}

const providedOf = (device: number): Provided => ({
  provider: PROVIDERS[0]!,
  providerId: `device-${device}`,
  reservationId: device === 2 ? null : `slot-${device}`,
  address: null,
  ...NO_TRAITS,
  location: 'ny',
  status: 'Running',
});

function withWork(side: Side, command: Command): Run {
  switch (command.do) {
    case 'note': {
      const work = last(side.works, command.work);
      return work ? () => work.note(noteOf(command.note, work)) : null;
    }
    case 'end': {
      const work = last(side.works, command.work);
      return work ? () => endWork(work, command.how) : null;
    }
    case 'endAll':
      return () => endAll(side, command.how);
    default:
      return null;
  }
}

/** All of one process at once, in a batch; what is ended beside it could come before or after. */
async function endAll(side: Side, how: Ending): Promise<Outcome[]> {
  const process = side.works.at(-1)?.process;
  const works = side.works.filter((work) => work.process === process);
  return Promise.all(works.map((work) => outcomeOf(endWork(work, how))));
}

function withRows(side: Side, command: Command): Run {
  const { h } = side;
  switch (command.do) {
    case 'insert':
      return () => insert(h, command);
    case 'remove':
      return () => removeIfThere(h, idOf(command.machine));
    case 'request':
      return () => request(h, command);
    case 'hold':
      return () => hold(h, command);
    case 'lift':
      return () => h.lift(PROVIDERS[0]!, `slot-${command.slot}`, command.kind);
    case 'withdraw':
      return () => withdraw(h, idOf(command.machine));
    case 'freeze':
      return () => h.freeze(command.scope, 'too many at once');
    case 'thaw':
      return () => h.thaw(command.scope);
    case 'pass':
      return () => side.h.pass(command.seconds * SECOND);
    default:
      return null;
  }
}

function withReads(side: Side, command: Command): Run {
  const { bmdb, other } = side.h;
  switch (command.do) {
    case 'beats':
      return () => bmdb.heartbeats.recordHeartbeats(command.beats.map(recordOf));
    case 'sweep':
      return () => other.sweep();
    case 'scan':
      return () => scan(side);
    case 'changes':
      return () => changes(side);
    case 'read':
      return () => bmdb.readMachine(idOf(command.machine), SIGNAL);
    case 'inspect':
      return () => inspect(side);
    case 'requests':
      return () => list(side);
    case 'records':
      return () => readRecords(side);
    case 'statistics':
      return () => bmdb.inspection.statistics(SIGNAL);
    case 'history':
      return () => other.inspection.history(idOf(command.machine), SIGNAL);
    case 'candidates':
      return () => candidates(side, command);
    default:
      return null;
  }
}

/** Times are in the text of the fields, so only whether there is one is told. */
async function inspect({ h }: Side): Promise<unknown> {
  const found = await h.bmdb.inspection.machines({ expiredBackoffs: true }, SIGNAL);
  const machines = found.machines.map(({ tags, ...machine }) => ({
    ...machine,
    tags: Object.values(tags)
      .flat()
      .map((field) => ({ ...field, value: field.value.replace(/^\d+-.*T.*Z$/, 'a time') })),
  }));
  return { machines, next: found.next, schema: await h.other.inspection.schema(SIGNAL) };
}

const recordOf = ({ machine, key, boot, hardware, report }: Beat): HeartbeatRecord => ({
  machineId: idOf(machine),
  publicKey: key === 'right' ? KEY : WRONG_KEY,
  bootId: boot,
  ...(hardware ? { hardwareReport: new Uint8Array([1]) } : {}),
  ...(report
    ? {
        installationReport: {
          generation: BigInt(report.generation),
          result: report.success ? 'Success' : 'Error',
          raw: new Uint8Array([2]),
        },
      }
    : {}),
});

/** Reads everything, and begins to follow the changes from there. */
export async function scan(side: Side): Promise<unknown> {
  const { cursor, ...snapshot } = await side.h.bmdb.scan(SIGNAL);
  side.cursor = cursor;
  side.mirror = new Map(snapshot.machines.map((row) => [row.machineId, row]));
  return snapshot;
}

/** What is known from the last scan and the changes since must be what a scan would tell. */
async function changes(side: Side): Promise<unknown> {
  if (side.cursor === null) return scan(side);
  const found = await side.h.bmdb.changesSince(side.cursor, SIGNAL);
  if (found === null) return { told: false, ...((await scan(side)) as object) };
  for (const row of found.machines) side.mirror.set(row.machineId, row);
  for (const id of found.gone) side.mirror.delete(id);
  side.cursor = found.cursor;
  const alive = new Set(found.sessions.map((each) => each.sessionId));
  const { machines: _, gone: __, cursor: ___, ...small } = found;
  return {
    told: true,
    ...small,
    machines: [...side.mirror.values()].map(({ heartbeat: ____, ...row }) => ({
      ...row,
      work: row.work.filter((work) => alive.has(work.sessionId)),
    })),
  };
}
