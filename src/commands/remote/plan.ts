import { NotFound } from '../../domain/errors.ts';
import { paragraph, whenText } from '../machine/layout.ts';
import { toTable } from '../text-table.ts';
import { poolPlanText } from '../lb/plan-text.ts';
import { placesOf } from '../lb/pools.ts';
import type { Plan } from './answers.ts';
import { EXIT_FAILED } from './failures.ts';
import { documentText, isData } from './output.ts';
import { ok, type Session, type Told } from './session.ts';

type ProviderPlan = Plan['providers'][number];

/** `shepherd plan` through the console: what would be done next and why; changes nothing. */
export async function showPlan(name: string | undefined, session: Session): Promise<Told> {
  const { client, format, width } = session;
  const plan = await client.get<Plan>('/plan');
  const providers = plan.providers.filter(
    ({ provider }) => name === undefined || provider === name,
  );
  if (name !== undefined && providers.length === 0) {
    const known = plan.providers.map(({ provider }) => provider).join(', ') || 'none';
    throw new NotFound(`no provider is named ${name}; there is ${known}`);
  }
  if (isData(format)) {
    return ok(await documentText(name === undefined ? plan : providers[0]!, format));
  }
  if (format === 'name') return ok(providers.map(({ provider }) => provider).join('\n'));
  const blocks = [
    ...providers.map((each) => providerText(each, plan.atMs, width)),
    ...(name === undefined ? plan.work.filter(({ count }) => count > 0).map(workText) : []),
    ...(name === undefined ? plan.pools.map((each) => poolPlanText(each, width)) : []),
  ];
  return ok(session.paint(blocks.join('\n\n')));
}

const ERASES = '  recovery MAY ERASE DISKS: machines that nothing else brings back are reinstalled';

function providerText(planned: ProviderPlan, atMs: number, width: number): string {
  const { provider, unlisted, plan, mayEraseDisks } = planned;
  const erasing = mayEraseDisks ? [ERASES] : [];
  if (plan === null) {
    const why = unlisted === null ? 'it was not listed yet' : `it cannot be listed: ${unlisted}`;
    return [paragraph(`${provider}: nothing is known to be done; ${why}`, width), ...erasing].join(
      '\n',
    );
  }
  const counts = Object.entries(plan.summary).map(([what, count]) => `${count} ${what}`);
  const findings = plan.findings.flatMap(({ case: found, action, count, examples }) => [
    [action === 'none' ? found : action, examples[0]?.slot ?? '', examples[0]?.reason ?? ''],
    ...(count > 1 ? [['', '', `and ${count - 1} more such`]] : []),
  ]);
  const more = plan.creationCount - plan.creations.length;
  return [
    paragraph(`${provider}: ${counts.join(', ')}, as of ${whenText(plan.atMs, atMs)}`, width),
    ...erasing,
    ...(plan.breaker === null ? [] : [`  circuit breaker open: ${plan.breaker}`]),
    ...(plan.overLimit > 0 ? [`  ${plan.overLimit} more than the limit; none is given up`] : []),
    ...(plan.leftOut > 0 ? [`  ${plan.leftOut} free slots are kept back by the limit alone`] : []),
    ...indented(plan.creations.map(({ verdict, slot, reason }) => [verdict, slot, reason])),
    ...(more > 0 ? [`  and ${more} more would be created`] : []),
    ...plan.skipped.map(({ count, reason }) => `  ${count} free left alone: ${reason}`),
    ...indented(findings),
    ...(plan.creationCount === 0 ? ['  nothing would be created now'] : []),
  ].join('\n');
}

function workText({ work, count, machines }: Plan['work'][number]): string {
  const more = count - machines.length;
  return [
    `${work}: ${count}`,
    ...indented(machines.map(({ slot, sentence }) => [slot, sentence])),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

/** What would be done with pools at their balancers. */
export async function showPoolPlan(name: string | undefined, session: Session): Promise<Told> {
  const { client, format, width, paint } = session;
  const { atMs, pools: all } = await client.get<Plan>('/plan');
  const pools = placesOf(name, all);
  const isRead = pools.every(({ plan }) => (plan?.failure ?? null) === null);
  const told = (text: string): Told => ({ text, exitCode: isRead ? 0 : EXIT_FAILED });
  if (isData(format)) return told(await documentText({ atMs, pools }, format));
  if (format === 'name') return told([...new Set(pools.map(({ pool }) => pool))].join('\n'));
  if (pools.length === 0) return told('no pool is configured');
  return told(paint(pools.map((each) => poolPlanText(each, width)).join('\n\n')));
}

const indented = (lines: readonly (readonly string[])[]): string[] =>
  lines.length === 0
    ? []
    : toTable(lines)
        .split('\n')
        .map((line) => `  ${line}`);
