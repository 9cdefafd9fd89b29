import { mayEraseDisks } from '../../config.ts';
import { provisioningPlan } from '../../daemon/planning.ts';
import { explain } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import {
  foresightOf,
  type Foresight,
  type Reconciliation,
} from '../../domain/provisioning/reconcile.ts';
import { jsonLine, toTable } from '../text-table.ts';
import { withProviders, type ReadOptions, type OpenProviders } from './open-providers.ts';

/** What the provisioner of one provider would do. */
interface Plan {
  readonly provider: ProviderName;
  /** Null: the provider could not be listed; `failure` says why. */
  readonly plan: Reconciliation | null;
  readonly listingComplete: boolean;
  readonly failure: string | null;
  readonly mayEraseDisks: boolean;
  /** Its machines are there anyway, so one that is left out is missed by somebody. */
  readonly isInventory: boolean;
}

export interface PlanOptions extends ReadOptions {
  /** Also the free slots that nothing would be done with. */
  readonly all: boolean;
}

/**
 * `shepherd plan`: lists providers and BMDB as the provisioner does, and tells what it would do now
 * and why. Changes nothing. `isGood` is false when a provider could not be listed.
 */
export async function plan(
  options: PlanOptions,
): Promise<{ readonly text: string; readonly isGood: boolean }> {
  const plans = await withProviders(options, async (open) => {
    const names = [...open.providers.keys()];
    return Promise.all(names.map((name) => planFor(open, name, options.signal)));
  });
  const isGood = plans.every(({ failure }) => failure === null);
  if (options.json) return { text: jsonLine({ providers: plans.map(asJson) }), isGood };
  return { text: plans.map((each) => inWords(each, options.all)).join('\n\n'), isGood };
}

async function planFor(
  open: OpenProviders,
  name: ProviderName,
  signal: AbortSignal,
): Promise<Plan> {
  const provider = open.providers.get(name)!;
  const isInventory = provider.inventory !== undefined;
  const mayErase = mayEraseDisks(open.config, provider);
  const about = { provider: name, mayEraseDisks: mayErase, isInventory };
  const [listing, rows] = await Promise.all([
    provider.listMachines({ signal }).catch((error: unknown) => explain(error)),
    open.bmdb.scan(signal),
  ]);
  if (typeof listing === 'string') {
    return { ...about, plan: null, listingComplete: false, failure: listing };
  }
  return {
    ...about,
    plan: provisioningPlan(open.config, provider, { ...listing, rows }),
    listingComplete: listing.complete,
    failure: null,
  };
}

const asJson = ({ provider, plan: made, listingComplete, failure, mayEraseDisks: erases }: Plan) =>
  made === null
    ? { provider, failure, recoveryMayEraseDisks: erases }
    : {
        provider,
        recoveryMayEraseDisks: erases,
        listingComplete,
        breaker: made.breaker,
        summary: made.summary,
        overLimit: made.overLimit,
        leftOut: made.leftOut,
        create: made.creations.map(({ slot, intent }) => ({
          slot,
          resumes: intent?.witness ?? null,
        })),
        decisions: made.decisions,
        findings: made.machines.map(
          ({ case: found, action, slot, device, row, intent, reason }) => ({
            case: found,
            action,
            slot,
            reason,
            device: device?.id ?? null,
            machine: row?.machineId ?? intent?.machineId ?? null,
          }),
        ),
      };

const limitText = (max: number): string => `maxMachines allows ${max}`;

const ERASES = '  recovery MAY ERASE DISKS: machines that nothing else brings back are reinstalled';

function inWords(planned: Plan, all: boolean): string {
  const { provider, plan: made, listingComplete, failure, isInventory } = planned;
  const erasing = planned.mayEraseDisks ? [ERASES] : [];
  if (made === null) return [`${provider}: cannot be listed: ${failure}`, ...erasing].join('\n');
  const { summary, decisions, machines, breaker } = made;
  const shown = all ? decisions : decisions.filter(({ verdict }) => verdict !== 'skip');
  return [
    `${provider}: ${countsOf(summary)}`,
    ...erasing,
    ...(listingComplete ? [] : ['  the listing is incomplete: nothing is concluded from absence']),
    ...(breaker === null ? [] : [`  circuit breaker open: ${breaker}`]),
    ...(made.overLimit > 0 ? [`  ${made.overLimit} more than the limit; none is given up`] : []),
    ...(isInventory && made.leftOut > 0
      ? [`  ${made.leftOut} listed machines are left out: ${limitText(summary.max)}`]
      : []),
    ...indented(shown.map(({ slot, verdict, reason }) => [verdict, slot, reason])),
    ...(all ? [] : foresightOf(made).skipped.map(leftAlone)),
    ...indented(
      machines.map(({ case: found, action, slot, reason }) => [
        action === 'none' ? found : action,
        slot,
        reason,
      ]),
    ),
    ...(made.creations.length === 0 ? ['  nothing would be created now'] : []),
  ].join('\n');
}

const countsOf = (summary: Reconciliation['summary']): string => {
  const { max, managed, ...rest } = summary;
  const limit = max === 0 ? 'no limit' : `limit ${max}`;
  const counts = Object.entries(rest).map(([name, count]) => `${count} ${name}`);
  return `${managed} managed (${limit}); ${counts.join(', ')}`;
};

const leftAlone = ({ count, reason }: Foresight['skipped'][number]): string =>
  `  ${count} free left alone: ${reason}`;

const indented = (lines: readonly (readonly string[])[]): string[] =>
  lines.length === 0
    ? []
    : toTable(lines)
        .split('\n')
        .map((line) => `  ${line}`);
