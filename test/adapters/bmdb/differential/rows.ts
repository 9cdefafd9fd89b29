import fc from 'fast-check';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow, ProviderStatus } from '../../../../src/domain/machine.ts';
import { PROVIDER_STATUSES } from '../../../../src/domain/machine.ts';
import { STANDING_RUNGS, type StandingRung } from '../../../../src/domain/recovery/rungs.ts';
import { NO_TRAITS } from '../../../../src/domain/traits.ts';
import { KEY_HEX, ladderOn, machineRow, requestedAt } from '../../../contracts/bmdb-rows.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import {
  idOf,
  location,
  maybe,
  plain,
  PROVIDERS,
  SECOND,
  seldom,
  type GeneratedBy,
} from './setting.ts';

const age = fc.constantFrom(0, 96, 704, 1_904, 3_696);
const generation = fc.integer({ min: 1, max: 3 });
/** A machine at the start, with ages in seconds. */
const anySeed = plain({
  reserved: fc.boolean(),
  provider: seldom<number | null>(0, fc.constantFrom(1, null)),
  location,
  status: seldom<ProviderStatus | null>('Running', maybe(fc.constantFrom(...PROVIDER_STATUSES))),
  startedAge: maybe(age),
  heardAge: maybe(age),
  asked: maybe(generation),
  reported: seldom<number | null>(null, generation),
  succeeded: fc.boolean(),
  handedOutAge: seldom<number | null>(null, age),
  failures: maybe(fc.nat(4)),
  rung: seldom<StandingRung | null>(null, fc.constantFrom(...STANDING_RUNGS)),
  permit: seldom(false, fc.constant(true)),
  quarantine: seldom('none', fc.constantFrom('ended', 'ending', 'for ever')),
  deprovision: seldom(false, fc.constant(true)),
  missing: seldom(false, fc.constant(true)),
});
export type Seed = GeneratedBy<typeof anySeed>;
/** Only the given facts block the machine. */
const sound = (change: Partial<Seed>): fc.Arbitrary<Seed> =>
  anySeed.map((any) => ({
    ...any,
    ...{ provider: 0, status: 'Running', asked: null, reported: null, handedOutAge: null },
    ...{ quarantine: 'none', deprovision: false, permit: false },
    ...change,
  }));
export const seed: fc.Arbitrary<Seed> = fc.oneof(
  { weight: 2, arbitrary: anySeed },
  { weight: 1, arbitrary: sound({ startedAge: null }) },
  { weight: 2, arbitrary: sound({ startedAge: 3_696, heardAge: null }) },
  { weight: 1, arbitrary: sound({ startedAge: 704, heardAge: 0 }) },
);

/** Does nothing if a machine or device of that name exists. */
export async function insert(h: BmdbHarness, at: number, given: Seed): Promise<void> {
  const { nowMs, machines } = await h.bmdb.scan(SIGNAL);
  const row = rowOf(idOf(at), at, given, nowMs);
  const taken = machines.some(
    ({ machineId, provided }) =>
      machineId === row.machineId ||
      (provided && row.provided && provided.reservationId === row.provided.reservationId),
  );
  if (!taken) await h.insert(row);
}

function rowOf(machineId: MachineId, at: number, given: Seed, nowMs: number): MachineRow {
  const ago = (ageS: number) => nowMs - ageS * SECOND;
  const number = (value: number | null) => (value === null ? null : BigInt(value));
  const { provider: which, location: place, status, rung, startedAge, heardAge } = given;
  const { asked, handedOutAge, reported, failures } = given;
  const provider = which === null ? null : PROVIDERS[which]!;
  const isHandedOut = asked !== null && handedOutAge !== null;
  const until: Record<string, number> = { ended: nowMs - 60_000, ending: nowMs + 60_000 };
  return {
    ...machineRow(nowMs),
    machineId,
    provided: provider && {
      ...{ provider, providerId: `seed-${at}`, address: null, ...NO_TRAITS },
      ...{ location: place, status, reservationId: given.reserved ? `slot-${at}` : null },
    },
    agentStarted:
      startedAge === null ? null : { atMs: ago(startedAge), publicKey: KEY_HEX, bootId: null },
    heartbeat: heardAge === null ? null : { atMs: ago(heardAge), bootId: 'boot-0' },
    installation: {
      requestGeneration: number(asked),
      handedOutAtMs: isHandedOut ? ago(handedOutAge) : null,
      reportGeneration: number(reported),
      reportResult: reported === null ? null : given.succeeded ? 'Success' : 'Error',
    },
    startAttempt: failures === null ? null : { atMs: nowMs, count: failures, unreached: 0 },
    recovery: rung && ladderOn(rung, { askedAtMs: ago(96), askedRung: rung }),
    permit: given.permit && provider !== null,
    quarantine:
      given.quarantine === 'none'
        ? null
        : {
            kind: 'needsHuman',
            reason: 'test',
            untilMs: until[given.quarantine] ?? null,
            cause: null,
          },
    deprovision: given.deprovision ? requestedAt(nowMs) : null,
    missing: given.missing && provider ? { sinceMs: ago(96), seen: 2 } : null,
  };
}
