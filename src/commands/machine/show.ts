import { ladderOf } from '../../config.ts';
import { NotFound } from '../../domain/errors.ts';
import { installState } from '../../domain/eligibility.ts';
import type { MachineRow } from '../../domain/machine.ts';
import { summaryOf } from './listing.ts';
import { byName, type Selected } from './selection.ts';
import { readFleet, type Means, type Told } from './command.ts';
import { fingerprintOf } from '../../adapters/ssh/port.ts';
import { showText, type SlotDetails } from './show-text.ts';
import { jsonLine } from '../text-table.ts';

const LAST_REQUESTS = 10;

/**
 * `shepherd machine show`: what a person needs to know of one machine, or of a slot without one.
 * @throws {UsageError} that is no name. @throws {NotFound} the BMDB knows nothing of it.
 */
export async function showMachine(name: string, json: boolean, means: Means): Promise<Told> {
  const details = await readDetails(name, means);
  const text = json ? jsonLine(asJson(details)) : showText(details, means.width);
  return { text, exitCode: 0 };
}

async function readDetails(name: string, means: Means): Promise<SlotDetails> {
  const { bmdb, signal } = means;
  const fleet = await readFleet(means);
  const selected = byName(fleet, name, false);
  const { slot, provider, slotId, entry } = selected;
  const requests = await bmdb.requests.list({ provider, slotId, limit: LAST_REQUESTS }, signal);
  const holds = fleet.read.holds.filter(
    (hold) => hold.provider === provider && hold.slotId === slotId,
  );
  if (entry === null && requests.length + holds.length === 0) {
    throw new NotFound(
      `nothing is recorded of slot ${slot}; "shepherd machines" has those there are`,
    );
  }
  const row = rowMeant(selected);
  return {
    nowMs: fleet.read.nowMs,
    selected,
    row,
    holds,
    requests,
    ladder: ladderOf(means.config, provider),
    quarantinedBy: row?.quarantine ? await quarantinedBy(row, means) : null,
    installFailure: row && installState(row) === 'FAILED' ? await installFailure(row, means) : null,
    startWarning: row?.agentStarted ? await startWarning(row, means) : null,
  };
}

/** Where several claim a slot, the one that was named. */
function rowMeant({ entry, machineId }: Selected): MachineRow | null {
  const rows = entry?.rows ?? [];
  return rows.find((row) => row.machineId === machineId) ?? rows[0] ?? null;
}

const EVENTS_READ = 1_000;

async function installFailure(
  { machineId, installation: { reportGeneration } }: MachineRow,
  { bmdb, signal }: Means,
): Promise<string | null> {
  const lines = await bmdb.inspection.events({ machineId, limit: EVENTS_READ }, signal);
  const head = `generation ${reportGeneration}: Error: `;
  const found = lines.findLast(
    ({ kind, reason }) => kind === 'installReported' && reason.startsWith(head),
  );
  return found?.reason.slice(head.length) ?? null;
}

/** Among it what the agent before it wrote last, which had nobody else to tell. */
async function startWarning(
  { machineId }: MachineRow,
  { bmdb, signal }: Means,
): Promise<string | null> {
  const lines = await bmdb.inspection.events({ machineId, limit: EVENTS_READ }, signal);
  const { reason = '' } = lines.findLast(({ kind }) => kind === 'agentStarted') ?? {};
  return reason === '' ? null : reason.replaceAll(/\s+/g, ' ');
}

async function quarantinedBy({ machineId }: MachineRow, means: Means): Promise<string | null> {
  const { machines } = await means.bmdb.inspection.machines({ machineId }, means.signal);
  const fields = machines[0]?.tags['Quarantined'];
  return fields?.find(({ name }) => name === 'set_by')?.value ?? null;
}

function asJson({ nowMs, selected, row, holds, requests, ...details }: SlotDetails) {
  const { quarantinedBy, installFailure, startWarning } = details;
  const { slot, provider, slotId, entry } = selected;
  return {
    atMs: nowMs,
    slot,
    provider,
    slotId,
    summary: entry && summaryOf(entry),
    machine: row && { ...row, installation: installationJson(row) },
    hostKeyFingerprint: row && row.hostKey !== null ? fingerprintOf(row.hostKey) : null,
    quarantinedBy,
    installFailure,
    startWarning,
    holds,
    penalty: entry?.facts.penalty ?? null,
    creation: entry?.facts.intent ?? null,
    requests,
  };
}

/** JSON has no integers of 64 bits. */
function installationJson({ installation }: MachineRow) {
  const { requestGeneration, reportGeneration, ...rest } = installation;
  return {
    ...rest,
    requestGeneration: requestGeneration?.toString() ?? null,
    reportGeneration: reportGeneration?.toString() ?? null,
  };
}
