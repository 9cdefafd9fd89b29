import fc from 'fast-check';
import {
  PROCESSES,
  PROVIDER_HOLD_KINDS,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
  RUNGS,
} from '../../../../src/domain/machine.ts';
import type { HoldKind, Process, ProviderStatus, Rung } from '../../../../src/domain/machine.ts';
import {
  DESCRIPTORS,
  INTERVALS_S,
  JOBS,
  LONG_S,
  MACHINES,
  PROVIDERS,
  SESSIONS,
  SLOTS,
  STEPS_S,
} from './commands.ts';
import type { Beat, Command, Ending, Note, Seed } from './commands.ts';

/** Without this, counterexamples are hard to read. */
const plain = <T>(parts: { [Part in keyof T]: fc.Arbitrary<T[Part]> }): fc.Arbitrary<T> =>
  fc.record<T>(parts, { noNullPrototype: true });
const below = (count: number) => fc.nat(count - 1);
const session = below(SESSIONS);
const machine = below(MACHINES);
/** Recent ones are of more interest than those of long ago. */
const recent = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(3));
const age = fc.constantFrom(0, 96, 704, 1_904, 3_696);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const seldom = <T>(usual: T, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary });
const process = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Process>('ShepherdAgentStart', 'ShepherdRecovery') },
  { weight: 2, arbitrary: fc.constantFrom(...PROCESSES) },
);
/** Its outcome does not depend on the order within a batch. */
const batchable = fc.constantFrom<Process>('ShepherdAgentStart', 'UnitTest1', 'ShepherdAccess');
const location = fc.constantFrom(null, 'ny', 'la');
const hold = fc.constantFrom<HoldKind>('no-start', 'no-recover', 'no-allocate', 'preserve');
const scope = fc.constantFrom('fleet', ...PROVIDERS);

const anySeed: fc.Arbitrary<Seed> = plain({
  reserved: fc.boolean(),
  provider: seldom<number | null>(0, fc.constantFrom(1, null)),
  location,
  status: seldom<ProviderStatus | null>('Running', maybe(fc.constantFrom(...PROVIDER_STATUSES))),
  startedAge: maybe(age),
  heardAge: maybe(age),
  asked: maybe(fc.integer({ min: 1, max: 3 })),
  reported: seldom<number | null>(null, fc.integer({ min: 1, max: 3 })),
  succeeded: fc.boolean(),
  handedOutAge: seldom<number | null>(null, age),
  failures: maybe(fc.nat(4)),
  rung: seldom<Rung | null>(null, fc.constantFrom(...RUNGS)),
  permit: seldom(false, fc.constant(true)),
  quarantine: seldom('none', fc.constantFrom('ended', 'ending', 'for ever')),
  deprovision: seldom(false, fc.constant(true)),
  missing: seldom(false, fc.constant(true)),
});
/** Nothing stands against it but what is given. */
const sound = (change: Partial<Seed>): fc.Arbitrary<Seed> =>
  anySeed.map((any) => ({
    ...any,
    ...{ provider: 0, status: 'Running', asked: null, reported: null, handedOutAge: null },
    ...{ quarantine: 'none', deprovision: false, permit: false },
    ...change,
  }));
const seed: fc.Arbitrary<Seed> = fc.oneof(
  { weight: 2, arbitrary: anySeed },
  { weight: 1, arbitrary: sound({ startedAge: null }) },
  { weight: 2, arbitrary: sound({ startedAge: 3_696, heardAge: null }) },
  { weight: 1, arbitrary: sound({ startedAge: 704, heardAge: 0 }) },
);

const note = fc.oneof(
  fc.constantFrom<Note>(
    ...(['agentStartAttempt', 'recoveryRefused', 'recoveryDenied'] as const),
    ...(['recoveryUnclear', 'recoveryAccepted', 'deprovisionAsked'] as const),
  ),
  fc.constantFrom<Note>(...RUNGS),
);
const descriptor = below(DESCRIPTORS.length);
const ending: fc.Arbitrary<Ending> = fc.oneof(
  plain({ finish: fc.constantFrom('nothing', 'agentStarted', 'recovered', 'deprovisioned') }),
  plain({ fail: descriptor }),
  plain({ fail: descriptor, park: fc.constantFrom(...QUARANTINE_KINDS) }),
  plain({ cancel: maybe(fc.constant('no longer wanted')) }),
);
const beat: fc.Arbitrary<Beat> = plain({
  machine,
  key: seldom('right', fc.constant('wrong')),
  boot: fc.constantFrom(null, 'boot-1', 'boot-2'),
  hardware: fc.boolean(),
  report: maybe(plain({ generation: fc.integer({ min: 1, max: 4 }), success: fc.boolean() })),
});

