import { shareWord, TONE_OF } from '../../src/domain/headline.ts';
import type { MachineState } from '../../src/domain/states.ts';

export interface StateProps {
  readonly state: MachineState;
  readonly substate?: string | undefined;
}

/** A state in its colour, always with its name. A machine that is silent or late is not green. */
export function StateMark({ state, substate }: StateProps) {
  const word =
    state === 'Running' && substate !== undefined ? shareWord({ state, substate }) : null;
  const tone = word && TONE_OF[word];
  return (
    <span
      className="state"
      data-state={state}
      data-tone={tone === 'bad' || tone === 'warn' ? tone : undefined}
    >
      <b>{state}</b>
      {substate !== undefined && substate !== '' && <span>{substate}</span>}
    </span>
  );
}
