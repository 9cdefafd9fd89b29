import fc from 'fast-check';
import { ORDER_VERBS } from '../../../../src/domain/verbs.ts';
import type { Process } from '../../../../src/domain/machine.ts';
import { STANDING_RUNGS } from '../../../../src/domain/recovery/rungs.ts';
import { command, impose } from './commands.ts';
import type { Command } from './commands.ts';
import { asked, type GeneratedRequest } from './requests.ts';
import { seed } from './rows.ts';
import {
  below,
  INTERVALS_S,
  location,
  LONG_S,
  machine,
  MACHINES,
  plain,
  seldom,
  session,
  SESSIONS,
  several,
  SLOTS,
  STEPS_S,
} from './setting.ts';
import { beat, ending } from './works.ts';
import type { Note } from './works.ts';

const pass = fc.constantFrom(...STEPS_S).map((seconds): Command => ({ do: 'pass', seconds }));

/** Several rounds of work on one machine from claim to end: waits grow and ladders are climbed. */
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
/**
 * A daemon that dies in the middle of its work. Another daemon takes the work over, or the sweep
 * ends it.
 */
const dying: fc.Arbitrary<Command[]> = fc
  .tuple(session, below(2), several(task, 3), fc.constantFrom(16, 64, 304), fc.boolean())
  .map(([by, interval, tasks, seconds, swept]) => {
    const claims = (heir: number) =>
      tasks.map(([on, process]): Command => ({ do: 'claim', session: heir, machine: on, process }));
    return [
      { do: 'openSession', session: by, interval },
      ...claims(by),
      { do: 'pass', seconds },
      ...(swept ? [{ do: 'sweep' } as const] : claims((by + 1) % SESSIONS)),
    ];
  });
/** All machines are lost at once, and some are reported elsewhere meanwhile. */
const crowding: fc.Arbitrary<Command[]> = fc
  .tuple(session, fc.array(location, { minLength: MACHINES, maxLength: MACHINES }))
  .map(([by, places]) =>
    places.flatMap((place, on): Command[] => [
      { do: 'claim', session: by, machine: on, process: 'ShepherdRecovery' },
      { do: 'updateProvided', session: by, machine: on, patch: { location: place } },
    ]),
  );
/** Failed creations on one slot, perhaps followed by a machine. */
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

/** A request with an end, and its end. */
const lasting: fc.Arbitrary<Command[]> = fc
  .tuple(
    session,
    machine,
    asked,
    fc.constantFrom<GeneratedRequest['verb']>('hold', 'quarantine'),
    fc.constantFrom(-60, 60, 604),
  )
  .map(([by, on, any, verb, untilS]) => [
    submitted(by, on, { ...any, verb, untilS, elsewhere: false }, 'once'),
    { do: 'pass', seconds: 104 },
    { do: 'read', machine: on },
  ]);
const submitted = (
  by: number,
  on: number,
  asked: GeneratedRequest,
  at: 'once' | 'later',
): Command => ({ do: 'file', session: by, machine: on, asked, reuse: null, validS: 604, at });
const askedTo = (verb: GeneratedRequest['verb'], flag = false): GeneratedRequest => ({
  verb,
  flag,
  kind: 'no-start',
  untilS: null,
  elsewhere: false,
});

/** Ordered work, done by any session, perhaps with other commands in between. */
const ordering: fc.Arbitrary<Command[]> = fc
  .tuple(
    fc.tuple(session, session, machine),
    fc.constantFrom(...ORDER_VERBS),
    fc.array(command, { maxLength: 2 }),
    fc.constantFrom<Note>(...STANDING_RUNGS, 'recoveryAccepted'),
    ending,
    fc.constantFrom(8, 16, 64, 608),
  )
  .map(([[by, next, on], verb, between, noted, how, seconds]) => [
    submitted(by, on, askedTo(verb), 'later'),
    ...between,
    { do: 'changes' },
    {
      do: 'claim',
      session: next,
      machine: on,
      process: verb === 'reinstall' ? 'ShepherdReinstall' : 'ShepherdRecovery',
    },
    { do: 'note', work: 0, note: noted },
    { do: 'settle', session: by, request: 0 },
    { do: 'end', work: 0, how },
    { do: 'pass', seconds },
    { do: 'settle', session: by, request: 0 },
    { do: 'requests' },
  ]);

