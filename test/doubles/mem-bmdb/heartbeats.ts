import { storable } from '../../../src/domain/heartbeat.ts';
import type {
  HeartbeatOutcome,
  HeartbeatRecord,
  HeartbeatStore,
} from '../../../src/domain/heartbeat.ts';
import { handOutRefusal, installState } from '../../../src/domain/eligibility.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { FLEET } from '../../../src/domain/recovery/guard-judgement.ts';
import { LADDER_RESET_MS, PERMIT_RETURNED_AFTER } from '../../../src/domain/policy.ts';
import {
  humanNeededNoMore,
  installationHandedOut,
  installationReported,
} from '../../../src/adapters/bmdb/installation-events.ts';
import { AGENT_SOURCE, type ReportedCondition } from '../../../src/domain/conditions.ts';
import { HARDWARE_COMPLETE, missingHardware } from '../../../src/adapters/bmdb/missing-hardware.ts';
import { handOutAcceptance, storeAcceptance } from './acceptances.ts';
import { reportCondition } from './conditions.ts';
import { guardRow } from './guard-rows.ts';
import { endEpisode as endRecovery } from './episodes.ts';
import { writeEvent } from './records.ts';
import { circumstances, liveWork } from './rows.ts';
import { dropPermit, patch } from './tables.ts';
import type { MemMachine, Memory } from './tables.ts';

/** See `HeartbeatStore`. */
export const createHeartbeats = (memory: Memory): HeartbeatStore => ({
  recordHeartbeats: async (batch) => {
    return batch.map((each) => {
      const { record, fault } = storable(each);
      const outcome = recordOne(memory, record);
      const isSpoilt = outcome.kind === 'accepted' && fault !== null;
      return isSpoilt ? { kind: 'invalid', message: fault } : outcome;
    });
  },
  withoutHardware: async () => {
    const before = memory.now() - 120_000;
    return [...memory.machines.values()]
      .filter(({ row, hardwareReport }) => {
        const { agentStarted, heartbeat } = row;
        if (hardwareReport || !agentStarted || !heartbeat) return false;
        return agentStarted.atMs < before && heartbeat.atMs > memory.now() - 600_000;
      })
      .map(({ row }) => row.machineId);
  },
});

function recordOne(memory: Memory, record: HeartbeatRecord): HeartbeatOutcome {
  const machine = memory.machines.get(record.machineId);
  const key = Buffer.from(record.publicKey).toString('hex');
  if (!machine?.row.agentStarted || machine.row.agentStarted.publicKey !== key) {
    return { kind: 'unauthenticated' };
  }
  const atMs = beat(memory, machine, record.bootId);
  const missing = record.hardwareReport?.length
    ? storeHardware(machine, record.hardwareReport)
    : [];
  storeConditions(memory, machine, [
    ...missing,
    ...(record.conditions ?? []).filter(({ type }) => type !== 'hardware-missing'),
  ]);
  if (record.acceptance) storeAcceptance(memory, machine, record.acceptance);
  const { installationReport: report } = record;
  const { requestGeneration: asked } = machine.row.installation;
  if (report && asked !== null && report.generation > asked) {
    const message = `installation report for generation ${report.generation}, but only ${asked} was requested`;
    return { kind: 'invalid', message };
  }
  if (report && report.generation === asked) storeReport(memory, machine, report);
  const installationRequest = handOut(memory, machine);
  const acceptance = handOutAcceptance(memory, machine);
  return {
    kind: 'accepted',
    atMs,
    installationRequest,
    ...(installationRequest && asked !== null ? { requestGeneration: asked } : {}),
    ...(report?.result === 'Success' && mayReboot(memory, machine) ? { mayReboot: true } : {}),
    ...(acceptance && { acceptance }),
  };
}

function storeHardware(machine: MemMachine, report: Uint8Array): readonly ReportedCondition[] {
  const { hardwareReport: before, completeReport: complete } = machine;
  machine.hardwareReport = report;
  if (!before || Buffer.compare(before, report) === 0) return [];
  const missing = missingHardware(complete ?? before, report);
  machine.completeReport = missing ? (complete ?? before) : null;
  if (missing === 'unreadable') return [];
  return missing ? [missing] : complete ? [HARDWARE_COMPLETE] : [];
}

