import type { ProviderName } from '../../../../domain/ids.ts';
import type { Process } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { byProcess } from '../../../../domain/statistics.ts';
import type { Counts, Statistics, StatisticsPart } from '../../../../domain/statistics.ts';
import { DONE, FAILED, FROM, heartbeatingSql, ruleSql, PENDING } from '../eligibility.ts';
import type { Queries } from '../pool.ts';
import { LIVE } from '../sql.ts';
import { selection, statement } from '../statement.ts';
import type { RowOf } from '../statement.ts';

/** `statisticsOf` in SQL, built from the predicates that claims use. */

const PROVIDED = 'p.machine_id IS NOT NULL';
const count = (condition: string) => `(count(*) FILTER (WHERE ${condition}))::int4`;

const CONDITIONS = (loss: LossPolicy) =>
  selection({
    machines: ['int4', 'count(*)::int4'],
    provided: ['int4', count(PROVIDED)],
    heartbeating: ['int4', count(`${PROVIDED} AND ${heartbeatingSql(loss)}`)],
    installationPending: ['int4', count(`${PROVIDED} AND ${PENDING}`)],
    installed: ['int4', count(`${PROVIDED} AND ${DONE}`)],
    installationFailed: ['int4', count(`${PROVIDED} AND ${FAILED}`)],
    pendingAgentStart: ['int4', count(pending('ShepherdAgentStart', loss))],
    pendingRecovery: ['int4', count(pending('ShepherdRecovery', loss))],
  });
/** One row per provider, and one for machines without hardware. */
const conditions = (loss: LossPolicy) => {
  const { columns, sql } = CONDITIONS(loss);
  return statement({
    name: 'statistics-conditions',
    columns: { provider: 'provider?', ...columns },
    text: () => `SELECT p.provider, ${sql} ${FROM} GROUP BY p.provider`,
  });
};
const pending = (process: Process, loss: LossPolicy) =>
  `(${ruleSql('ineligibility', process, loss)}) IS NULL`;

const PER_PROCESS = { provider: 'provider?', process: 'process', count: 'int4' } as const;

export const statementsFor = (loss: LossPolicy) => ({
  conditions: conditions(loss),
  activeWork: statement({
    name: 'statistics-work',
    columns: PER_PROCESS,
    text: () => `
      SELECT p.provider, w.process, count(*)::int4 AS count
      FROM sessions s JOIN work w USING (session_id)
        LEFT JOIN machine_provided p ON p.machine_id = w.machine_id
      WHERE ${LIVE} GROUP BY p.provider, w.process`,
  }),
  activeBackoffs: statement({
    name: 'statistics-backoffs',
    columns: PER_PROCESS,
    text: () => `
      SELECT p.provider, b.process, count(*)::int4 AS count
      FROM work_backoff b LEFT JOIN machine_provided p USING (machine_id)
      WHERE b.until > now() GROUP BY p.provider, b.process`,
  }),
});
export type StatisticsStatements = ReturnType<typeof statementsFor>;

type Conditions = RowOf<ReturnType<typeof conditions>['columns']>;
type PerProcess = RowOf<typeof PER_PROCESS>;

/** See `BmdbInspection.statistics`; runs in the caller's snapshot. */
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
    name,
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
    installationPending: sum('installationPending'),
    installed: sum('installed'),
    installationFailed: sum('installationFailed'),
    pendingAgentStart: sum('pendingAgentStart'),
    pendingRecovery: sum('pendingRecovery'),
    activeWork: sumOf(work),
    activeBackoffs: sumOf(backoffs),
  };
}
