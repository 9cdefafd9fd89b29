import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { RemoteFailure, UsageError } from '../../../src/domain/errors.ts';
import type { EquinixWorld } from '../world.ts';
import { withTerminal, type Terminal } from '../terminal.ts';
import { toTable } from '../../../src/commands/layout.ts';
import { judge, type ScenarioVerdict } from './check.ts';
import { deadAgent } from './dead-agent.ts';
import { flap } from './flap.ts';
import { rack } from './rack.ts';
import type { Scenario, ScenarioName, ScenarioReport, ScenarioStage } from './scenario.ts';
import { withStage } from './stage.ts';
import { rolling } from './rolling.ts';
import { storm } from './storm.ts';
import { headlineText } from '../../../src/domain/headline.ts';

const PLAYS: Readonly<Record<ScenarioName, Scenario>> = {
  storm,
  rack,
  flap,
  'dead-agent': deadAgent,
  rolling: rolling({ drain: true }),
};
const MACHINES = 40;
/** Events that the daemon no longer waits for may still happen, and count then. */
const AGREE_MS = 10_000;

export interface ScenarioOptions {
  readonly scenario: ScenarioName;
  readonly machines?: number;
  /** False: interrupts machines without waiting for a drain. */
  readonly drain: boolean;
  readonly json: boolean;
  readonly consolePort: number;
  /** Limit of the whole scenario, including the fleet's start. */
  readonly timeoutMs: number;
  readonly version: string;
}

/**
 * `shepherd sim --scenario`: injects a fault into a simulated fleet with its daemon, and reports
 * whether its promises hold.
 * @throws {UsageError} too few machines to show it. @throws {RemoteFailure} a promise is broken, or
 * the time is over.
 */
export async function playScenario(options: ScenarioOptions): Promise<void> {
  const { scenario: name, json, drain, timeoutMs } = options;
  if (!drain && name !== 'rolling')
    throw new UsageError('--no-drain works only with --scenario rolling');
  const scenario = drain ? PLAYS[name] : rolling({ drain });
  const machines = options.machines ?? scenario.machinesUsual ?? MACHINES;
  if (machines < scenario.machinesMin) {
    throw new UsageError(
      `${name} needs at least ${scenario.machinesMin} machines; give --machines ${scenario.machinesMin} or more`,
    );
  }
  const ending = new AbortController();
  const end = (why: string) => ending.abort(new RemoteFailure(why));
  const late = systemClock.setTimeout(
    () => end(`it was not over within ${timeoutMs / 1_000} s; give --timeout more`),
    timeoutMs,
  );
  let world: EquinixWorld | undefined;
  const ends = { stop: () => end('stopped before it was over'), abandon: () => world?.abandon() };
  const { signal } = ending;
  const onWorld = (opened: EquinixWorld) => (world = opened);
  const verdict = await withTerminal(json ? 'error' : 'info', ends, (terminal) =>
    withStage({ ...options, machines, scenario, signal, onWorld, log: terminal.log }, (stage) =>
      playOn(name, scenario, stage, terminal),
    ),
  ).finally(() => systemClock.clearTimeout(late));
  process.stdout.write(json ? `${JSON.stringify(verdict.report)}\n` : textOf(scenario, verdict));
  if (verdict.broken.length > 0) {
    throw new RemoteFailure(`${name} broke its promise:\n  ${verdict.broken.join('\n  ')}`);
  }
}

async function playOn(
  name: ScenarioName,
  scenario: Scenario,
  empty: Omit<ScenarioStage, 'mark'>,
  { live, log }: Terminal,
): Promise<ScenarioVerdict> {
  const { daemon, audit, truth, machines } = empty;
  const left = new Map<string, string>();
  let begun = false;
  const shown = daemon.fleet.entryChanges$.subscribe((change) => {
    live.set(headlineText(daemon.board.headline()));
    if (!begun || change.type === 'removed') return;
    const { view, state } = change.entry;
    if (state !== 'Running' && view.providerId !== null) left.set(view.providerId, state);
  });
  try {
    const startedAt = empty.now();
    await empty.until(() => isUp(empty), Number.POSITIVE_INFINITY);
    const seconds = Math.round((empty.now() - startedAt) / 100) / 10;
    log.info({ machines, seconds, scenario: name }, `all machines run; ${scenario.summary}`);
    const mark = await audit.mark();
    truth.begin();
    begun = true;
    const beganAtMs = systemClock.now();
    const frozenBefore = daemon.guard().frozenSeconds;
    const stage: ScenarioStage = { ...empty, mark };
    const outcome = await scenario.play(stage);
    const around = { name, stage, beganAtMs, left, frozenBefore };
    let verdict = await judge(around, outcome);
    const agree = async () => (verdict = await judge(around, outcome)).broken.length === 0;
    await stage.until(agree, AGREE_MS);
    return verdict;
  } finally {
    shown.unsubscribe();
  }
}

/** All machines report in time, and silence would count. */
const isUp = ({ machines, healthy, daemon }: Omit<ScenarioStage, 'mark'>): boolean =>
  healthy() === machines && daemon.guard().state === 'watching';

function textOf({ summary, figures = {} }: Scenario, { report, broken }: ScenarioVerdict): string {
  const { scenario, machines } = report;
  const outcome = broken.length === 0 ? 'what is promised holds' : 'the promise is broken';
  const told: Readonly<Record<string, unknown>> = { ...report };
  const rows = [...ROWS, ...Object.entries(figures)].map(([key, label]) => [
    label,
    String(told[key]),
  ]);
  return `${scenario}: ${machines} machines, ${summary}; ${outcome}.\n${toTable(rows)}\n`;
}

const ROWS: readonly (readonly [keyof ScenarioReport, string])[] = [
  ['running', 'machines that run'],
  ['restarts', 'agents restarted'],
  ['reboots', 'reboots'],
  ['powerCycles', 'power cycles'],
  ['reinstalls', 'reinstallations'],
  ['needsHuman', 'need a human'],
  ['maxRecovering', 'recovering at once, at most'],
  ['budget', 'recovery budget'],
  ['frozenSeconds', 'seconds frozen'],
];
