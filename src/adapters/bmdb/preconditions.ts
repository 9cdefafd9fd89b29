import assert from 'node:assert';
import type { MachineRow, Process } from '../../domain/machine.ts';
import type { FinishChange, MemberChange } from './port.ts';

/** Checks on callers of the port, and texts of the log, shared by every implementation. */

/** Maximum length of a job's name, in UTF-16 code units. */
export const JOB_NAME_MAX = 128;
/** Maximum duration of a provider's hold (90 days). */
export const HOLD_MAX_MS = 90 * 86_400_000;

/** @throws {RangeError} the name is empty or too long. */
export function requireJobName(name: string): void {
  if (name !== '' && name.length <= JOB_NAME_MAX) return;
  throw new RangeError(
    `a job's name must have 1 to ${JOB_NAME_MAX} characters, not ${name.length}`,
  );
}

/**
 * Duration of a hold: as requested, at most `HOLD_MAX_MS`.
 * @throws {RangeError} `forMs` is no duration, or `level` or `amount` is no count.
 */
export function holdForMs(hold: {
  readonly forMs: number;
  readonly level: number;
  readonly amount?: number;
}): number {
  const { forMs, level, amount = 0 } = hold;
  if (Number.isNaN(forMs) || forMs < 0) throw new RangeError(`a hold cannot last ${forMs} ms`);
  if (!Number.isSafeInteger(level) || level < 1) throw new RangeError(`level ${level} of a hold`);
  if (!Number.isSafeInteger(amount) || amount < 0)
    throw new RangeError(`amount ${amount} of a hold`);
  return Math.min(forMs, HOLD_MAX_MS);
}

/** @throws {RangeError} two changes concern one machine, or a change lacks a required field. */
export function requireChanges(changes: readonly MemberChange[]): void {
  const machines = new Set(changes.map((each) => each.machineId));
  if (machines.size < changes.length) throw new RangeError('two changes concern one member');
  for (const { machineId, to, graceMs, how, sessions } of changes) {
    const of = `member ${machineId}`;
    if (to === 'drained' && how === undefined) throw new RangeError(`how was ${of} drained?`);
    if (to === 'draining' && !isPeriod(graceMs)) {
      throw new RangeError(`${of} cannot drain for ${graceMs} ms`);
    }
    if (typeof sessions === 'number' && !(Number.isSafeInteger(sessions) && sessions >= 0)) {
      throw new RangeError(`${of} cannot have ${sessions} connections`);
    }
  }
}

const isPeriod = (ms: number | undefined): boolean =>
  ms !== undefined && ms >= 0 && ms <= HOLD_MAX_MS;

/** Only work that gives a machine back may delete it. */
export function requireFitting(process: Process, change: FinishChange): void {
  const isFitting = change.kind !== 'deprovisioned' || process === 'ShepherdDeprovision';
  assert(isFitting, `${process} cannot end with a deprovisioned machine`);
}

/** A line of the slot's log: what was done, and for whom. @param row as it was at the claim. */
export function orderedText(
  what: string,
  { order }: Pick<MachineRow, 'order'>,
  key: string | null,
): string {
  if (key === null) return what;
  return order?.key === key
    ? `${what}, ordered by ${order.by}: ${order.reason}`
    : `${what}, ordered`;
}

export type Deprovisioned = Extract<FinishChange, { kind: 'deprovisioned' }>;

/** Lines of the slot's log for a machine that was given back. @param row as it was at the claim. */
export function deprovisionedLines(
  { provided }: Pick<MachineRow, 'provided'>,
  { bar, remark }: Deprovisioned,
): { readonly kind: string; readonly reason: string }[] {
  const device = `device ${provided?.providerId ?? ''}`;
  return [
    { kind: 'deprovisioned', reason: remark === undefined ? device : `${device}; ${remark}` },
    ...(bar ? [{ kind: 'held', reason: `no-allocate: ${bar.reason}` }] : []),
  ];
}
