import fc from 'fast-check';
import type { BmdbSession, Work } from '../../../../src/adapters/bmdb/port.ts';
import type { Witness } from '../../../../src/domain/ids.ts';
import {
  PROCESSES,
  PROVIDER_HOLD_KINDS,
  PROVIDER_STATUSES,
} from '../../../../src/domain/machine.ts';
import type { Process } from '../../../../src/domain/machine.ts';
import { providedOf } from '../../../contracts/bmdb-rows.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import { asked, submit, hold, list } from './requests.ts';
import { insert, seed } from './rows.ts';
import {
  below,
  idOf,
  INTERVALS_S,
  JOBS,
  location,
  machine,
  MACHINES,
  maybe,
  PENALTY_MS,
  plain,
  PROVIDERS,
  SECOND,
  seldom,
  session,
  SLOTS,
  STEPS_S,
} from './setting.ts';
import { beat, ending, endWork, note, noteOf, recordOf } from './works.ts';
import { daemonOf, followChanges, last, name, outcomeOf, scan } from './side.ts';
import type { CommandOutcome, Side } from './side.ts';

/*
 * Commands on a BMDB. A command is plain data and names its objects by number: sessions and
 * machines by position, works and intents by the order of their creation (modulo their number). So
 * one list of commands means the same to both implementations.
 */

type ArbitraryParts<P> = { readonly [Part in keyof P]: fc.Arbitrary<P[Part]> };
/** One kind of command: its share, its data and its effect. */
interface CommandKind<P> {
  readonly weight: number;
  readonly parts: ArbitraryParts<P>;
  readonly run: (side: Side, given: P) => unknown;
}
const kind = <P extends object>(
  weight: number,
  parts: ArbitraryParts<P>,
  run: CommandKind<P>['run'],
): CommandKind<P> => ({ weight, parts, run });
/** The result of a command without an object. */
export const NOTHING = 'nothing to do it with';
/** A command that goes to a session. */
const bySession = <P extends object>(
  weight: number,
  parts: ArbitraryParts<P>,
  run: (session: BmdbSession, given: P, side: Side) => unknown,
) =>
  kind<P & { session: number }>(
    weight,
    { ...parts, session } as ArbitraryParts<P & { session: number }>,
    (side, given) => {
      const found = side.sessions[given.session];
      return found ? run(found, given, side) : NOTHING;
    },
  );
const ofIntent = <P extends object>(
  weight: number,
  parts: ArbitraryParts<P>,
  run: (intents: BmdbSession['intents'], witness: Witness, given: P) => Promise<unknown>,
) =>
  bySession<P & { intent: number }>(
    weight,
    { ...parts, intent: recent } as ArbitraryParts<P & { intent: number }>,
    ({ intents }, given, { witnesses }) => {
      const witness = last(witnesses, given.intent);
      return witness ? run(intents, witness, given) : NOTHING;
    },
  );
const onWork = <P extends object>(
  weight: number,
  parts: ArbitraryParts<P>,
  run: (work: Work, given: P) => Promise<unknown>,
) =>
  kind<P & { work: number }>(
    weight,
    { ...parts, work: recent } as ArbitraryParts<P & { work: number }>,
    ({ works }, given) => {
      const work = last(works, given.work);
      return work ? run(work, given) : NOTHING;
    },
  );

/** Recent objects matter more than old ones. */
const recent = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(3));
const process = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Process[]>('ShepherdAgentStart', 'ShepherdRecovery') },
  { weight: 2, arbitrary: fc.constantFrom(...PROCESSES) },
);
/** Its outcome does not depend on the order within a batch. */
const batchable = fc.constantFrom<Process[]>('ShepherdAgentStart', 'UnitTest1', 'ShepherdAccess');
const scope = fc.constantFrom('fleet', ...PROVIDERS);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** A record without the keys whose value is undefined. */
const sparse = <T extends object>(parts: ArbitraryParts<T>) =>
  plain<T>(parts).map((value) => JSON.parse(JSON.stringify(value)) as Sparse<T>);
