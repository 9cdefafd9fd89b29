import { LoopEnd } from './builtins.ts';
import type { ShellState } from './process.ts';

/** Lets others run now and then, so that an endless loop ends with its machine. */
const BREATH_ROUNDS = 100;

/** `advance` answers whether there is another round. */
export async function loop(
  { host }: ShellState,
  advance: () => Promise<boolean>,
  body: () => Promise<number>,
): Promise<number> {
  let status = 0;
  for (let round = 1; ; round++) {
    if (round % BREATH_ROUNDS === 0) await new Promise((resolve) => setImmediate(resolve));
    host.signal.throwIfAborted();
    try {
      if (!(await advance())) return status;
      status = await body();
    } catch (error) {
      if (!(error instanceof LoopEnd)) throw error;
      if (error.levels > 1) throw new LoopEnd(error.isBreak, error.levels - 1);
      if (error.isBreak) return 0;
    }
  }
}
