import { providerName, type ProviderName } from '../../domain/ids.ts';
import type { GuardVerb } from '../../domain/machine.ts';
import { countsLine } from '../counts-line.ts';
import { answersText } from './answers-text.ts';
import { askAll, exitCodeOf } from './ask.ts';
import { budgetsOf, type Budget } from './budgets.ts';
import { needsHuman, requireProvider, type RecordedFleet, type Entry } from './recorded-fleet.ts';
import { readFleet, requireWhoAndWhy, type AskOptions, type Means, type Told } from './command.ts';
import { guardLines } from './guard-text.ts';
import { factLines, spanText, timeText, whenText } from './layout.ts';
import { stateCounts } from './listing.ts';
import { whyOpen } from './why-open.ts';
import { jsonLine } from '../text-table.ts';

export interface GuardOptions extends AskOptions {
  readonly verb: GuardVerb;
  /** Only this one; the fleet when absent. */
  readonly provider?: string | undefined;
}

const WAIT_MS = 30_000;

/**
 * `shepherd fleet freeze|thaw`: asks the guard to stop recovery, or to let it go on.
 * @throws {UsageError} there is no such provider: nothing was done.
 */
export async function runGuardVerb(options: GuardOptions, means: Means): Promise<Told> {
  requireWhoAndWhy(options);
  const { verb, provider, by, reason, validForMs, json } = options;
  const scope: 'fleet' | ProviderName =
    provider === undefined ? 'fleet' : await knownProvider(provider, means);
  const key = options.key ?? means.random.uuid();
  const waitMs = options.waitMs ?? WAIT_MS;
  const request = {
    key,
    by,
    reason,
    what: { verb, scope },
    ...(validForMs !== undefined && { validForMs }),
  };
  const answers = await askAll([{ of: scope, machineId: null, request }], { ...means, waitMs });
  const exitCode = exitCodeOf(answers, waitMs > 0);
  if (json) {
    const requests = answers.map(({ of, machineId: _, ...rest }) => ({ scope: of, ...rest }));
    return { text: jsonLine({ verb, key, dryRun: false, requests }), exitCode };
  }
  const isOpen = answers.some(({ state }) => state === 'open');
  const why = isOpen ? await whyOpen({ isOrder: false, waited: waitMs > 0 }, means) : [];
  return { text: answersText({ verb, key, answers, why, width: means.width }), exitCode };
}

async function knownProvider(name: string, means: Means): Promise<ProviderName> {
  requireProvider(await readFleet(means), name);
  return providerName(name);
}

/** `shepherd fleet status`: what the guard has decided, and what stands in its way. */
export async function fleetStatus(json: boolean, means: Means): Promise<Told> {
  const fleet = await readFleet(means);
  const budgets = budgetsOf(fleet, means.config.guard);
  const text = json
    ? jsonLine(statusJson(fleet, budgets))
    : statusText(fleet, budgets, means.width);
  return { text, exitCode: 0 };
}

const statusJson = ({ read, entries }: RecordedFleet, budgets: readonly Budget[]) => ({
  atMs: read.nowMs,
  guard: read.guard,
  budgets,
  counts: stateCounts(entries),
  needsHuman: entries.filter(needsHuman).length,
  daemons: read.sessions,
  requests: read.requests,
});

const REQUESTS_SHOWN = 20;

function statusText(
  { read, entries, loss }: RecordedFleet,
  budgets: readonly Budget[],
  width: number,
): string {
  const { nowMs, guard, sessions, requests } = read;
  const fleet = guard.find(({ scope }) => scope === 'fleet');
  const facts: [string, string][] = [
    ['guard', guardLines(read, loss).join('\n')],
    ...guard.flatMap((row): [string, string][] =>
      row.frozen !== null && row.calmSinceMs !== null
        ? [['', `${row.scope} is calm since ${whenText(row.calmSinceMs, nowMs)}`]]
        : [],
    ),
    ['heartbeats', heartbeatsText(fleet?.ingestUpSinceMs ?? null, nowMs)],
    ['daemons', sessions.length === 0 ? 'none' : `${sessions.length} alive`],
    ...sessions.map(({ component, sessionId }): [string, string] => [
      '',
      `${component}, session ${sessionId}`,
    ]),
    ['fleet', countsLine(stateCounts(entries))],
    ...budgets.map(({ scope, permits, limit }, at): [string, string] => [
      at === 0 ? 'recovering' : '',
      `${scope}: ${permits} of at most ${limit}`,
    ]),
    ['needs you', needingText(entries)],
    ['requests', requests.length === 0 ? 'none open' : `${requests.length} open`],
    ...requests
      .slice(0, REQUESTS_SHOWN)
      .map(({ verb, provider, slotId, by, createdAtMs, expiresAtMs }): [string, string] => [
        '',
        `${verb} of ${[provider ?? 'the fleet', slotId].filter(Boolean).join('/')} by ${by}, ` +
          `${spanText(nowMs - createdAtMs)} ago, valid until ${timeText(expiresAtMs)}`,
      ]),
    ...(requests.length > REQUESTS_SHOWN
      ? [['', `and ${requests.length - REQUESTS_SHOWN} more`] satisfies [string, string]]
      : []),
  ];
  return factLines(facts, width);
}

/** How many wait for a person, and what as. */
function needingText(entries: readonly Entry[]): string {
  const needing = entries.filter(needsHuman);
  if (needing.length === 0) return 'none';
  const kinds = [...Map.groupBy(needing, ({ view }) => view.substate)];
  const told = kinds.map(([kind, { length }]) => `${length} ${kind}`).toSorted();
  return `${needing.length} (${told.join(', ')}): "shepherd machines --needs-human" has them`;
}

const heartbeatsText = (sinceMs: number | null, nowMs: number): string =>
  sinceMs === null
    ? 'no daemon takes them in now'
    : `taken in without a break since ${whenText(sinceMs, nowMs)}`;