/** One kind of command: its share, and what it is made of. */
function kind<C extends Command, Name extends C['do']>(
  weight: number,
  name: Name,
  parts: {
    readonly [Part in keyof Omit<Extract<Command, { do: Name }>, 'do'>]: fc.Arbitrary<
      Extract<Command, { do: Name }>[Part]
    >;
  },
): { weight: number; arbitrary: fc.Arbitrary<Command> } {
  const made = plain<Record<string, unknown>>({ do: fc.constant(name), ...parts });
  return { weight, arbitrary: made as fc.Arbitrary<unknown> as fc.Arbitrary<Command> };
}

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** A record that lacks the keys whose value is undefined. */
const sparse = <T>(arbitrary: fc.Arbitrary<T>) =>
  arbitrary.map((value) => JSON.parse(JSON.stringify(value)) as never);

const impose = {
  kind: fc.constantFrom(...PROVIDER_HOLD_KINDS),
  key: below(2),
  forS: fc.constantFrom(0, 60, 604),
  level: fc.integer({ min: 1, max: 3 }),
  amount: maybe(fc.nat(3)),
};

const command: fc.Arbitrary<Command> = fc.oneof(
  kind(4, 'openSession', { session, interval: fc.constantFrom(2, 2, 2, 1, 0) }),
  kind(1, 'poke', { session }),
  kind(1, 'closeSession', { session }),
  kind(1, 'expireSession', { session }),
  kind(4, 'insert', { machine, seed }),
  kind(1, 'remove', { machine }),
  kind(1, 'read', { machine }),
  kind(1, 'history', { machine }),
  kind(12, 'claim', { session, machine, process }),
  kind(2, 'claimAll', { session, process: batchable }),
  kind(8, 'note', { work: recent, note }),
  kind(9, 'end', { work: recent, how: ending }),
  kind(1, 'endAll', { how: ending }),
  kind(1, 'releaseWork', { session, machine }),
  kind(2, 'openIntent', { session, slot: below(SLOTS), lease: maybe(recent) }),
  kind(2, 'lease', { session, job: below(JOBS) }),
  kind(1, 'releaseLease', { lease: recent }),
  kind(2, 'impose', impose),
  kind(1, 'liftHolds', {
    kind: fc.constantFrom('penalty', 'penalty', ...PROVIDER_HOLD_KINDS),
    key: maybe(below(SLOTS)),
  }),
  kind(2, 'requestDeprovision', { machine }),
  kind(1, 'withdraw', { machine }),
  kind(1, 'resumeIntent', { session, intent: recent }),
  kind(1, 'progressIntent', {
    ...{ session, intent: recent },
    change: sparse(
      plain({
        attempts: optional(fc.nat(5)),
        ambiguous: optional(fc.boolean()),
        unresolved: optional(fc.boolean()),
        lastError: optional(fc.constant('timeout')),
        empty: optional(fc.boolean()),
      }),
    ),
  }),
  kind(2, 'adoptIntent', { session, intent: recent, device: fc.nat(2) }),
  kind(2, 'endIntent', {
    ...{ session, intent: recent, penalty: fc.boolean() },
    state: fc.constantFrom('failed', 'abandoned'),
  }),
  kind(5, 'beats', { beats: fc.array(beat, { minLength: 1, maxLength: 4 }) }),
  kind(1, 'request', { machine, generation: fc.integer({ min: 1, max: 3 }) }),
  kind(2, 'hold', { slot: machine, kind: hold, untilS: fc.constantFrom(null, -60, 60, 604) }),
  kind(1, 'lift', { slot: machine, kind: hold }),
  kind(1, 'freeze', { scope }),
  kind(2, 'thaw', { scope }),
  kind(2, 'updateProvided', {
    ...{ session, machine },
    patch: sparse(
      plain({
        status: optional(fc.constantFrom('Missing', ...PROVIDER_STATUSES)),
        location: optional(location),
        address: optional(fc.constantFrom(null, '127.0.0.2:22')),
        absent: optional(fc.boolean()),
      }),
    ),
  }),
  kind(5, 'pass', { seconds: fc.constantFrom(...STEPS_S) }),
  kind(2, 'sweep', {}),
  kind(1, 'scan', {}),
  kind(3, 'changes', {}),
  kind(1, 'statistics', {}),
  kind(1, 'inspect', {}),
  kind(1, 'candidates', {
    ...{ process, provider: maybe(below(PROVIDERS.length)) },
    limit: fc.integer({ min: 1, max: MACHINES }),
  }),
);

