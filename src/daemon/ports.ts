import type { SchedulerLike } from 'rxjs';
import type { InspectionEvent } from 'xstate';
import type { TakeOverDeps } from '../actors/tasks/agent-start.ts';
import type { AgentServer } from '../adapters/agents/port.ts';
import type { BalancerDriver } from '../adapters/balancer/port.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import type { OidcOptions } from '../adapters/identities/oidc.ts';
import type { Identities } from '../adapters/identities/port.ts';
import type { Inspection } from '../adapters/inspector/port.ts';
import type { InspectorRelay, InspectorRelayOptions } from '../adapters/inspector/relay.ts';
import type { LogRing } from '../adapters/log/log-ring.ts';
import type { Levels } from '../adapters/log/quiet-log.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import type { Driver, DriverShell } from '../adapters/provider/port.ts';
import type { HttpSenderOptions } from '../adapters/webhooks/http-sender.ts';
import type { WebhookSender } from '../adapters/webhooks/port.ts';
import type { RemoteShell } from '../adapters/ssh/port.ts';
import type { Config } from '../config.ts';
import type { Console, ConsoleDeps } from '../console/console.ts';
import type { MetricsSource } from '../console/port.ts';
import type { HeartbeatStore } from '../domain/heartbeat.ts';
import type { LossPolicy, RecoveryBudget } from '../domain/policy.ts';
import type { GuardPolicy } from '../domain/recovery/guard-judgement.ts';
import type { Closer } from './closer.ts';
import type { Tuning } from './tuning.ts';

/**
 * Everything by which a daemon reaches for time, chance and the world. All of it is required: a
 * daemon never falls back on the real world by itself. `realPorts` is what users get.
 */
export interface Ports {
  readonly clock: Clock;
  /** For streams; it must keep the time of `clock`. */
  readonly scheduler: SchedulerLike;
  readonly random: Random;
  readonly log: Log;
  /** What the log writes; null: nobody tells it anything. */
  readonly levels: Levels | null;
  /** The latest lines of the log; null: they are not kept. */
  readonly recentLog: LogRing | null;
  readonly metrics: Metrics & MetricsSource;
  /** Name of this computer, which the daemon's sessions carry. */
  readonly hostname: string;
  /** Newest migration that this program knows. */
  readonly schema: string;
  /** Kinds of providers, by the name that a configuration gives in `driver:`. */
  readonly drivers: ReadonlyMap<string, Driver>;
  /** Kinds of load balancers, likewise. */
  readonly balancerDrivers: ReadonlyMap<string, BalancerDriver>;
  /** Reads the agent's program, or one for each kind of processor. */
  loadAgent(config: Config): Promise<TakeOverDeps['agent']['file']>;
  /** @throws {FleetError} keys that cannot be read. */
  openShell(means: Means): Promise<OpenedShell>;
  /** @throws {FleetError} the database cannot be started, or has another schema. */
  openBmdb(means: Means, policies: BmdbPolicies): Promise<Bmdb>;
  /**
   * The daemon closes the server.
   * @throws {FleetError} the address is taken, or the certificate cannot be used.
   */
  openAgentServer(means: Means, fleet: FleetForAgents): Promise<OpenedAgentServer>;
  /** The authority that new agents are to trust, DER, where another daemon has the agent server. */
  readAuthority(means: Means): Promise<Uint8Array>;
  /** @throws {UsageError} the address is taken, or open to the network without a token. */
  startConsole(deps: ConsoleDeps): Promise<Console>;
  /** Called only where people of an organisation may log in. Asks nobody yet. */
  createIdentities(options: OidcOptions): Identities;
  /** Called only where the configuration has webhooks. Sends nothing yet. */
  createWebhookSender(options: HttpSenderOptions): WebhookSender;
  /** Called only where the configuration has an inspector. @throws {UsageError} the port is taken. */
  startInspector(options: InspectorRelayOptions): Promise<InspectorRelay>;
  /** Called only where the configuration lets admins look at actors. */
  createInspection(deps: { readonly clock: Clock }): Inspection;
  /** Told what every actor system of the daemon does; null: nobody is. */
  readonly inspect: ((event: InspectionEvent) => void) | null;
}

/** What the parts of a daemon are opened with. What is opened is to be registered with `closer`. */
export interface Means extends Pick<Ports, 'clock' | 'random' | 'log'> {
  readonly metrics: Metrics;
  readonly config: Config;
  readonly tuning: Tuning;
  /** Of this program. */
  readonly version: string;
  readonly closer: Closer;
}

/** What a driver of the configuration is opened with. */
export type DriverMeans = Pick<Means, 'clock' | 'random' | 'log' | 'metrics' | 'version'>;

/** The rules that the database applies within its transactions. */
export interface BmdbPolicies {
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  readonly guard: GuardPolicy;
}

/** OpenSSH lines of our keys. They may change, so they are read when they are needed. */
export interface OurKeyLines {
  readonly publicLine: string;
  /** Of earlier keys; none when absent. */
  readonly previousLines?: readonly string[];
}

/** The way to machines, and the keys by which we log in to them. */
export interface OpenedShell {
  readonly shell: RemoteShell;
  /** The same for drivers. */
  readonly driverShell: DriverShell;
  readonly keys: OurKeyLines;
  /** Reads the keys again; the next connections offer what was found. */
  renewKeys(): Promise<void>;
}

/** What an agent server needs of its daemon. */
export interface FleetForAgents {
  readonly store: HeartbeatStore;
  /** Whether calls of agents are answered now. */
  readonly isReady: () => boolean;
}

/** The listener for agents, and what they are told of it. */
export interface OpenedAgentServer {
  readonly server: AgentServer;
  /** When the certificate that is served now ends, epoch ms; null: not known. */
  notAfterMs(): number | null;
  /** Authority that new agents are to trust, DER; empty: the system's. */
  caCertificate(): Uint8Array;
  /** Looks whether there is a new certificate. Never fails: what is wrong is told in the log. */
  renewCertificate(): Promise<void>;
}
