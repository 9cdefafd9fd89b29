import type { Daemon } from '../../../src/daemon/daemon.ts';
import { DEFAULT_BUDGET, fleetBudget, groupBudget } from '../../../src/domain/policy.ts';
import type { SimPool } from '../pool.ts';
import type { HostSnapshot, SimulatedHosts } from '../../hosts/options.ts';
import type { Recoverer } from './fast.ts';
import type { Truth } from './truth.ts';
import type { Mark, Audit } from './audit.ts';

export const SCENARIOS = ['storm', 'rack', 'flap', 'dead-agent', 'rolling'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

/** A fault for a fleet, and its expected effects. */
export interface Scenario {
  /** Minimum number of machines for a meaningful result. */
  readonly machinesMin: number;
  /** Default number of machines; 40 when absent. */
  readonly machinesUsual?: number;
  /** Names of its own figures. */
  readonly figures?: Readonly<Record<string, string>>;
  /** A description for people. */
  readonly summary: string;
  /** Maximum number of planned interruptions at once in the pool; absent: no pool. */
  readonly atOnce?: number;
  /** Number of machines per location. */
  perLocation(machines: number): number;
  /** The recovery settings of its daemon. */
  readonly recoverer: Recoverer;
  /** Injects the fault into a running fleet, waits for its effects, and checks them. */
  play(stage: ScenarioStage): Promise<ScenarioOutcome>;
}

/** A scenario's running fleet and its sources of evidence. */
export interface ScenarioStage {
  readonly machines: number;
  readonly hosts: SimulatedHosts;
  readonly daemon: Daemon;
  readonly audit: Audit;
  readonly truth: Truth;
  /** The database logs' end at the start of the fault. */
  readonly mark: Mark;
  /** The clients' address. @throws {Error} the scenario has no pool. */
  pool(): SimPool;
  /** Aborts at the end of the scenario. */
  readonly signal: AbortSignal;
  host(deviceId: string): HostSnapshot;
  /** Devices that the daemon shows in this state (and substate). */
  shown(state: string, substate?: string): ReadonlySet<string>;
  /** Number of machines that run and report in time. */
  healthy(): number;
  /** Monotonic, milliseconds. */
  now(): number;
  /** Passes this many milliseconds. */
  pass(ms: number): Promise<void>;
  /** Polls until the condition holds. @returns whether it held in time. */
  until(question: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean>;
}

/** A scenario's own result, besides the common checks. */
export interface ScenarioOutcome {
  /** Device ids of the struck machines; no other machine may have noticed. */
  readonly struck: readonly string[];
  /** The limiting recovery budget: the provider's, or the affected location's. */
  readonly budget: number;
  /** Broken promises. */
  readonly broken: readonly string[];
  /** Its own figures, for the report. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** The line that `--json` prints. */
export interface ScenarioReport {
  readonly scenario: ScenarioName;
  readonly machines: number;
  readonly running: number;
  /** Agents stopped over SSH for a restart. */
  readonly restarts: number;
  readonly reboots: number;
  readonly powerCycles: number;
  readonly reinstalls: number;
  /** Machines that need a person. */
  readonly needsHuman: number;
  /** Maximum number of simultaneous permits. */
  readonly maxRecovering: number;
  readonly budget: number;
  /** Duration of the fleet's or provider's freeze. */
  readonly frozenSeconds: number;
  /** Time when all machines ran and the scenario began, ISO 8601. */
  readonly beganAt: string;
}

/** Maximum number of simultaneous interruptions among machines of one provider, in any location. */
export const budgetOfAll = (machines: number): number =>
  Math.min(fleetBudget(DEFAULT_BUDGET, machines), groupBudget(DEFAULT_BUDGET, machines));

/** Excess actions show in this time after the end. */
export const AFTER_MS = 10_000;

/** Picks the machines to strike, without repetition. */
export const pick = (hosts: readonly HostSnapshot[], count: number): HostSnapshot[] => {
  const step = Math.max(1, Math.floor(hosts.length / Math.max(1, count)));
  return hosts.filter((_, at) => at % step === 0).slice(0, count);
};

/** The complaint if the promise does not hold. */
export const unless = (holds: boolean, complaint: string): string[] => (holds ? [] : [complaint]);