type Sparse<T> = { [Part in keyof T]?: Exclude<T[Part], undefined> };

function keep(side: Side, work: Work): unknown {
  side.works.push(work);
  name(side, `epoch ${work.epoch}`, `claim ${side.works.length}`);
  return { process: work.process, row: work.row };
}

/** All stored state as every daemon sees it. Each implementation has its own versions. */
async function readRecords({ h }: Side): Promise<unknown> {
  const kept = await Promise.all(PROVIDERS.map((each) => h.other.records.all(each, SIGNAL)));
  const shown = kept.map((records) =>
    records.map(({ key, value }) => `${key} ${JSON.stringify(value)}`),
  );
  const counts = [...(await h.bmdb.records.counts(SIGNAL))].toSorted();
  return { kept: shown.map((records) => records.toSorted()), counts };
}

/** Calls a hook that needs a machine, if there is one. */
const ifThere = async ({ h }: Side, at: number, run: () => Promise<void>) => {
  if ((await h.bmdb.readMachine(idOf(at), SIGNAL)).row) await run();
};

export const impose = {
  kind: fc.constantFrom(...PROVIDER_HOLD_KINDS),
  key: below(2),
  forS: fc.constantFrom(0, 60, 604),
  level: fc.integer({ min: 1, max: 3 }),
  amount: maybe(fc.nat(3)),
};
const provider = PROVIDERS[0]!;

