import {
  ACCEPTANCE_SOURCE,
  ANSWER_MS,
  firstState,
  whyNotAccepted,
  type AcceptanceCause,
  type AcceptanceCheck,
  type AcceptanceProfile,
  type AcceptanceReport,
  type AcceptanceRequest,
  type AcceptanceRow,
  type Inventory,
} from '../../../src/domain/acceptance.ts';
import {
  acceptedLine,
  failedCondition,
  PARTS_ACCEPTED,
  provenConditions,
} from '../../../src/adapters/bmdb/acceptance-events.ts';
import type { AcceptanceRepository } from '../../../src/adapters/bmdb/port.ts';
import { AGENT_SOURCE } from '../../../src/domain/conditions.ts';
import { reportCondition } from './conditions.ts';
import { plain } from './plain.ts';
import { writeEvent } from './records.ts';
import { patch, type MemMachine, type Memory } from './tables.ts';

/** See `AcceptanceRepository`. */
export const createAcceptanceRepository = (memory: Memory): AcceptanceRepository => ({
  read: async (machine) => {
    const found = memory.machines.get(machine)?.acceptance;
    return found ? { profile: found.profile, checks: found.checks } : null;
  },
  request: async (machines) => {
    for (const id of machines) {
      const machine = memory.machines.get(id);
      if (machine) requestAcceptance(memory, machine, 'repaired');
    }
  },
  begin: async (machines) => {
    for (const id of machines) {
      const machine = memory.machines.get(id);
      if (machine?.row.acceptance?.state !== 'waiting') continue;
      change(machine, { state: 'due', askedAtMs: memory.now() });
      memory.touch(id);
    }
  },
});

/** The columns of an acceptance that are no part of the machine's row. */
export interface MemAcceptance {
  readonly id: bigint;
  readonly profile: AcceptanceProfile | null;
  readonly checks: readonly AcceptanceCheck[];
  readonly inventory: Inventory | null;
}

/** A new request replaces the last one, but keeps its inventory. */
export function requestAcceptance(
  memory: Memory,
  machine: MemMachine,
  cause: AcceptanceCause,
): void {
  const before = machine.row.acceptance;
  const isPassed = before?.state === 'passed';
  const isOpen = before?.state === 'waiting' || before?.state === 'due';
  if (cause === 'repaired' && isOpen) return;
  const isProven = cause === 'repaired' && (machine.acceptance?.inventory ?? null) !== null;
  const stays = before?.state === 'failed' || (before?.held && !isPassed);
  patch(machine, {
    acceptance: {
      ...{
        state: firstState(cause),
        cause,
        held: !['asked', 'repaired'].includes(cause) || stays === true || isProven,
        reason: '',
      },
      ...{ askedAtMs: memory.now(), handedOutAtMs: null, endedAtMs: null },
    },
  });
  machine.acceptance = {
    ...{ id: BigInt(memory.nextNumber()), profile: null, checks: [] },
    inventory: machine.acceptance?.inventory ?? null,
  };
  memory.touch(machine.row.machineId);
}

/** With the start of an agent. */
export function acceptStart(memory: Memory, machine: MemMachine): void {
  const { acceptance } = machine.row;
  if (!acceptance && !machine.hardwareReport) requestAcceptance(memory, machine, 'first');
  else if (acceptance?.state === 'due') change(machine, { handedOutAtMs: null });
}

const change = (machine: MemMachine, changed: Partial<AcceptanceRow>): void =>
  patch(machine, { acceptance: { ...machine.row.acceptance!, ...changed } });

export function storeAcceptance(
  memory: Memory,
  machine: MemMachine,
  report: AcceptanceReport,
): void {
  const { row, acceptance } = machine;
  const { provided, machineId } = row;
  if (row.acceptance?.state !== 'due' || acceptance?.id !== report.id || !provided) return;
  const why = whyNotAccepted(report.checks);
  const state = why === null ? 'passed' : 'failed';
  change(machine, { state, reason: why ?? '', endedAtMs: memory.now() });
  const inventory = why === null ? plain(report.found) : acceptance.inventory;
  machine.acceptance = { ...acceptance, checks: plain(report.checks), inventory };
  writeEvent(memory, machine.row, acceptedLine(why ?? ''));
  const slotId = provided.reservationId ?? provided.providerId;
  const common = { provider: provided.provider, slotId, machineId, validForMs: null };
  const own = { ...failedCondition(why ?? ''), source: ACCEPTANCE_SOURCE };
  reportCondition(memory, { ...common, ...own });
  if (why === null) {
    const parts = machine.completeReport ? [PARTS_ACCEPTED] : [];
    machine.completeReport = null;
    for (const each of [...provenConditions(report.checks), ...parts])
      reportCondition(memory, { ...common, ...each, source: AGENT_SOURCE });
  }
  memory.touch(machineId);
}

export function handOutAcceptance(memory: Memory, machine: MemMachine): AcceptanceRequest | null {
  const { acceptance: row, provided } = machine.row;
  if (row?.state !== 'due' || !provided) return null;
  if (row.handedOutAtMs !== null) {
    if (row.handedOutAtMs + ANSWER_MS <= memory.now()) return null;
  } else {
    const policy = memory.options.acceptance?.[provided.provider];
    const profile = plain({ ...machine.acceptance!.inventory, ...policy });
    machine.acceptance = { ...machine.acceptance!, profile };
    change(machine, { handedOutAtMs: memory.now() });
    memory.touch(machine.row.machineId);
  }
  return { id: machine.acceptance!.id, profile: machine.acceptance!.profile! };
}