const pass = fc.constantFrom(...STEPS_S).map((seconds): Command => ({ do: 'pass', seconds }));
const several = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number) =>
  fc.array(arbitrary, { minLength: 1, maxLength });

/** Some work on one machine from claim to end, a few times: waits grow, ladders are climbed. */
const episode = (process: Process, notes: fc.Arbitrary<Note>): fc.Arbitrary<Command[]> =>
  fc
    .tuple(session, machine, several(fc.tuple(notes, ending, pass, seldom(false, fc.boolean())), 3))
    .map(([by, on, attempts]) =>
      attempts.flatMap(([noted, how, waits, frozen]): Command[] => [
        { do: 'claim', session: by, machine: on, process },
        ...(frozen ? [{ do: 'freeze', scope: 'fleet' } as const] : []),
        { do: 'note', work: 0, note: noted },
        { do: 'changes' },
        ...(frozen ? [{ do: 'thaw', scope: 'fleet' } as const] : []),
        { do: 'end', work: 0, how },
        waits,
      ]),
    );
/** An agent that reports for a while, perhaps while the machine is being recovered. */
const reporting: fc.Arbitrary<Command[]> = fc
  .tuple(session, machine, fc.boolean(), several(fc.tuple(beat, fc.constantFrom(8, 16, 104)), 5))
  .map(([by, on, recovered, reports]) => [
    ...(recovered
      ? ([
          { do: 'claim', session: by, machine: on, process: 'ShepherdRecovery' },
          { do: 'note', work: 0, note: 'rebooting' },
        ] satisfies Command[])
      : []),
    ...reports.flatMap(([each, seconds]): Command[] => [
      { do: 'beats', beats: [{ ...each, machine: on, key: 'right' }] },
      { do: 'pass', seconds },
    ]),
  ]);
const task = fc.tuple(
  machine,
  fc.constantFrom<Process>('UnitTest1', 'ShepherdAccess', 'ShepherdAgentStart', 'ShepherdRecovery'),
);
/** A daemon that dies in the middle of its work, which another takes over or the sweep ends. */
const dying: fc.Arbitrary<Command[]> = fc
  .tuple(session, below(2), several(task, 3), fc.constantFrom(16, 64, 304), fc.boolean())
  .map(([by, interval, tasks, seconds, swept]) => {
    const claims = (heir: number) =>
      tasks.map(([on, process]): Command => ({
        ...{ do: 'claim', session: heir, machine: on, process },
      }));
    return [
      { do: 'openSession', session: by, interval },
      ...claims(by),
      { do: 'pass', seconds },
      ...(swept ? [{ do: 'sweep' } as const] : claims((by + 1) % SESSIONS)),
    ];
  });
/** All machines are lost at once, and some are said to be elsewhere meanwhile. */
const crowding: fc.Arbitrary<Command[]> = fc
  .tuple(session, fc.array(location, { minLength: MACHINES, maxLength: MACHINES }))
  .map(([by, places]) =>
    places.flatMap((place, on): Command[] => [
      { do: 'claim', session: by, machine: on, process: 'ShepherdRecovery' },
      { do: 'updateProvided', session: by, machine: on, patch: { location: place } },
    ]),
  );
/** Creations on one slot that lead to nothing, and perhaps to a machine. */
const creating: fc.Arbitrary<Command[]> = fc
  .tuple(session, below(SLOTS), several(fc.boolean(), 2), fc.boolean())
  .map(([by, slot, penalties, adopted]) => [
    ...penalties.flatMap((penalty): Command[] => [
      { do: 'openIntent', session: by, slot, lease: null },
      { do: 'endIntent', session: by, intent: 0, state: 'failed', penalty },
      { do: 'pass', seconds: 3_608 },
    ]),
    { do: 'openIntent', session: by, slot, lease: null },
    ...(adopted
      ? ([{ do: 'adoptIntent', session: by, intent: 0, device: slot }] satisfies Command[])
      : []),
  ]);

