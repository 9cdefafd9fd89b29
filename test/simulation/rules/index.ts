import type { RecordedStep } from '../recorder.ts';
import { BALANCING } from './balancing.ts';
import { COST } from './cost.ts';
import { DAEMONS } from './daemons.ts';
import { DEEDS } from './deeds.ts';
import { EVIDENCE } from './evidence.ts';
import { GUARD } from './guard.ts';
import { LISTINGS } from './listings.ts';
import { OUTCOMES } from './outcomes.ts';
import { REPAIRS } from './repairs.ts';
import { ROLLS } from './rolls.ts';
import type { SimulationRule, RuleScene } from './rule.ts';
import { SHOWN } from './shown.ts';
import { WORK } from './work.ts';

/** Every rule by which a run is judged. A new rule is a new entry in one of these lists. */
export const RULES: readonly SimulationRule[] = [
  ...WORK,
  ...BALANCING,
  ...DEEDS,
  ...GUARD,
  ...LISTINGS,
  ...OUTCOMES,
  ...REPAIRS,
  ...ROLLS,
  ...DAEMONS,
  ...COST,
  ...SHOWN,
  ...EVIDENCE,
];

/** @returns the listener for each step. It calls `report` for each broken rule. */
export function watchRules(
  scene: RuleScene,
  report: (rule: string, detail: string, sentence: string) => void,
  rules: readonly SimulationRule[] = RULES,
): (step: RecordedStep) => void {
  const watching = rules.map(({ id, sentence, watch }) =>
    watch(scene, (detail) => report(id, detail, sentence)),
  );
  return (step) => {
    for (const watch of watching) watch(step);
  };
}
