import { isHeld } from '../../../src/domain/eligibility.ts';
import type { ProviderName } from '../../../src/domain/ids.ts';
import { patch, type MemMachine, type Memory } from './tables.ts';

/** Retires the slot; a hold `retired` that is there stays. */
export function setRetired(
  memory: Memory,
  provider: ProviderName,
  slotId: string,
  { by: setBy, reason }: { readonly by: string; readonly reason: string },
): void {
  const isThere = memory.holds.some(
    (each) => each.kind === 'retired' && each.provider === provider && each.slotId === slotId,
  );
  if (isThere) return;
  const hold = { provider, slotId, kind: 'retired', setBy, reason, untilMs: null } as const;
  memory.holds = [...memory.holds, hold];
  memory.wake();
}

/** Files the request to give a retired machine back; the hold keeps its slot free. */
export function giveBackRetired(memory: Memory, machine: MemMachine, requestedBy: string): void {
  const { quarantine, deprovision } = machine.row;
  if (quarantine?.cause !== 'retired' || deprovision !== null) return;
  if (isHeld(machine.row, 'preserve', { holds: memory.holds, nowMs: memory.now() })) return;
  const asked = { requestedAtMs: memory.now(), requestedBy, attempts: 0, askedAtMs: null };
  const reason = `retired: ${quarantine.reason}`;
  const request = { ...asked, reason, drain: null, returnToPool: true };
  patch(machine, { quarantine: null, deprovision: request });
}
