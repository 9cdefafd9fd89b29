import { useKeys } from '../../frame/keys.ts';
import type { Step } from './story.ts';
import { words } from './words.ts';

export interface Stepping {
  readonly steps: readonly Step[];
  /** Index of the chosen step. −1: there is none. */
  readonly at: number;
  readonly isLatest: boolean;
  readonly go: (to: number) => void;
}

/** Moves through the steps, one by one or to an end. The keys `j` and `k` do the same. */
export function Stepper({ steps, at, isLatest, go }: Stepping) {
  const step = steps[at];
  const back = () => go(Math.max(0, at - 1));
  const on = () => go(at + 1);
  useKeys({ j: on, k: back });
  return (
    <div className="stepper" role="group" aria-label={words.steps}>
      <button type="button" disabled={at <= 0} onClick={() => go(0)}>
        {words.first}
      </button>
      <button type="button" disabled={at <= 0} onClick={back}>
        {words.back}
      </button>
      <input
        type="range"
        aria-label={words.step}
        min={1}
        max={Math.max(1, steps.length)}
        value={at + 1}
        aria-valuetext={words.stepOf(at + 1, steps.length)}
        onChange={({ target }) => go(Number(target.value) - 1)}
      />
      <button type="button" disabled={isLatest} onClick={on}>
        {words.on}
      </button>
      <button type="button" aria-pressed={isLatest} onClick={() => go(steps.length)}>
        {words.last}
      </button>
      <span className="quiet figures">
        {steps.length === 0 ? words.noSteps : words.stepOf(at + 1, steps.length)}
        {step && ` · ${clockOf(step.atMs)}`}
      </span>
    </div>
  );
}

const time = new Intl.DateTimeFormat('en', {
  ...({ hour: '2-digit', minute: '2-digit', second: '2-digit' } as const),
  ...({ fractionalSecondDigits: 3, hourCycle: 'h23' } as const),
});
/** With milliseconds, in the time zone of the reader. */
export const clockOf = (atMs: number): string => time.format(atMs);
