import type { Plan as PlanAnswer } from '../remote/answers.ts';
import { columnLines, noteLines, paragraph } from '../machine/layout.ts';

type PoolOutlook = PlanAnswer['pools'][number];
type PoolPlan = NonNullable<PoolOutlook['plan']>;

const STAGE_WORDS: Readonly<Record<NonNullable<PoolPlan['stage']>, string>> = {
  frozen: 'nothing, since too many members would be dropped at once',
  dropping: 'take out servers of machines that are no members',
  recovering: 'ask again for objects that failed',
  clashing: 'remove what stands where another is to be',
  creating: 'make what is missing',
  waiting: 'wait for objects that are not ready',
  leaving: 'remove what nobody wants any more',
  settled: 'nothing: all is as desired',
};

/** What would be done next for a pool at a balancer, as people read it. */
export function poolPlanText(
  { pool, balancer, plan }: Pick<PoolOutlook, 'pool' | 'balancer' | 'plan'>,
  width: number,
): string {
  const place = `${pool} at ${balancer}`;
  if (plan === null) return paragraph(`${place}: only the daemon that tends it knows`, width);
  const { stage, failure, actions, unready, shelved, dropping, pending } = plan;
  if (stage === null) {
    return [
      paragraph(`${place}: cannot be read: ${failure}`, width),
      ...membersText(plan, width),
    ].join('\n');
  }
  const words =
    stage === 'settled' && !plan.isComplete
      ? 'nothing now, though not all is well'
      : STAGE_WORDS[stage];
  const all = pending === null ? 0 : pending.create + pending.update + pending.destroy;
  const later = all - actions.length;
  return [
    paragraph(
      `${place}: ${plan.held === null ? words : `nothing, since it is ${plan.held}`}`,
      width,
    ),
    ...columnLines(
      actions.map(({ act, kind, name, why }) => [`    ${act}`, kind, name, why ?? '']),
    ),
    ...dropping.map((machine) => noteLines(`would be dropped: machine ${machine}`, width)),
    ...(unready === 0 ? [] : [noteLines(`${unready} objects are not ready`, width)]),
    ...shelved.map((name) => noteLines(`${name} failed so often that it is left alone`, width)),
    ...(later > 0 ? [noteLines(`and ${later} more after that`, width)] : []),
    ...membersText(plan, width),
  ].join('\n');
}

const membersText = ({ moves, panic, leftOut }: PoolPlan, width: number): string[] => [
  ...moves.flatMap(({ member, from, to, why }) => [
    `    ${member}: ${to === null ? `stays ${from ?? 'out'}` : `${from ?? 'not a member'} → ${to}`}`,
    ...(why === null ? [] : [noteLines(`  ${why}`, width)]),
  ]),
  ...panic.map((member) =>
    noteLines(`${member} would be dropped, and is not: too many at once`, width),
  ),
  ...leftOut.map(({ machineId, why }) =>
    noteLines(`machine ${machineId} gets no server: ${why}`, width),
  ),
];
