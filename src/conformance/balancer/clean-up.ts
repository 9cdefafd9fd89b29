import { sleep } from '../../adapters/clock/port.ts';
import { OBJECT_KINDS, type Observed, type Ref } from '../../domain/balancing/objects.ts';
import { explain, Throttled } from '../../domain/errors.ts';
import type { BalancerStage } from './stage.ts';

/** Remaining objects, and why they could not be removed. */
export interface CleanedUp {
  readonly leftBehind: readonly string[];
  readonly errors: readonly string[];
}

export interface CleaningUp {
  readonly signal: AbortSignal;
  /** Objects may still appear: an abandoned call might still be carried out. */
  readonly isUnsure: boolean;
  /** Called with all known remaining objects whenever they change. */
  onLeft?(names: readonly string[]): void;
}

/** Number of passes in a row that may remove nothing, each after a longer pause. */
const FRUITLESS_MAX = 5;
const PAUSE_MS = 500;
const PAUSE_LONGEST_MS = 5_000;
/** Pause before another search for results of abandoned calls. */
const UNSURE_MS = 1_000;

const nameOf = ({ ref, spec }: Observed): string => `${ref.kind} ${spec.name}`;
const refText = ({ kind, id }: Ref): string => `${kind} ${id}`;

interface Pass {
  /** Null: the objects could not be read. */
  readonly found: readonly Observed[] | null;
  /** Something was removed for the first time; lists may still show removed objects. */
  readonly isFruitful: boolean;
  readonly errors: readonly string[];
  /** No call before this time, epoch ms. */
  readonly notBeforeMs: number;
}

/**
 * Removes all objects with the name or mark of the test's own pool. Repeats blocked and failed
 * removals as long as that may help. These names are the test's own, so it also removes unmarked
 * objects. Never rejects.
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
      return { leftBehind: known, errors: [...errors, 'its time limit was reached'] };
    }
  }
  return { leftBehind: known, errors };
}

/** Looks, and tries to remove each object, children first. */
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
