import { tellCensus } from '../../src/daemon/views/state-gauges.ts';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { createBoard } from '../../src/actors/fleet-state.ts';
import { createPromMetrics } from '../../src/adapters/metrics/prom-metrics.ts';
import { providerName, slot } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { viewOf, type MachineView } from '../../src/domain/view.ts';
import { root } from '../repo/sources.ts';
import { faultsOf } from './promql.ts';
import { CONSOLE, hasPromtool, runPromtool, type PromCase } from './promtool.ts';
import { runbookOf, SHIPPED } from './rules.ts';
import { agentStarted, machineRow, NOW_MS, slotFacts } from '../support/facts.ts';
import { testRows } from '../support/rows.ts';

/** Specified severity and duration; the thresholds are in the cases. */
const SPECIFIED = `
  Down c 5m; NotReady w 5m; NoLiveSession c 2m; GuardFrozen c 5m; GuardBlind c 5m; MachinesLost w 10m;
  NeedHuman w 15m; MachinesChronic w 15m; MachineConditions w 15m; BudgetSpent w 30m; MachinesOverdue w 30m; ListingOld w; CircuitOpen w 10m; Orphans w 1h;
  CreationUnsettled w; DeprovisionStuck w; ReinstallsMany c; HostKeyChanged c; InsecureSsh w;
  HeartbeatsRefused w 10m; DatabaseFailing w 5m; WorkLost w; ActorsCrashing w; EventLoopSlow w 5m;
  CertificateExpiring w; CertificateExpiring c; WebhookDeadLetters w; EventsWaiting w; VersionSkew i 24h; LoopStalled w`;
const SEVERITIES = { c: 'critical', w: 'warning', i: 'info' } as const;

test('V54 ships exactly the specified alerts', () => {
  const specified = SPECIFIED.split(';').map((each) => {
    const [name, severity, lasts] = each.trim().split(' ');
    return [`Shepherd${name}`, SEVERITIES[severity as 'c'], lasts];
  });
  const shipped = SHIPPED.map((rule) => [rule.alert, rule.labels.severity, rule.for]);
  expect(shipped).toEqual(specified);
});

describe('V52 every rule', () => {
  testRows(SHIPPED.map((rule) => [rule.alert, rule] as const))(
    '%s uses exported series, holds over several daemons, and links to its runbook',
    (alert, { expr, annotations }) => {
      expect(faultsOf(expr)).toEqual([]);
      expect(annotations.runbook_url).toBe(
        `{{ $externalLabels.console }}/runbooks/${runbookOf(alert)}`,
      );
    },
  );
});

test('finds the faults of an expression', () => {
  expect(faultsOf('sum(shepherd_machines')).toHaveLength(2);
  expect(faultsOf('max(shepherd_machine)')).toEqual(['nobody exports shepherd_machine']);
  expect(faultsOf('max(shepherd_machines{place="a"})')).toEqual([
    'shepherd_machines has no label place',
  ]);
  expect(faultsOf('max by (place) (shepherd_machines)')).toEqual([
    'nothing that is grouped by place has it',
  ]);
  expect(faultsOf('sum(shepherd_machines)')).toHaveLength(1);
  expect(faultsOf('max(shepherd_streams)')).toHaveLength(1);
  expect(faultsOf('sum(shepherd_work_lost_total)')).toHaveLength(1);
  expect(faultsOf('max(rate(shepherd_work_lost_total[5m]))')).toHaveLength(1);
});

interface AlertCase {
  readonly what: 'fires' | 'just below' | 'two daemons' | 'nothing is scraped' | 'not of this kind';
  readonly series: Labels;
  readonly at: number;
  readonly step?: '1h';
  readonly says?: readonly { readonly summary: string; readonly labels?: Labels }[];
  readonly severity?: 'critical' | 'warning' | 'info';
}
const ALERT_CASES = parse(readFileSync(`${root}/test/deploy/alert-cases.yml`, 'utf8')) as Readonly<
  Record<string, readonly AlertCase[]>
>;