/** A machine is given back and its slot becomes usable, perhaps with other commands in between. */
const returning: fc.Arbitrary<Command[]> = fc
  .tuple(session, session, below(SLOTS), fc.array(command, { maxLength: 3 }), fc.boolean())
  .map(([by, next, on, between, failing]) => [
    submitted(by, on, askedTo('deprovision'), 'once'),
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
/** A fruitless search for a device. The job changes hands meanwhile, or comes back. */
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
/** A request for the return of a machine that a hold preserves. */
const preserving: fc.Arbitrary<Command[]> = fc
  .tuple(session, machine, fc.constantFrom(null, -60, 604))
  .map(([by, on, untilS]) => [
    { do: 'hold', slot: on, kind: 'preserve', untilS },
    submitted(by, on, askedTo('deprovision'), 'once'),
    { do: 'read', machine: on },
  ]);
/** Holds of a provider that end and are forgotten. */
const holding: fc.Arbitrary<Command[]> = several(plain(impose), 3).map((holds) => [
  ...holds.map((each): Command => ({ do: 'impose', ...each })),
  { do: 'pass', seconds: LONG_S },
  { do: 'sweep' },
]);

/** Two writers of the same few records, one perhaps with an old read. */
const keeping: fc.Arbitrary<Command[]> = several(
  fc.record({
    session,
    key: below(2),
    act: fc.constantFrom('make' as const, 'replace' as const, 'drop' as const),
    value: below(9),
    version: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: below(4) }),
  }),
  8,
).map((writes) => [
  ...writes.map((each): Command => ({ do: 'keepRecord', ...each })),
  { do: 'records' },
]);
/** A controller shared by several machines blocks their recovery. */
const resetting: fc.Arbitrary<Command[]> = fc
  .tuple(session, several(fc.tuple(machine, fc.boolean()), 3), fc.constantFrom(64, LONG_S))
  .map(([by, asks, seconds]) => [
    ...asks.flatMap(([on, refused]): Command[] => [
      { do: 'claim', session: by, machine: on, process: 'ShepherdRecovery' },
      { do: 'note', work: 0, note: 'controllerResetAsked' },
      ...(refused ? ([{ do: 'note', work: 0, note: 'controllerResetRefused' }] as const) : []),
    ]),
    { do: 'pass', seconds },
    { do: 'note', work: 0, note: 'controllerResetAsked' },
  ]);

const stories: fc.Arbitrary<Command[]> = fc.oneof(
  { weight: 16, arbitrary: command.map((each) => [each]) },
  { weight: 2, arbitrary: episode('ShepherdRecovery', fc.constantFrom<Note>(...STANDING_RUNGS)) },
  { weight: 1, arbitrary: episode('ShepherdAgentStart', fc.constant('agentStartAttempt')) },
  { weight: 1, arbitrary: reporting },
  { weight: 1, arbitrary: creating },
  { weight: 1, arbitrary: dying },
  { weight: 1, arbitrary: crowding },
  { weight: 2, arbitrary: returning },
  { weight: 1, arbitrary: holding },
  { weight: 1, arbitrary: searching },
  { weight: 1, arbitrary: preserving },
  { weight: 1, arbitrary: lasting },
  { weight: 3, arbitrary: ordering },
  { weight: 1, arbitrary: keeping },
  { weight: 1, arbitrary: resetting },
);

/** Sessions and some machines come first, or most commands would have no object. */
export const scripts: fc.Arbitrary<Command[]> = fc
  .tuple(
    fc.array(seed, { minLength: 4, maxLength: MACHINES }),
    fc.array(stories, { minLength: 15, maxLength: 35, size: 'max' }),
  )
  .map(([seeds, rest]) => [
    ...Array.from({ length: SESSIONS }, (_, at): Command => ({
      do: 'openSession',
      session: at,
      interval: INTERVALS_S.length - 1,
    })),
    ...seeds.map((each, at): Command => ({ do: 'insert', machine: at, seed: each })),
    ...rest.flat(),
  ]);