function storeConditions(
  memory: Memory,
  { row }: MemMachine,
  conditions: readonly ReportedCondition[],
): void {
  const { provided, machineId } = row;
  if (!provided) return;
  const slotId = provided.reservationId ?? provided.providerId;
  const common = { source: AGENT_SOURCE, validForMs: null, machineId, slotId };
  for (const each of conditions) {
    reportCondition(memory, { provider: provided.provider, ...each, ...common });
  }
}

/** The requested system is installed, no freeze forbids the reboot, and the machine is allocatable. */
function mayReboot(memory: Memory, { row }: MemMachine): boolean {
  const { provided } = row;
  if (installState(row) !== 'DONE' || !provided) return false;
  const scopes = [FLEET, provided.provider];
  if (scopes.some((scope) => guardRow(memory.guard, scope).frozen !== null)) return false;
  return handOutRefusal(row, circumstances(memory)) === null;
}

function beat(memory: Memory, machine: MemMachine, bootId: string | null): number {
  const { heartbeat, agentStarted } = machine.row;
  const now = memory.now();
  const atMs = Math.max(now, agentStarted!.atMs, heartbeat?.atMs ?? 0);
  const gapMs = 2 * memory.options.loss.periodMs;
  const unbroken = heartbeat !== null && heartbeat.atMs + gapMs >= now;
  machine.unbroken = unbroken
    ? { ...machine.unbroken, count: machine.unbroken.count + 1 }
    : { sinceMs: now, count: 1 };
  patch(machine, { heartbeat: { atMs, bootId: bootId ?? heartbeat?.bootId ?? null } });
  endEpisode(memory, machine, now);
  return atMs;
}

/** Not while somebody works on it, because then the end of that work decides. */
function endEpisode(memory: Memory, machine: MemMachine, nowMs: number): void {
  if (liveWork(memory, machine).length > 0) return;
  const { count, sinceMs } = machine.unbroken;
  if (count >= PERMIT_RETURNED_AFTER) dropPermit(memory, machine);
  const resetMs = memory.options.loss.ladderResetMs ?? LADDER_RESET_MS;
  if (nowMs < sinceMs + resetMs) return;
  if (machine.row.recovery) {
    patch(machine, { recovery: null });
    machine.coolDownSeconds = null;
    endRecovery(memory, machine, sinceMs);
    memory.touch(machine.row.machineId);
  }
  const { quarantine } = machine.row;
  if (quarantine?.kind !== 'needsHuman' || quarantine.cause !== null) return;
  patch(machine, { quarantine: null });
  writeEvent(memory, machine.row, humanNeededNoMore(memory.options.loss));
  memory.touch(machine.row.machineId);
}

function storeReport(
  memory: Memory,
  machine: MemMachine,
  report: NonNullable<HeartbeatRecord['installationReport']>,
): void {
  if (installState(machine.row) === 'DONE') return;
  const { generation, result } = report;
  const { reportGeneration, reportResult } = machine.row.installation;
  setInstallation(machine, { reportGeneration: generation, reportResult: result });
  if (reportGeneration !== generation || reportResult !== result) {
    writeEvent(memory, machine.row, installationReported(report));
  }
  memory.touch(machine.row.machineId);
}

function handOut(memory: Memory, machine: MemMachine): Uint8Array | null {
  if (installState(machine.row) !== 'PENDING') return null;
  if (handOutRefusal(machine.row, circumstances(memory)) !== null) return null;
  const { handedOutAtMs, requestGeneration } = machine.row.installation;
  if (handedOutAtMs === null) {
    setInstallation(machine, { handedOutAtMs: memory.now() });
    writeEvent(memory, machine.row, installationHandedOut(requestGeneration!));
    memory.touch(machine.row.machineId);
  }
  return machine.request;
}

const setInstallation = (machine: MemMachine, change: Partial<MachineRow['installation']>): void =>
  patch(machine, { installation: { ...machine.row.installation, ...change } });