/** Labels and annotations come from the file; summaries are spelled out. */
const cases = Object.entries(ALERT_CASES).flatMap(([alert, each]) =>
  each.map(({ what, series, at, says = [], severity, step = '1m' as const }, index): PromCase => {
    const rules = SHIPPED.filter((rule) => rule.alert === alert);
    return {
      ...{ name: `${alert}: ${what} (${index})`, series, alert, at, step },
      expected: says.map(({ summary, labels = {} }) => ({
        labels: { ...labels, severity: severity ?? rules[0]!.labels.severity },
        annotations: { summary, runbook_url: `${CONSOLE}/runbooks/${runbookOf(alert)}` },
      })),
    };
  }),
);

test('V54 has for each alert a case that fires, one just below, and one of two daemons', () => {
  expect(Object.keys(ALERT_CASES)).toEqual([...new Set(SHIPPED.map(({ alert }) => alert))]);
  for (const [alert, each] of Object.entries(ALERT_CASES)) {
    const kinds = new Set(each.map(({ what }) => what));
    expect([...kinds].slice(0, 3), alert).toEqual(['fires', 'just below', 'two daemons']);
    expect(each.filter(({ what, says = [] }) => what === 'fires' && says.length === 0)).toEqual([]);
    expect(each.filter(({ what, says = [] }) => what === 'just below' && says.length > 0)).toEqual(
      [],
    );
  }
});

test.runIf(hasPromtool)('V54 agrees with Prometheus on every case', async () => {
  expect(await runPromtool(cases)).toBe('');
});

/** A daemon's metrics of its machines, each line held for a number of minutes. */
async function exportedFor(minutes: number, views: readonly MachineView[]): Promise<Labels> {
  const metrics = createPromMetrics({ version: '1.2.3', commit: 'abc1234', schema: '7' });
  const board = createBoard({ nowMs: () => NOW_MS, metrics, changes: { next: () => undefined } });
  views.forEach((view, at) => board.onView({ ...view, slot: slot(RACKS, `srv-${at}`) }));
  tellCensus(metrics, board.census());
  const { body } = await metrics.expose();
  const lines = body.split('\n').filter((line) => line.startsWith('shepherd_machines'));
  return Object.fromEntries(
    lines.map((line) => [line.split(' ')[0], `${line.split(' ')[1]}x${minutes}`]),
  ) as Labels;
}
type Labels = Readonly<Record<string, string>>;
const RACKS = providerName('racks');

test.runIf(hasPromtool)(
  'D3: alerts somebody of one dead machine among sixty in a static list',
  async () => {
    const minutesAgo = (minutes: number): MachineView => {
      const heartbeat = { atMs: NOW_MS - minutes * 60_000, bootId: 'boot-1' };
      const started = agentStarted(NOW_MS - 9 * 3_600_000);
      const row = machineRow({ heartbeat, agentStarted: started });
      const facts = slotFacts({ row, provider: RACKS });
      return viewOf(facts, { nowMs: NOW_MS, loss: DEFAULT_LOSS });
    };
    const others = Array.from({ length: 59 }, () => minutesAgo(0));
    const alert = {
      name: 'one dead machine',
      alert: 'ShepherdNeedHuman',
      at: 16,
      step: '1m',
    } as const;
    const rule = SHIPPED.find((each) => each.alert === alert.alert)!;
    const told = {
      labels: { provider: 'racks', severity: rule.labels.severity },
      annotations: {
        summary: '1 of the machines of racks needs a human.',
        runbook_url: `${CONSOLE}/runbooks/need-human`,
      },
    };
    const dead = { ...alert, series: await exportedFor(20, [minutesAgo(61), ...others]) };
    const silent = { ...alert, series: await exportedFor(20, [minutesAgo(59), ...others]) };
    expect(
      await runPromtool([
        { ...dead, expected: [told] },
        { ...silent, expected: [] },
      ]),
    ).toBe('');
  },
);

test.runIf(hasPromtool)('reports a case that does not hold', async () => {
  const [first] = cases;
  const told = await runPromtool([{ ...first!, expected: [] }]);
  expect(told).toMatch(/ShepherdDown/);
});

test('shows operators the rules as shipped', () => {
  const document = readFileSync(`${root}/docs/monitoring.md`, 'utf8');
  for (const { alert } of SHIPPED) expect(document).toContain(`runbooks.md#${runbookOf(alert)}`);
});
