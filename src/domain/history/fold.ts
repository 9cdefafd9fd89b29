/** One event of a slot, or of the work on its machine. */
export interface SlotLine {
  /** Database clock, epoch ms. */
  readonly atMs: number;
  readonly of: 'slot' | 'work';
  /** The tenancy at that time; null: none. */
  readonly machineId: string | null;
  /** Of the slot's log, such as `quarantined`; of work, its beginning or end, such as `Failed`. */
  readonly kind: string;
  /** Of work: the process; null: the line is no work. */
  readonly process: string | null;
  /** A component or a person; null: unknown. */
  readonly actor: string | null;
  readonly reason: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly sessionId: string | null;
}

/** An event that happened once, or several times in a row. */
export interface FoldedLine extends SlotLine {
  /** Number of lines it replaces; it shows the latest one. */
  readonly count: number;
  /** Time of the first of these lines. */
  readonly sinceMs: number;
  /** The event is a failure. */
  readonly isFailure: boolean;
}

/** Kinds of the slot's log that report a failure. */
const FAILURES: ReadonlySet<string> = new Set([
  'workFailed',
  'requestRefused',
  'recoveryRefused',
  'controllerResetRefused',
  'quarantined',
]);
/** Lost and resumed heartbeats. */
const HEARTBEATS: ReadonlySet<string> = new Set(['fellSilent', 'heardAgain']);
/** Observations from providers' listings. */
const LISTINGS: ReadonlySet<string> = new Set(['powerSeenOff', 'powerOnAccepted']);

export const isFailure = ({ of, kind }: SlotLine): boolean =>
  of === 'work' ? kind === 'Failed' : FAILURES.has(kind);

/** Lines of the same sort fold together; null: the line stays alone. */
function sortOf(line: SlotLine): string | null {
  if (isFailure(line)) return null;
  if (line.of === 'work') return `${line.process} of ${line.machineId}`;
  if (HEARTBEATS.has(line.kind)) return `heartbeats of ${line.machineId}`;
  return LISTINGS.has(line.kind) ? `listings of ${line.machineId}` : null;
}

/**
 * Folds consecutive heartbeats, listings and retries into one line each. Never folds failures or
 * decisions.
 * @param lines newest first.
 */
export function foldHistory(lines: readonly SlotLine[]): FoldedLine[] {
  const folded: FoldedLine[] = [];
  for (const line of lines) {
    const before = folded.at(-1);
    const sort = sortOf(line);
    if (before && sort !== null && sortOf(before) === sort) {
      folded[folded.length - 1] = { ...before, count: before.count + 1, sinceMs: line.atMs };
    } else {
      folded.push({ ...line, count: 1, sinceMs: line.atMs, isFailure: isFailure(line) });
    }
  }
  return folded;
}
