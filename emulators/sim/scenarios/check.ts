import { DEFAULT_BUDGET, groupBudget, ORDERS_KEPT } from '../../../src/domain/policy.ts';
import {
  type ScenarioOutcome,
  type ScenarioName,
  type ScenarioReport,
  type ScenarioStage,
  unless,
} from './scenario.ts';
import type { Deeds } from './truth.ts';
import type { PermitPeaks } from './audit.ts';

/** Maximum difference between the daemon's and the database's duration of a freeze, seconds. */
const FREEZE_TOLERANCE = 3;

/** The evidence of a finished scenario. */
interface Evidence {
  readonly deeds: Deeds;
  /** From the database's log, by rung. */
  readonly asked: Readonly<Record<string, number>>;
  readonly agentStarts: number;
  readonly peaks: PermitPeaks;
  readonly frozenSeconds: number;
  readonly needHuman: ReadonlySet<string>;
  readonly noticed: ReadonlyMap<string, string>;
}

export interface ScenarioVerdict {
  readonly report: ScenarioReport;
  /** Empty: all promises hold. */
  readonly broken: readonly string[];
}

/** Conditions of every scenario, besides its own promise. */
export interface Surroundings {
  readonly name: ScenarioName;
  readonly stage: ScenarioStage;
  /** Start of the scenario, epoch milliseconds. */
  readonly beganAtMs: number;
  /** Devices in other states than Running since the fault began. */
  readonly left: ReadonlyMap<string, string>;
  /** The daemon's `frozenSeconds` at the start of the fault. */
  readonly frozenBefore: number;
}

/** Compares machines, provider, database and daemon; every disagreement is a failure. */
export async function judge(
  around: Surroundings,
  outcome: ScenarioOutcome,
): Promise<ScenarioVerdict> {
  const evidence = await gather(around.stage);
  const { deeds, peaks, frozenSeconds, needHuman } = evidence;
  const { machines, shown } = around.stage;
  const report: ScenarioReport = {
    scenario: around.name,
    machines,
    running: shown('Running').size,
    restarts: deeds.seen.stops,
    reboots: deeds.actions['reboot'] ?? 0,
    powerCycles: deeds.actions['power_off'] ?? 0,
    reinstalls: deeds.actions['reinstall'] ?? 0,
    needsHuman: needHuman.size,
    maxRecovering: peaks.fleet,
    budget: outcome.budget,
    frozenSeconds: Math.round(frozenSeconds * 10) / 10,
    beganAt: new Date(around.beganAtMs).toISOString(),
    ...outcome.figures,
  };
  const broken = [
    ...outcome.broken,
    ...promises(report, outcome),
    ...disagreements(report, evidence, around),
    ...bystanders(evidence, around, outcome),
    ...around.stage.truth
      .violations()
      .map((text) => `the provider's world is inconsistent: ${text}`),
  ];
  return { report, broken };
}

async function gather({ truth, audit, mark }: ScenarioStage): Promise<Evidence> {
  return {
    deeds: truth.deeds(),
    asked: await audit.asked(mark),
    agentStarts: await audit.agentStarts(mark),
    peaks: await audit.permits(mark),
    frozenSeconds: await audit.frozenSeconds(mark),
    needHuman: await audit.quarantined('needsHuman'),
    noticed: await audit.noticed(mark),
  };
}

/** The figures behind each scenario's promise. */
function promises(report: ScenarioReport, { struck, budget }: ScenarioOutcome): string[] {
  const { scenario, machines, running, reboots, powerCycles, reinstalls, restarts } = report;
  const lasting = scenario === 'rack' || scenario === 'flap';
  const lost = lasting ? struck.length : 0;
  const ordered = scenario === 'rolling' ? machines : 0;
  const severe = reboots - ordered + powerCycles + reinstalls;
  return [
    ...unless(running === machines - lost, `${running} of ${machines} machines run`),
    ...unless(report.needsHuman === lost, `${report.needsHuman} machines need a human`),
    ...unless(reboots >= ordered, `${reboots} of ${ordered} machines were rebooted`),
    ...unless(
      lasting || severe <= 0,
      `${severe} reboots, power cycles and reinstallations that nobody ordered`,
    ),
    ...unless(scenario !== 'storm' || restarts === 0, `${restarts} agents were restarted`),
    ...unless(scenario !== 'storm' || report.frozenSeconds > 0, 'recovery was never frozen'),
    ...unless(
      report.maxRecovering <= budget,
      `${report.maxRecovering} machines were recovering at once, and the budget is ${budget}`,
    ),
    // Otherwise the permit count is blind, because these reboots need permits.
    ...unless(
      report.maxRecovering >= (scenario === 'rack' ? budget : lasting || ordered > 0 ? 1 : 0),
      `${report.maxRecovering} machines were recovering at once, and ${budget} could have been`,
    ),
  ];
}

