import { sleep } from '../../adapters/clock/port.ts';
import { OBJECT_KINDS, type Observed, type Ref } from '../../domain/balancing/objects.ts';
import { explain, Throttled } from '../../domain/errors.ts';
import type { BalancerStage } from './stage.ts';

/** What is there still, and why it could not be removed. */
export interface CleanedUp {
  readonly leftBehind: readonly string[];
  readonly errors: readonly string[];
}

export interface CleaningUp {
  readonly signal: AbortSignal;
  /** Something may come to be there yet: a call was given up that might be carried out all the same. */
  readonly isUnsure: boolean;
  /** Is told all that is known to be there, whenever that changes. */
  onLeft?(names: readonly string[]): void;
}

/** So many passes in a row may remove nothing, each after a longer pause. */
const FRUITLESS_MAX = 5;
const PAUSE_MS = 500;
const PAUSE_LONGEST_MS = 5_000;
/** What was given up is looked for once more, after so long. */
const UNSURE_MS = 1_000;

const nameOf = ({ ref, spec }: Observed): string => `${ref.kind} ${spec.name}`;
const refText = ({ kind, id }: Ref): string => `${kind} ${id}`;

interface Pass {
  /** Null: it could not be read. */
  readonly found: readonly Observed[] | null;
  /** Something was removed that had not been before: lists may go on showing what is gone. */
  readonly isFruitful: boolean;
  readonly errors: readonly string[];
  /** Nothing is to be asked before, epoch ms. */
  readonly notBeforeMs: number;
}

/**
 * Removes all that bears the name or the mark of the test's own pool, in passes: what a child blocks,
 * and what fails, is tried again, as long as that may help. Nobody else has these names, so what is not
 * marked goes, too. Never rejects.
 */
export async function cleanUp(stage: BalancerStage, cleaning: CleaningUp): Promise<CleanedUp> {
  const { clock, names } = stage;
  if (names.size === 0) return { leftBehind: [], errors: [] };
  const { signal, isUnsure, onLeft } = cleaning;
  const gone = new Set<string>();
  let looksLeft = isUnsure ? 2 : 1;
  let known: readonly string[] = [...names];
  let errors: readonly string[] = [];
  for (let fruitless = 0; fruitless < FRUITLESS_MAX;) {
    const pass = await removeOnce(stage, gone, signal);
    errors = pass.errors;
    if (pass.found !== null) {
      known = pass.found.map(nameOf);
      onLeft?.(known);
      if (pass.found.length === 0) looksLeft -= 1;
      if (looksLeft === 0) return { leftBehind: [], errors: [] };
    }
    const isHopeful = pass.isFruitful || pass.found?.length === 0;
    fruitless = isHopeful ? 0 : fruitless + 1;
    const usualMs = isHopeful ? 0 : Math.min(PAUSE_LONGEST_MS, PAUSE_MS * 2 ** fruitless);
    const pauseMs = pass.found?.length === 0 ? UNSURE_MS : usualMs;
    const waitMs = Math.max(pauseMs, pass.notBeforeMs - clock.now());
    await sleep(clock, waitMs, signal).catch(() => undefined);
    if (signal.aborted) {
      return { leftBehind: known, errors: [...errors, 'the time for it was over'] };
    }
  }
  return { leftBehind: known, errors };
}

/** Looks, and tries to remove each object that is there, children first. */
async function removeOnce(
  stage: BalancerStage,
  gone: Set<string>,
  signal: AbortSignal,
): Promise<Pass> {
  const { balancer, owner, clock } = stage;
  const errors: string[] = [];
  let notBeforeMs = clock.now();
  const before = gone.size;
  const failed = (error: unknown) => {
    errors.push(explain(error));
    if (error instanceof Throttled) notBeforeMs = Math.max(notBeforeMs, error.retryAtMs);
  };
  const found = await stage.observe(signal).catch((error: unknown) => {
    failed(error);
    return null;
  });
  for (const kind of OBJECT_KINDS.toReversed()) {
    for (const { ref } of (found ?? []).filter((each) => each.ref.kind === kind)) {
      await balancer.destroy(ref, owner, { signal }).then(() => gone.add(refText(ref)), failed);
    }
  }
  return { found, isFruitful: gone.size > before, errors, notBeforeMs };
}
