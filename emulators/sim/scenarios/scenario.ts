import type { Daemon } from '../../../src/daemon/daemon.ts';
import { DEFAULT_BUDGET, fleetBudget, groupBudget } from '../../../src/domain/policy.ts';
import type { SimPool } from '../pool.ts';
import type { HostSnapshot, SimulatedHosts } from '../../hosts/options.ts';
import type { Recoverer } from './fast.ts';
import type { Truth } from './truth.ts';
import type { Mark, Audit } from './audit.ts';

export const SCENARIOS = ['storm', 'rack', 'flap', 'dead-agent', 'rolling'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

/** A fault that is played to a fleet, and what must come of it. */
export interface Scenario {
  /** With fewer machines it would show nothing. */
  readonly machinesMin: number;
  /** How many there are unless somebody says so; 40 when absent. */
  readonly machinesUsual?: number;
  /** What its own figures are called. */
  readonly figures?: Readonly<Record<string, string>>;
  /** What is done, for people. */
  readonly summary: string;
  /** Members of the fleet's pool that are interrupted by plan at once; absent: there is no pool. */
  readonly atOnce?: number;
  /** The machines stand in locations of so many. */
  perLocation(machines: number): number;
  /** How its daemon recovers machines. */
  readonly recoverer: Recoverer;
  /** Plays the fault to a fleet that runs, waits for what comes of it, and checks that. */
  play(stage: ScenarioStage): Promise<ScenarioOutcome>;
}

/** Where a scenario is played: a fleet that runs, and all that tells what becomes of it. */
export interface ScenarioStage {
  readonly machines: number;
  readonly hosts: SimulatedHosts;
  readonly daemon: Daemon;
  readonly audit: Audit;
  readonly truth: Truth;
  /** What the logs of the database held when the fault began. */
  readonly mark: Mark;
  /** Where clients come in. @throws {Error} the scenario has none. */
  pool(): SimPool;
  /** Aborted when the scenario is to end. */
  readonly signal: AbortSignal;
  host(deviceId: string): HostSnapshot;
  /** Devices whose machine the daemon shows in the state (and substate). */
  shown(state: string, substate?: string): ReadonlySet<string>;
  /** Machines that run and report in time. */
  healthy(): number;
  /** Monotonic, milliseconds. */
  now(): number;
  /** Milliseconds that go by, come what may. */
  pass(ms: number): Promise<void>;
  /** Looks until it is so. Answers whether it came to be before the time was over. */
  until(question: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean>;
}

/** What a scenario found of its own, besides what is checked of every one. */
export interface ScenarioOutcome {
  /** Device ids of the machines that the fault struck; all others must not have noticed. */
  readonly struck: readonly string[];
  /** The recovery budget that bound: of the provider, or of the location where it happened. */
  readonly budget: number;
  /** What was promised and did not hold. */
  readonly broken: readonly string[];
  /** Figures of its own, for the report. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** The line that `--json` prints. */
export interface ScenarioReport {
  readonly scenario: ScenarioName;
  readonly machines: number;
  readonly running: number;
  /** Agents that were stopped over SSH, to be started anew. */
  readonly restarts: number;
  readonly reboots: number;
  readonly powerCycles: number;
  readonly reinstalls: number;
  /** Machines that nothing more is tried on. */
  readonly needsHuman: number;
  /** Permits that were held at once, at most. */
  readonly maxRecovering: number;
  readonly budget: number;
  /** How long recovery of the fleet or the provider was frozen. */
  readonly frozenSeconds: number;
  /** When all machines ran and the scenario began, ISO 8601. */
  readonly beganAt: string;
}

/** How many may be interrupted at once of machines that are all of one provider, wherever they stand. */
export const budgetOfAll = (machines: number): number =>
  Math.min(fleetBudget(DEFAULT_BUDGET, machines), groupBudget(DEFAULT_BUDGET, machines));

/** So long after its end it is still watched: whatever is done too much shows then. */
export const AFTER_MS = 10_000;

/** As many of the machines as are struck; none twice. */
export const pick = (hosts: readonly HostSnapshot[], count: number): HostSnapshot[] => {
  const step = Math.max(1, Math.floor(hosts.length / Math.max(1, count)));
  return hosts.filter((_, at) => at % step === 0).slice(0, count);
};

/** The complaint, where what was promised does not hold. */
export const unless = (holds: boolean, complaint: string): string[] => (holds ? [] : [complaint]);