/** A machine is given back, and its slot may be used again; something may come between. */
const returning: fc.Arbitrary<Command[]> = fc
  .tuple(session, session, below(SLOTS), fc.array(command, { maxLength: 3 }), fc.boolean())
  .map(([by, next, on, between, failing]) => [
    { do: 'requestDeprovision', machine: on },
    { do: 'claim', session: by, machine: on, process: 'ShepherdDeprovision' },
    { do: 'note', work: 0, note: 'deprovisionAsked' },
    ...between,
    ...(failing
      ? ([
          { do: 'end', work: 0, how: { fail: 1 } },
          { do: 'pass', seconds: 608 },
          { do: 'claim', session: by, machine: on, process: 'ShepherdDeprovision' },
        ] satisfies Command[])
      : []),
    { do: 'changes' },
    { do: 'end', work: 0, how: { finish: 'deprovisioned' } },
    { do: 'changes' },
    { do: 'lease', session: next, job: 0 },
    { do: 'openIntent', session: next, slot: on, lease: 0 },
    { do: 'adoptIntent', session: next, intent: 0, device: on },
  ]);
/** A device is searched for in vain for a while; the job changes hands meanwhile, or comes back. */
const searching: fc.Arbitrary<Command[]> = fc
  .tuple(session, session, below(SLOTS), several(fc.boolean(), 4), fc.nat(1))
  .map(([by, next, slot, looks, lease]) => [
    { do: 'lease', session: by, job: 0 },
    { do: 'openIntent', session: by, slot, lease: 0 },
    ...looks.flatMap((empty): Command[] => [
      { do: 'progressIntent', session: by, intent: 0, change: { empty } },
      { do: 'pass', seconds: 304 },
    ]),
    { do: 'scan' },
    { do: 'endIntent', session: by, intent: 0, state: 'abandoned', penalty: false },
    { do: 'releaseLease', lease: 0 },
    { do: 'lease', session: next, job: 0 },
    { do: 'openIntent', session: by, slot, lease },
  ]);
/** Somebody asks for a machine back that a hold preserves. */
const preserving: fc.Arbitrary<Command[]> = fc
  .tuple(machine, fc.constantFrom(null, -60, 604))
  .map(([on, untilS]) => [
    { do: 'hold', slot: on, kind: 'preserve', untilS },
    { do: 'requestDeprovision', machine: on },
    { do: 'read', machine: on },
  ]);
/** Holds of a provider that end, and are forgotten. */
const holding: fc.Arbitrary<Command[]> = several(plain(impose), 3).map((holds) => [
  ...holds.map((each): Command => ({ do: 'impose', ...each })),
  { do: 'pass', seconds: LONG_S },
  { do: 'sweep' },
]);

const stories: fc.Arbitrary<Command[]> = fc.oneof(
  { weight: 16, arbitrary: command.map((each) => [each]) },
  { weight: 2, arbitrary: episode('ShepherdRecovery', fc.constantFrom<Note>(...RUNGS)) },
  { weight: 1, arbitrary: episode('ShepherdAgentStart', fc.constant('agentStartAttempt')) },
  { weight: 1, arbitrary: reporting },
  { weight: 1, arbitrary: creating },
  { weight: 1, arbitrary: dying },
  { weight: 1, arbitrary: crowding },
  { weight: 2, arbitrary: returning },
  { weight: 1, arbitrary: holding },
  { weight: 1, arbitrary: searching },
  { weight: 1, arbitrary: preserving },
);

/** Sessions and some machines first: else most commands would find nothing to work on. */
export const scripts: fc.Arbitrary<Command[]> = fc
  .tuple(
    fc.array(seed, { minLength: 4, maxLength: MACHINES }),
    fc.array(stories, { minLength: 15, maxLength: 35, size: 'max' }),
  )
  .map(([seeds, rest]) => [
    ...Array.from({ length: SESSIONS }, (_, at): Command => ({
      ...{ do: 'openSession', session: at, interval: INTERVALS_S.length - 1 },
    })),
    ...seeds.map((each, at): Command => ({ do: 'insert', machine: at, seed: each })),
    ...rest.flat(),
  ]);
