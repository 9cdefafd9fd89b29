import { providerName } from '../../../../domain/ids.ts';
import type { ProviderName } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { byProcess } from '../../../../domain/statistics.ts';
import type { Counts, Statistics, StatisticsPart } from '../../../../domain/statistics.ts';
import { DONE, FAILED, FROM, heartbeatingSql, ruleSql, PENDING } from '../eligibility.ts';
import type { Queries } from '../pool.ts';
import { LIVE } from '../sql.ts';
import { statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/** `statisticsOf` in SQL, made of the predicates that claims are checked with. */

const PROVIDED = 'p.machine_id IS NOT NULL';
const count = (condition: string) => `(count(*) FILTER (WHERE ${condition}))::int4`;

const CONDITIONS = {
  provider: 'text?',
  machines: 'int4',
  provided: 'int4',
  heartbeating: 'int4',
  installation_pending: 'int4',
  installed: 'int4',
  installation_failed: 'int4',
  pending_agent_start: 'int4',
  pending_recovery: 'int4',
} as const;

/** One row for each provider, and one for the machines without hardware. */
const conditions = (loss: LossPolicy) =>
  statement({
    name: 'statistics-conditions',
    params: {},
    columns: CONDITIONS,
    text: () => `
      SELECT p.provider, count(*)::int4 AS machines, ${count(PROVIDED)} AS provided,
        ${count(`${PROVIDED} AND ${heartbeatingSql(loss)}`)} AS heartbeating,
        ${count(`${PROVIDED} AND ${PENDING}`)} AS installation_pending,
        ${count(`${PROVIDED} AND ${DONE}`)} AS installed,
        ${count(`${PROVIDED} AND ${FAILED}`)} AS installation_failed,
        ${count(pending('ShepherdAgentStart', loss))} AS pending_agent_start,
        ${count(pending('ShepherdRecovery', loss))} AS pending_recovery
      ${FROM} GROUP BY p.provider`,
  });
const pending = (process: Process, loss: LossPolicy) =>
  `(${ruleSql('ineligibility', process, loss)}) IS NULL`;

const PER_PROCESS = { provider: 'text?', process: 'process', count: 'int4' } as const;

export const statementsFor = (loss: LossPolicy) => ({
  conditions: conditions(loss),
  activeWork: statement({
    name: 'statistics-work',
    params: {},
    columns: PER_PROCESS,
    text: () => `
      SELECT p.provider, w.process, count(*)::int4 AS count
      FROM sessions s JOIN work w USING (session_id)
        LEFT JOIN machine_provided p ON p.machine_id = w.machine_id
      WHERE ${LIVE} GROUP BY p.provider, w.process`,
  }),
  activeBackoffs: statement({
    name: 'statistics-backoffs',
    params: {},
    columns: PER_PROCESS,
    text: () => `
      SELECT p.provider, b.process, count(*)::int4 AS count
      FROM work_backoff b LEFT JOIN machine_provided p USING (machine_id)
      WHERE b.until > now() GROUP BY p.provider, b.process`,
  }),
});
export type StatisticsStatements = ReturnType<typeof statementsFor>;

type Conditions = RowOf<typeof CONDITIONS>;
type PerProcess = RowOf<typeof PER_PROCESS>;

/** See `BmdbInspection.statistics`; in the caller's snapshot. */
export async function readStatistics(
  q: Queries,
  statements: StatisticsStatements,
  only?: StatisticsPart,
): Promise<Statistics> {
  const isWanted = (part: StatisticsPart) => only === undefined || only === part;
  const rows = isWanted('machines') ? await q.rows(statements.conditions, {}) : [];
  const work = isWanted('work') ? await q.rows(statements.activeWork, {}) : [];
  const backoffs = isWanted('backoffs') ? await q.rows(statements.activeBackoffs, {}) : [];
  const countsOf = (which: (row: { readonly provider: string | null }) => boolean) =>
    toCounts(rows.filter(which), work.filter(which), backoffs.filter(which));
  const names = new Set([rows, work, backoffs].flat().flatMap(({ provider }) => provider ?? []));
  const providers = [...names].map((name): [ProviderName, Counts] => [
    providerName(name),
    countsOf(({ provider }) => provider === name),
  ]);
  return { fleet: countsOf(() => true), providers: new Map(providers) };
}

function toCounts(
  rows: readonly Conditions[],
  work: readonly PerProcess[],
  backoffs: readonly PerProcess[],
): Counts {
  const sum = (column: Exclude<keyof Conditions, 'provider'>) =>
    rows.reduce((total, row) => total + row[column], 0);
  const sumOf = (counted: readonly PerProcess[]) =>
    byProcess((process) =>
      counted.reduce((total, row) => total + (row.process === process ? row.count : 0), 0),
    );
  return {
    machines: sum('machines'),
    provided: sum('provided'),
    heartbeating: sum('heartbeating'),
    installationPending: sum('installation_pending'),
    installed: sum('installed'),
    installationFailed: sum('installation_failed'),
    pendingAgentStart: sum('pending_agent_start'),
    pendingRecovery: sum('pending_recovery'),
    activeWork: sumOf(work),
    activeBackoffs: sumOf(backoffs),
  };
}
