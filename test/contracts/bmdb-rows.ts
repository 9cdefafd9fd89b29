import { randomUUID } from 'node:crypto';
import { emptyRow } from '../doubles/mem-bmdb/tables.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import type { LadderRow, MachineRow, Provided } from '../../src/domain/machine.ts';
import { NO_TRAITS } from '../../src/domain/traits.ts';
import type { StandingRung } from '../../src/domain/recovery/rungs.ts';
import { byProcess, type Counts } from '../../src/domain/statistics.ts';
import type { InstallImage } from '../../src/domain/verbs.ts';
import { deprovisionAsked, ladderRow } from '../support/facts.ts';

export const MINUTE = 60_000;
export const PROVIDER = providerName('metal');
/** The profile of its machines. */
export const ACCEPTANCE = { [PROVIDER]: { memoryGiB: 64 } };
export const KEY = new Uint8Array(32).fill(7);
export const KEY_HEX = '07'.repeat(32);

/** The note that a reboot is requested. */
export const ASKED = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;

export const IMAGE: InstallImage = {
  url: 'https://images.test/a.img',
  sha256: 'ab'.repeat(32),
  compression: 'gzip',
  rootDevice: { name: 'vda' },
};

/** A machine with hardware and nothing else. */
export function machineRow(nowMs: number, change: Partial<MachineRow> = {}): MachineRow {
  const id = machineId(randomUUID());
  return { ...emptyRow(id, nowMs), provided: providedOf(id.slice(0, 8)), ...change };
}

export const providedOf = (name: string, change: Partial<Provided> = {}): Provided => ({
  provider: PROVIDER,
  providerId: `device-${name}`,
  reservationId: `reservation-${name}`,
  address: '127.0.0.1:22',
  ...NO_TRAITS,
  location: 'ny',
  status: 'Running',
  ...change,
});

/** An agent that was started then and has been silent since. */
export const startedAt = (atMs: number): Pick<MachineRow, 'agentStarted'> => ({
  agentStarted: { atMs, publicKey: KEY_HEX, bootId: 'boot-1' },
});

/** Ann requested then to give the machine back, and nothing happened yet. */
export const requestedAt = (atMs: number): NonNullable<MachineRow['deprovision']> =>
  deprovisionAsked({ requestedAtMs: atMs, reason: 'no longer needed' });

/** The statistics of an empty database. */
export const NOTHING_COUNTED: Counts = {
  machines: 0,
  provided: 0,
  heartbeating: 0,
  installationPending: 0,
  installed: 0,
  installationFailed: 0,
  pendingAgentStart: 0,
  pendingRecovery: 0,
  activeWork: byProcess(() => 0),
  activeBackoffs: byProcess(() => 0),
};

/** A row of the ladder on this rung, with defaults elsewhere. */
export const ladderOn = (rung: StandingRung, change: Partial<LadderRow> = {}): LadderRow =>
  ladderRow({ rung, attempts: 1, ...change });