const KINDS = {
  openSession: kind(
    4,
    { session, interval: fc.constantFrom<number[]>(2, 2, 2, 1, 0) },
    async (side, given) => {
      const opened = await daemonOf(side, given.session).openSession({
        ...{ component: `daemon-${given.session}`, runtimeInfo: 'host test' },
        intervalMs: INTERVALS_S[given.interval]! * SECOND,
      });
      side.sessions[given.session] = opened;
      side.opened.push(opened);
      name(side, opened.sessionId, `session ${side.names.size}`);
    },
  ),
  poke: bySession(1, {}, (by) => by.poke()),
  closeSession: bySession(1, {}, (by) => by.close()),
  expireSession: bySession(1, {}, async ({ sessionId }, _, { h }) => {
    const { sessions } = await h.bmdb.scan(SIGNAL);
    // The machine may be gone already.
    if (sessions.some((each) => each.sessionId === sessionId)) await h.expireSession(sessionId);
  }),
  insert: kind(4, { machine, seed }, ({ h }, given) => insert(h, given.machine, given.seed)),
  remove: kind(1, { machine }, (side, { machine: at }) =>
    ifThere(side, at, () => side.h.remove(idOf(at))),
  ),
  request: kind(1, { machine, generation: fc.integer({ min: 1, max: 3 }) }, (side, given) => {
    const [id, generation] = [idOf(given.machine), given.generation];
    const raw = new Uint8Array([generation]);
    return ifThere(side, given.machine, () => side.h.request(id, BigInt(generation), raw));
  }),
  withdraw: kind(1, { machine }, (side, { machine: at }) =>
    ifThere(side, at, () => side.h.withdraw(idOf(at))),
  ),
  read: kind(1, { machine }, ({ h }, given) => h.bmdb.readMachine(idOf(given.machine), SIGNAL)),
  history: kind(1, { machine }, ({ h }, given) =>
    h.other.inspection.history(idOf(given.machine), SIGNAL),
  ),
  claim: bySession(12, { machine, process }, async (by, given, side) =>
    keep(side, await by.claim(given.process, idOf(given.machine))),
  ),
  /** One batch, reported in the order of the machines. */
  claimAll: bySession(2, { process: batchable }, async (by, given, side) => {
    const claims = Array.from({ length: MACHINES }, (_, at) => by.claim(given.process, idOf(at)));
    const found: unknown[] = [];
    for (const each of await Promise.allSettled(claims)) {
      if (each.status === 'fulfilled') found.push(keep(side, each.value));
      else found.push(await outcomeOf(Promise.reject(each.reason as Error)));
    }
    return found;
  }),
  note: onWork(8, { note }, (work, given) => work.note(noteOf(given.note, work))),
  end: onWork(9, { how: ending }, (work, given) => endWork(work, given.how)),
  /** All works of one process in one batch: works that end beside it could come before or after. */
  endAll: kind(1, { how: ending }, ({ works }, given) => {
    const of = works.at(-1)?.process;
    const ended = works.filter((work) => work.process === of);
    return Promise.all(ended.map((work) => outcomeOf(endWork(work, given.how))));
  }),
  releaseWork: bySession(1, { machine }, (by, given) => by.releaseWork(idOf(given.machine))),
  openIntent: bySession(
    2,
    { slot: below(SLOTS), lease: maybe(recent) },
    async (by, given, side) => {
      const { slot } = given;
      const lease = given.lease === null ? undefined : last(side.leases, given.lease);
      const opened = await by.intents.open({
        ...{ provider, slotId: `slot-${slot}`, hostname: `host-${slot}` },
        ...(lease && { lease }),
      });
      const at = side.witnesses.push(opened.witness);
      name(side, opened.witness, `witness ${at}`);
      name(side, opened.machineId, `machine of witness ${at}`);
      return opened;
    },
  ),
  resumeIntent: ofIntent(1, {}, (intents, witness) => intents.resume(witness)),
  progressIntent: ofIntent(
    1,
    {
      change: sparse({
        attempts: optional(fc.nat(5)),
        ambiguous: optional(fc.boolean()),
        unresolved: optional(fc.boolean()),
        lastError: optional(fc.constant('timeout')),
        empty: optional(fc.boolean()),
      }),
    },
    (intents, witness, { change }) => intents.progress(witness, change),
  ),
  adoptIntent: ofIntent(2, { device: fc.nat(2) }, (intents, witness, { device }) => {
    const reservationId = device === 2 ? null : `slot-${device}`;
    return intents.adopt(witness, providedOf(`${device}`, { reservationId, address: null }));
  }),
  endIntent: ofIntent(
    2,
    { state: fc.constantFrom('failed', 'abandoned'), penalty: fc.boolean() },
    (intents, witness, { state, penalty }) =>
      intents.end(witness, { state, cause: 'no luck', ...(penalty && { penaltyMs: PENALTY_MS }) }),
  ),
  lease: bySession(2, { job: below(JOBS) }, async (by, given, side) => {
    const lease = await by.lease(`provisioner/${PROVIDERS[given.job]!}`);
    if (!lease) return null;
    name(side, `epoch ${lease.epoch}`, `lease ${side.leases.push(lease)}`);
    return { name: lease.name, epoch: lease.epoch };
  }),
  releaseLease: kind(1, { lease: recent }, ({ leases }, given) => {
    const lease = last(leases, given.lease);
    return lease ? lease.release() : NOTHING;
  }),
  impose: kind(2, impose, ({ h }, { kind: of, key, forS, level, amount }) =>
    h.bmdb.providerHolds.impose({
      ...{ provider, kind: of, key: `slot-${key}`, level, cause: 'sold out' },
      ...(amount !== null && { amount }),
      forMs: forS * SECOND,
    }),
  ),
  liftHolds: kind(
    1,
    {
      kind: fc.constantFrom('penalty', 'penalty', ...PROVIDER_HOLD_KINDS),
      key: maybe(below(SLOTS)),
    },
    ({ h }, { kind: of, key }) =>
      h.other.providerHolds.lift(provider, of, ...(key === null ? [] : [`slot-${key}`])),
  ),
  /** Creates, changes or deletes a record, like a driver that read it at some earlier time. */
  keepRecord: bySession(
    0,
    {
      key: below(2),
      act: fc.constantFrom('make', 'replace', 'drop'),
      value: below(9),
      version: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: below(4) },
      ),
    },
    async ({ records }, { key, act, value, version: back }, { versions }) => {
      const of = { provider, key: `slot-${key}` };
      const version = last(versions, back);
      if (act === 'make') versions.push(await records.make(of, { value }));
      else if (version === undefined) return NOTHING;
      else if (act === 'drop') await records.drop(of, version);
      else versions.push(await records.replace(of, { value }, version));
      return null;
    },
  ),
  records: kind(0, {}, (side) => readRecords(side)),
  file: bySession(
    5,
    {
      machine,
      asked,
      reuse: seldom<number | null>(null, fc.nat(2)),
      validS: fc.constantFrom(60, 604, 604, 100_004),
      at: fc.constantFrom('once', 'later', 'later'),
    },
    (by, given, side) => submit(side, by, given),
  ),
  settle: bySession(3, { request: recent }, (by, given, { keys }) => {
    const key = last(keys, given.request);
    return key === undefined ? NOTHING : by.applyRequest(key);
  }),
  requests: kind(1, {}, (side) => list(side)),
  beats: kind(5, { beats: fc.array(beat, { minLength: 1, maxLength: 4 }) }, ({ h }, given) =>
    h.bmdb.heartbeats.recordHeartbeats(given.beats.map(recordOf)),
  ),
  hold: kind(
    2,
    { slot: machine, kind: hold, untilS: fc.constantFrom(null, -60, 60, 604) },
    async ({ h }, { slot, kind: of, untilS }) => {
      const slotId = `slot-${slot}`;
      const untilMs = untilS === null ? null : h.nowMs() + untilS * SECOND;
      await h.lift(provider, slotId, of);
      const why = { setBy: 'ann', reason: 'being moved', untilMs };
      await h.hold({ provider, slotId, kind: of, ...why });
    },
  ),
  lift: kind(1, { slot: machine, kind: hold }, ({ h }, { slot, kind: of }) =>
    h.lift(provider, `slot-${slot}`, of),
  ),
  freeze: kind(1, { scope }, ({ h }, given) => h.freeze(given.scope, 'too many at once')),
  thaw: kind(2, { scope }, ({ h }, given) => h.thaw(given.scope)),
  updateProvided: bySession(
    2,
    {
      machine,
      patch: sparse({
        status: optional(fc.constantFrom('Missing', ...PROVIDER_STATUSES)),
        location: optional(location),
        address: optional(fc.constantFrom(null, '127.0.0.2:22')),
        absent: optional(fc.boolean()),
      }),
    },
    (by, given) => by.updateProvided(idOf(given.machine), given.patch),
  ),
  pass: kind(5, { seconds: fc.constantFrom<number[]>(...STEPS_S) }, ({ h }, given) =>
    h.pass(given.seconds * SECOND),
  ),
  sweep: kind(2, {}, ({ h }) => h.other.sweep()),
  scan: kind(1, {}, (side) => scan(side)),
  changes: kind(3, {}, (side) => followChanges(side)),
  statistics: kind(1, {}, ({ h }) => h.bmdb.inspection.statistics(SIGNAL)),
};

type Kinds = typeof KINDS;
type GivenTo<K> = K extends CommandKind<infer P> ? P : never;
export type Command = { [K in keyof Kinds]: { readonly do: K } & GivenTo<Kinds[K]> }[keyof Kinds];

export const command = fc.oneof(
  ...Object.entries(KINDS as unknown as Record<string, CommandKind<Record<string, unknown>>>)
    // The other commands occur only in scripts.
    .filter(([, { weight }]) => weight > 0)
    .map(([what, { weight, parts }]) => ({
      weight,
      arbitrary: plain<Record<string, unknown>>({ do: fc.constant(what), ...parts }),
    })),
) as fc.Arbitrary<unknown> as fc.Arbitrary<Command>;

/** Runs the command and returns its result. */
export const perform = (side: Side, { do: what, ...given }: Command): Promise<CommandOutcome> =>
  outcomeOf((async () => (KINDS[what] as CommandKind<object>).run(side, given))());
