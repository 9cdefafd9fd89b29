import type { SchedulerLike } from 'rxjs';
import type { InspectionEvent } from 'xstate';
import type { AgentStartDeps } from '../actors/tasks/agent-start.ts';
import type { AgentServer } from '../adapters/agents/port.ts';
import type { BalancerDriver } from '../adapters/balancer/port.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import type { OidcOptions } from '../adapters/identities/oidc.ts';
import type { Identities } from '../adapters/identities/port.ts';
import type { Inspection } from '../adapters/inspector/port.ts';
import type { InspectorRelay, InspectorRelayOptions } from '../adapters/inspector/relay.ts';
import type { Levels } from '../adapters/log/quiet-log.ts';
import type { Log, LogReader } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import type { Driver, DriverShell } from '../adapters/provider/port.ts';
import type { HttpSenderOptions } from '../adapters/webhooks/http-sender.ts';
import type { WebhookSender } from '../adapters/webhooks/port.ts';
import type { RemoteShell } from '../adapters/ssh/port.ts';
import type { Config } from '../config.ts';
import type { Console, ConsoleDeps } from '../console/console.ts';
import type { MetricsSource } from '../console/port.ts';
import type { HeartbeatStore } from '../domain/heartbeat.ts';
import type { AcceptancePolicies } from '../domain/acceptance.ts';
import type { LossPolicy, RecoveryBudget } from '../domain/policy.ts';
import type { GuardPolicy } from '../domain/recovery/guard-judgement.ts';
import type { Closer } from './closer.ts';
import type { Tuning } from './tuning.ts';

/**
 * All access of a daemon to time, randomness and the outside world. All are required: a daemon
 * never uses the real world by default. Users get `realPorts`.
 */
export interface Ports {
  readonly clock: Clock;
  /** For streams; must share the time of `clock`. */
  readonly scheduler: SchedulerLike;
  readonly random: Random;
  readonly log: Log;
  /** Log levels; null: fixed. */
  readonly levels: Levels | null;
  /** The latest lines of the log; null: they are not kept. */
  readonly recentLog: LogReader | null;
  readonly metrics: Metrics & MetricsSource;
  /** Name of this computer, stored with the daemon's sessions. */
  readonly hostname: string;
  /** Newest migration that this program knows. */
  readonly schema: string;
  /** Kinds of providers, by the value of `driver:`. */
  readonly drivers: ReadonlyMap<string, Driver>;
  /** Kinds of load balancers, by the value of `driver:`. */
  readonly balancerDrivers: ReadonlyMap<string, BalancerDriver>;
  /** Reads the agent's program, or one per processor. */
  loadAgent(config: Config): Promise<AgentStartDeps['agent']['file']>;
  /** @throws {FleetError} the keys are unreadable. */
  openShell(means: Means): Promise<OpenedShell>;
  /** @throws {FleetError} the database cannot start, or has another schema. */
  openBmdb(means: Means, policies: BmdbPolicies): Promise<Bmdb>;
  /**
   * The daemon closes the server.
   * @throws {FleetError} the address is taken, or the certificate is unusable.
   */
  openAgentServer(means: Means, fleet: FleetForAgents): Promise<OpenedAgentServer>;
  /** The authority for new agents, DER, if another daemon runs the agent server. */
  readAuthority(means: Means): Promise<Uint8Array>;
  /** @throws {UsageError} the address is taken, or open to the network without a token. */
  startConsole(deps: ConsoleDeps): Promise<Console>;
  /** Called only with a login service configured. Makes no call yet. */
  createIdentities(options: OidcOptions): Identities;
  /** Called only with webhooks configured. Sends nothing yet. */
  createWebhookSender(options: HttpSenderOptions): WebhookSender;
  /** Called only with an inspector configured. @throws {UsageError} the port is taken. */
  startInspector(options: InspectorRelayOptions): Promise<InspectorRelay>;
  /** Called only if the configuration lets admins inspect actors. */
  createInspection(deps: { readonly clock: Clock }): Inspection;
  /** Observer of all actor systems of the daemon; null: none. */
  readonly inspect: ((event: InspectionEvent) => void) | null;
}

/** Inputs to open a daemon's parts. Opened resources must be registered with `closer`. */
export interface Means extends Pick<Ports, 'clock' | 'random' | 'log'> {
  readonly metrics: Metrics;
  readonly config: Config;
  readonly tuning: Tuning;
  /** Version of this program. */
  readonly version: string;
  readonly closer: Closer;
}

/** Inputs to open a configured driver. */
export type DriverMeans = Pick<Means, 'clock' | 'random' | 'log' | 'metrics' | 'version'>;

/** Rules that the database applies within its transactions. */
export interface BmdbPolicies {
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  readonly guard: GuardPolicy;
  readonly acceptance: AcceptancePolicies;
}

/** OpenSSH lines of our keys. They may change, so they are read at each use. */
export interface OurKeyLines {
  readonly publicLine: string;
  /** Lines of earlier keys; absent: none. */
  readonly previousLines?: readonly string[];
}

/** SSH to machines, and our login keys. */
export interface OpenedShell {
  readonly shell: RemoteShell;
  /** SSH for drivers. */
  readonly driverShell: DriverShell;
  readonly keys: OurKeyLines;
  /** Reads the keys again; new connections offer them. */
  renewKeys(): Promise<void>;
}

/** An agent server's needs of its daemon. */
export interface FleetForAgents {
  readonly store: HeartbeatStore;
  /** Whether agents' calls are answered now. */
  readonly isReady: () => boolean;
}

/** The listener for agents, and its data for them. */
export interface OpenedAgentServer {
  readonly server: AgentServer;
  /** End of the current certificate, epoch ms; null: unknown. */
  notAfterMs(): number | null;
  /** Authority for new agents, DER; empty: the system's. */
  caCertificate(): Uint8Array;
  /** Looks for a new certificate. Never fails: problems are logged. */
  renewCertificate(): Promise<void>;
}