function disagreements(
  report: ScenarioReport,
  { deeds, asked, agentStarts, peaks, frozenSeconds }: Evidence,
  { stage, frozenBefore }: Surroundings,
): string[] {
  const { seen } = deeds;
  const { scenario } = report;
  const frozenHere = stage.daemon.guard().frozenSeconds - frozenBefore;
  const agents = stage.hosts.list().filter((host) => host.agents > 0).length;
  const perLocation = [...peaks.byLocation].filter(
    ([location, most]) =>
      most >
      groupBudget(DEFAULT_BUDGET, sizeOf(stage, location)) +
        (scenario === 'rolling' ? ORDERS_KEPT : 0),
  );
  return [
    ...same('restarts', { machines: seen.stops, log: asked['restartingAgent'] ?? 0 }),
    ...same('reboots', { provider: report.reboots, log: asked['rebooting'] ?? 0 }),
    ...same('power cycles', { provider: report.powerCycles, log: asked['powerCycling'] ?? 0 }),
    ...same('reinstallations', {
      provider: report.reinstalls,
      machines: seen.installs,
      log: asked['reinstalling'] ?? 0,
    }),
    ...same('agents that run', { machines: agents, daemon: report.running }),
    ...same('agents started', { machines: seen.programs, log: agentStarts }),
    ...same('machines that need a human', {
      daemon: stage.shown('Quarantined', 'needsHuman').size,
      database: report.needsHuman,
    }),
    ...same('boots', { machines: seen.boots, provider: bootsCaused(stage, deeds) }),
    ...unless(
      Math.abs(frozenHere - frozenSeconds) <= FREEZE_TOLERANCE,
      `frozen for ${frozenSeconds} s by the database, ${frozenHere} s by the daemon`,
    ),
    ...perLocation.map(([location, most]) => `${most} recovering at once in ${location}`),
  ];
}

/** Requested boots of machines with power. */
function bootsCaused({ hosts }: ScenarioStage, { actionsOf }: Deeds): number {
  const powered = hosts.list().filter(({ powerless }) => !powerless);
  const count = (id: string, type: string) => actionsOf.get(id)?.[type] ?? 0;
  return powered.reduce(
    (sum, { deviceId: id }) =>
      sum + count(id, 'reboot') + count(id, 'power_on') + count(id, 'reinstall'),
    0,
  );
}

const sizeOf = ({ daemon }: ScenarioStage, location: string): number =>
  [...daemon.board.entries.values()].filter(({ view }) => view.location === location).length;

/** Machines that the fault did not strike: nothing was done to them, and nothing was logged. */
function bystanders(
  { noticed }: Evidence,
  { left }: Surroundings,
  { struck }: ScenarioOutcome,
): string[] {
  const victims = new Set(struck);
  const others = (found: ReadonlyMap<string, string>) =>
    [...found].filter(([device]) => !victims.has(device));
  return [
    ...others(noticed).map(([device, line]) => `bystander ${device}: ${line}`),
    ...others(left).map(([device, state]) => `bystander ${device} was ${state}`),
  ];
}

/** All sources must give the same number. */
function same(what: string, told: Readonly<Record<string, number>>): string[] {
  const numbers = new Set(Object.values(told));
  const text = Object.entries(told).map(([who, number]) => `${number} by the ${who}`);
  return unless(numbers.size === 1, `${what}: ${text.join(', ')}`);
}
