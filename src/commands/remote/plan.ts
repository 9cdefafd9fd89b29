import { paragraph, whenText, indented, columnLines, noteLines } from '../layout.ts';
import { placesOf } from '../lb/status.ts';
import type { Plan } from './answers.ts';
import { EXIT_FAILED } from './failures.ts';
import { NotFound } from '../../domain/errors.ts';
import { noneNamed } from './names.ts';
import type { Session, CommandOutput } from './session.ts';

type ProviderPlan = Plan['providers'][number];

/** `shepherd plan`: what daemons would do next, and why. Changes nothing. */
export async function showPlan(
  { client }: Session,
  _flags: object,
  name?: string,
): Promise<CommandOutput> {
  const plan = await client.get<Plan>('/plan');
  const { atMs } = plan;
  const names = plan.providers.map(({ provider }) => provider);
  const of = (width: number) => (each: ProviderPlan) => providerText(each, atMs, width);
  if (name !== undefined) {
    const planned = plan.providers.find(({ provider }) => provider === name);
    if (!planned) throw new NotFound(noneNamed('provider', name, names));
    return { document: planned, names: [name], text: (width) => of(width)(planned) };
  }
  const text = (width: number) =>
    [
      ...plan.providers.map(of(width)),
      ...plan.work.filter(({ count }) => count > 0).map(workText),
      ...plan.pools.map((each) => poolPlanText(each, width)),
    ].join('\n\n');
  return { document: plan, names, text };
}

const ERASES = '  recovery MAY ERASE DISKS: it reinstalls a machine if nothing else helps';

function providerText(planned: ProviderPlan, atMs: number, width: number): string {
  const { provider, unlisted, plan, mayEraseDisks } = planned;
  const erasing = mayEraseDisks ? [ERASES] : [];
  if (plan === null) {
    const why =
      unlisted === null
        ? 'the provider was not listed yet'
        : `the provider cannot be listed: ${unlisted}`;
    return [paragraph(`${provider}: the plan is unknown; ${why}`, width), ...erasing].join('\n');
  }
  const counts = Object.entries(plan.summary).map(([what, count]) => `${count} ${what}`);
  const findings = plan.findings.flatMap(({ case: found, action, count, examples }) => [
    [action === 'none' ? found : action, examples[0]?.slot ?? '', examples[0]?.reason ?? ''],
    ...(count > 1 ? [['', '', `and ${count - 1} more`]] : []),
  ]);
  const more = plan.creationCount - plan.creations.length;
  return [
    paragraph(`${provider}: ${counts.join(', ')}, as of ${whenText(plan.atMs, atMs)}`, width),
    ...erasing,
    ...(plan.breaker === null ? [] : [`  circuit breaker open: ${plan.breaker}`]),
    ...(plan.overLimit > 0
      ? [`  machines above the limit: ${plan.overLimit}; Shepherd gives none of them back`]
      : []),
    ...(plan.service === null ? [] : [`  ${serviceText(plan.service)}`]),
    ...(plan.leftOut > 0
      ? [`  slots that stay free only because of the limit: ${plan.leftOut}`]
      : []),
    ...indented(plan.creations.map(({ verdict, slot, reason }) => [verdict, slot, reason])),
    ...(more > 0 ? [`  and ${more} more would be created`] : []),
    ...plan.skipped.map(({ count, reason }) => `  slots that stay free: ${count} (${reason})`),
    ...indented(findings),
    ...(plan.creationCount === 0 ? ['  nothing would be created now'] : []),
  ].join('\n');
}

type Service = NonNullable<NonNullable<ProviderPlan['plan']>['service']>;

function serviceText({ target, inService, lost, surplus, replacedToday }: Service): string {
  const more = surplus > 0 ? `; ${surplus} more than the target, and Shepherd keeps them` : '';
  const told = `${lost} lost, ${replacedToday} replaced in the last 24 hours`;
  return `machines in service: ${inService} of ${target}; ${told}${more}`;
}

function workText({ work, count, machines }: Plan['work'][number]): string {
  const more = count - machines.length;
  return [
    `${work}: ${count}`,
    ...indented(machines.map(({ slot, sentence }) => [slot, sentence])),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

/** `shepherd lb plan`: what daemons would change at load balancers. */
export async function showPoolPlan(
  { client }: Session,
  _flags: object,
  name?: string,
): Promise<CommandOutput> {
  const { atMs, pools: all } = await client.get<Plan>('/plan');
  const pools = placesOf(name, all);
  const isRead = pools.every(({ plan }) => (plan?.failure ?? null) === null);
  const textOf = (width: number) => pools.map((each) => poolPlanText(each, width)).join('\n\n');
  return {
    ...{ document: { atMs, pools }, names: [...new Set(pools.map(({ pool }) => pool))] },
    text: (width) => textOf(width) || 'no pool is configured',
    exitCode: isRead ? 0 : EXIT_FAILED,
  };
}

type PoolOutlook = Plan['pools'][number];
type PoolPlan = NonNullable<PoolOutlook['plan']>;

const STAGE_WORDS: Readonly<Record<NonNullable<PoolPlan['stage']>, string>> = {
  frozen: 'nothing, because too many members would be dropped at once',
  dropping: 'remove servers of machines that are no longer members',
  recovering: 'request failed objects again',
  clashing: 'remove objects that stand in the place of others',
  creating: 'create missing objects',
  waiting: 'wait for objects that are not ready',
  leaving: 'remove objects that are no longer needed',
  settled: 'nothing: the pool is as desired',
};

/** Formats what would be done next for a pool at a load balancer. */
export function poolPlanText(
  { pool, balancer, plan }: Pick<PoolOutlook, 'pool' | 'balancer' | 'plan'>,
  width: number,
): string {
  const place = `${pool} at ${balancer}`;
  if (plan === null)
    return paragraph(`${place}: only the daemon that manages this balancer knows the plan`, width);
  const { stage, failure, actions, unready, shelved, dropping, pending } = plan;
  if (stage === null) {
    return [
      paragraph(`${place}: cannot be read: ${failure}`, width),
      ...membersText(plan, width),
    ].join('\n');
  }
  const words =
    stage === 'settled' && !plan.isComplete
      ? 'nothing now, although not everything is well'
      : STAGE_WORDS[stage];
  const all = pending === null ? 0 : pending.create + pending.update + pending.destroy;
  const later = all - actions.length;
  return [
    paragraph(
      `${place}: ${plan.held === null ? words : `nothing, because the pool is ${plan.held}`}`,
      width,
    ),
    ...columnLines(
      actions.map(({ act, kind, name, why }) => [`    ${act}`, kind, name, why ?? '']),
    ),
    ...dropping.map((machine) => noteLines(`would be dropped: machine ${machine}`, width)),
    ...(unready === 0 ? [] : [noteLines(`${unready} objects are not ready`, width)]),
    ...shelved.map((name) =>
      noteLines(`${name} failed repeatedly; Shepherd leaves it alone for a while`, width),
    ),
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
    noteLines(`${member} would be dropped, but stays: too many at once`, width),
  ),
  ...leftOut.map(({ machineId, why }) =>
    noteLines(`machine ${machineId} gets no server: ${why}`, width),
  ),
];
