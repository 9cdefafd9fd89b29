/** One thing that happened to a slot, or of the work on a machine of it. */
export interface SlotLine {
  /** Database clock, epoch ms. */
  readonly atMs: number;
  readonly of: 'slot' | 'work';
  /** Its tenancy then; null: none. */
  readonly machineId: string | null;
  /** Of the slot's log, such as `quarantined`; of work how it began or ended, such as `Failed`. */
  readonly kind: string;
  /** Of work: which; null: it is no work. */
  readonly process: string | null;
  /** A component, or a person; null: not known. */
  readonly actor: string | null;
  readonly reason: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly sessionId: string | null;
}

/** What happened, once, or several times in a row. */
export interface FoldedLine extends SlotLine {
  /** How many lines it stands for: of them it is the latest. */
  readonly count: number;
  /** When the first of them happened. */
  readonly sinceMs: number;
  /** It did not go as it should. */
  readonly isFailure: boolean;
}

/** Kinds of the slot's log that say that something went wrong. */
const FAILURES: ReadonlySet<string> = new Set([
  'workFailed',
  'requestRefused',
  'recoveryRefused',
  'controllerResetRefused',
  'quarantined',
]);
/** Heartbeats that ceased and came back. */
const HEARTBEATS: ReadonlySet<string> = new Set(['fellSilent', 'heardAgain']);
/** What providers tell in passing. */
const LISTINGS: ReadonlySet<string> = new Set(['powerSeenOff', 'powerOnAccepted']);

export const isFailure = ({ of, kind }: SlotLine): boolean =>
  of === 'work' ? kind === 'Failed' : FAILURES.has(kind);

/** Lines of one sort fold together; null: this one stands for itself. */
function sortOf(line: SlotLine): string | null {
  if (isFailure(line)) return null;
  if (line.of === 'work') return `${line.process} of ${line.machineId}`;
  if (HEARTBEATS.has(line.kind)) return `heartbeats of ${line.machineId}`;
  return LISTINGS.has(line.kind) ? `listings of ${line.machineId}` : null;
}

/**
 * Heartbeats, listings and retries that come in a row become one line each; what failed never does,
 * nor what somebody decided.
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
