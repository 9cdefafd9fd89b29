import type { MachineState } from '../../src/domain/states.ts';

export interface StateProps {
  readonly state: MachineState;
  readonly substate?: string | undefined;
}

/** A state in its colour, always with its name. */
export const StateMark = ({ state, substate }: StateProps) => (
  <span className="state" data-state={state}>
    <b>{state}</b>
    {substate !== undefined && substate !== '' && <span>{substate}</span>}
  </span>
);
