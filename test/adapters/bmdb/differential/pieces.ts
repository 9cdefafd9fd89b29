import fc from 'fast-check';
import {
  PROCESSES,
  PROVIDER_HOLD_KINDS,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
} from '../../../../src/domain/machine.ts';
import { DECISION_VERBS, GUARD_VERBS, ORDER_VERBS } from '../../../../src/domain/verbs.ts';
import type { HoldKind, Process, ProviderStatus } from '../../../../src/domain/machine.ts';
import { DESCRIPTORS, JOBS, MACHINES, PROVIDERS, SESSIONS, SLOTS, STEPS_S } from './commands.ts';
import type { Asked, Beat, Command, Ending, Note, Seed } from './commands.ts';
import { STANDING_RUNGS, type StandingRung } from '../../../../src/domain/recovery/rung-names.ts';

/** Without this, counterexamples are hard to read. */
export const plain = <T>(parts: { [Part in keyof T]: fc.Arbitrary<T[Part]> }): fc.Arbitrary<T> =>
  fc.record<T>(parts, { noNullPrototype: true });
export const below = (count: number) => fc.nat(count - 1);
export const session = below(SESSIONS);
export const machine = below(MACHINES);
/** Recent ones are of more interest than those of long ago. */
const recent = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(3));
const age = fc.constantFrom(0, 96, 704, 1_904, 3_696);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
export const seldom = <T>(usual: T, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary });
const process = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Process>('ShepherdAgentStart', 'ShepherdRecovery') },
  { weight: 2, arbitrary: fc.constantFrom(...PROCESSES) },
);
/** Its outcome does not depend on the order within a batch. */
const batchable = fc.constantFrom<Process>('ShepherdAgentStart', 'UnitTest1', 'ShepherdAccess');
export const location = fc.constantFrom(null, 'ny', 'la');
export const hold = fc.constantFrom<HoldKind>('no-start', 'no-recover', 'no-allocate', 'preserve');
export const scope = fc.constantFrom('fleet', ...PROVIDERS);

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
  rung: seldom<StandingRung | null>(null, fc.constantFrom(...STANDING_RUNGS)),
  permit: seldom(false, fc.constant(true)),
  quarantine: seldom('none', fc.constantFrom('ended', 'ending', 'for ever')),
  deprovision: seldom(false, fc.constant(true)),
  missing: seldom(false, fc.constant(true)),
});
/** Nothing stands against it but what is given. */
const sound = (change: Partial<Seed>): fc.Arbitrary<Seed> =>
  anySeed.map((any) => ({
    ...any,
    provider: 0,
    status: 'Running',
    asked: null,
    reported: null,
    handedOutAge: null,
    quarantine: 'none',
    deprovision: false,
    permit: false,
    ...change,
  }));
export const seed: fc.Arbitrary<Seed> = fc.oneof(
  { weight: 2, arbitrary: anySeed },
  { weight: 1, arbitrary: sound({ startedAge: null }) },
  { weight: 2, arbitrary: sound({ startedAge: 3_696, heardAge: null }) },
  { weight: 1, arbitrary: sound({ startedAge: 704, heardAge: 0 }) },
);

export const note = fc.oneof(
  fc.constantFrom<Note>(
    ...(['agentStartAttempt', 'recoveryRefused', 'recoveryDenied'] as const),
    ...(['powerOnAccepted', 'recoveryAccepted', 'deprovisionAsked'] as const),
    ...(['powerSeenOff', 'hostKeyProved'] as const),
  ),
  fc.constantFrom<Note>(...STANDING_RUNGS),
);
const descriptor = below(DESCRIPTORS.length);
export const ending: fc.Arbitrary<Ending> = fc.oneof(
  plain({
    finish: fc.constantFrom('nothing', 'agentStarted', 'recovered', 'deprovisioned', 'letGo'),
  }),
  plain({ fail: descriptor }),
  plain({ fail: descriptor, park: fc.constantFrom(...QUARANTINE_KINDS) }),
  plain({ cancel: maybe(fc.constant('no longer wanted')) }),
);
export const beat: fc.Arbitrary<Beat> = plain({
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

export const impose = {
  kind: fc.constantFrom(...PROVIDER_HOLD_KINDS),
  key: below(2),
  forS: fc.constantFrom(0, 60, 604),
  level: fc.integer({ min: 1, max: 3 }),
  amount: maybe(fc.nat(3)),
};

export const asked: fc.Arbitrary<Asked> = plain({
  verb: fc.constantFrom<Asked['verb'][]>(
    ...ORDER_VERBS,
    ...DECISION_VERBS,
    ...DECISION_VERBS,
    ...GUARD_VERBS,
  ),
  kind: hold,
  untilS: fc.constant(null),
  flag: fc.boolean(),
  elsewhere: seldom(false, fc.constant(true)),
});
const reuse = seldom<number | null>(null, fc.nat(2));
const validS = fc.constantFrom(60, 604, 604, 100_004);
const at = fc.constantFrom('once', 'later', 'later');

export const command: fc.Arbitrary<Command> = fc.oneof(
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
  kind(5, 'file', { session, machine, asked, reuse, validS, at }),
  kind(3, 'settle', { session, request: recent }),
  kind(1, 'requests', {}),
  kind(1, 'withdraw', { machine }),
  kind(1, 'resumeIntent', { session, intent: recent }),
  kind(1, 'progressIntent', {
    session,
    intent: recent,
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
    session,
    intent: recent,
    penalty: fc.boolean(),
    state: fc.constantFrom('failed', 'abandoned'),
  }),
  kind(5, 'beats', { beats: fc.array(beat, { minLength: 1, maxLength: 4 }) }),
  kind(1, 'request', { machine, generation: fc.integer({ min: 1, max: 3 }) }),
  kind(2, 'hold', { slot: machine, kind: hold, untilS: fc.constantFrom(null, -60, 60, 604) }),
  kind(1, 'lift', { slot: machine, kind: hold }),
  kind(1, 'freeze', { scope }),
  kind(2, 'thaw', { scope }),
  kind(2, 'updateProvided', {
    session,
    machine,
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
    process,
    provider: maybe(below(PROVIDERS.length)),
    limit: fc.integer({ min: 1, max: MACHINES }),
  }),
);
