import { machineId } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { KEY_HEX, ladderOn, machineRow, requestedAt } from '../../../contracts/bmdb-rows.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import { PROVIDERS, SECOND } from './commands.ts';
import type { Command, Seed } from './commands.ts';
import { NO_TRAITS } from '../../../../src/domain/traits.ts';

/** Commands that are none of the BMDB: what others write into its tables. */

export const idOf = (at: number): MachineId =>
  machineId(`00000000-0000-4000-8000-00000000000${at}`);

export async function hold(
  h: BmdbHarness,
  { slot, kind, untilS }: Extract<Command, { do: 'hold' }>,
): Promise<void> {
  const name = { provider: PROVIDERS[0]!, slotId: `slot-${slot}`, kind };
  const nowMs = h.nowMs();
  const untilMs = untilS === null ? null : nowMs + untilS * SECOND;
  await h.lift(name.provider, name.slotId, kind);
  await h.hold({ ...name, setBy: 'ann', reason: 'being moved', untilMs });
}

/** Not where a machine or a device of that name is already. */
export async function insert(
  h: BmdbHarness,
  { machine: at, seed }: Extract<Command, { do: 'insert' }>,
): Promise<void> {
  const { nowMs, machines } = await h.bmdb.scan(SIGNAL);
  const id = idOf(at);
  const row = rowOf(id, at, seed, nowMs);
  const taken = machines.some(
    ({ machineId: other, provided }) =>
      other === id ||
      (provided && row.provided && provided.reservationId === row.provided.reservationId),
  );
  if (!taken) await h.insert(row);
}

function rowOf(id: MachineId, at: number, seed: Seed, nowMs: number): MachineRow {
  const ago = (ageS: number | null) => (ageS === null ? null : nowMs - ageS * SECOND);
  const atMs = (ageS: number | null) => (ageS === null ? null : { atMs: nowMs - ageS * SECOND });
  const started = atMs(seed.startedAge);
  const heard = atMs(seed.heardAge);
  const provider = seed.provider === null ? null : PROVIDERS[seed.provider]!;
  const { location, status, rung } = seed;
  const until = { none: null, ended: nowMs - 60_000, ending: nowMs + 60_000, 'for ever': null };
  return {
    ...machineRow(nowMs),
    machineId: id,
    provided: provider && {
      provider,
      providerId: `seed-${at}`,
      ...NO_TRAITS,
      location,
      status,
      address: null,
      reservationId: seed.reserved ? `slot-${at}` : null,
    },
    agentStarted: started && { ...started, publicKey: KEY_HEX, bootId: null },
    heartbeat: heard && { ...heard, bootId: 'boot-0' },
    installation: {
      requestGeneration: seed.asked === null ? null : BigInt(seed.asked),
      handedOutAtMs: seed.asked === null ? null : ago(seed.handedOutAge),
      reportGeneration: seed.reported === null ? null : BigInt(seed.reported),
      reportResult: seed.reported === null ? null : seed.succeeded ? 'Success' : 'Error',
    },
    startAttempt: seed.failures === null ? null : { atMs: nowMs, count: seed.failures },
    recovery: rung && ladderOn(rung, { askedAtMs: nowMs - 96 * SECOND, askedRung: rung }),
    permit: seed.permit && provider !== null,
    quarantine:
      seed.quarantine === 'none'
        ? null
        : { kind: 'needsHuman', reason: 'test', untilMs: until[seed.quarantine] },
    deprovision: seed.deprovision ? requestedAt(nowMs) : null,
    missing: seed.missing && provider ? { sinceMs: nowMs - 96 * SECOND, seen: 2 } : null,
  };
}

export async function removeIfThere(h: BmdbHarness, id: MachineId): Promise<void> {
  if ((await h.bmdb.readMachine(id, SIGNAL)).row) await h.remove(id);
}

/** Nothing is asked of a machine that is not there. */
export async function request(
  h: BmdbHarness,
  { machine, generation }: Extract<Command, { do: 'request' }>,
): Promise<void> {
  const id = idOf(machine);
  const raw = new Uint8Array([generation]);
  if ((await h.bmdb.readMachine(id, SIGNAL)).row) await h.request(id, BigInt(generation), raw);
}

export async function withdraw(h: BmdbHarness, id: MachineId): Promise<void> {
  if ((await h.bmdb.readMachine(id, SIGNAL)).row) await h.withdraw(id);
}
