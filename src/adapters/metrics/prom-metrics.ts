import { Registry, collectDefaultMetrics } from 'prom-client';
import type { Histogram } from 'prom-client';
import { PROCESSORS, processorOf } from '../../domain/processor.ts';
import { balancingMetrics } from './balancing-metrics.ts';
import { consoleMetrics, daemonMetrics } from './daemon-metrics.ts';
import { statisticsMetrics } from './statistics-metrics.ts';
import {
  bmdbFamilies,
  driverFamilies,
  equinixFamilies,
  fleetFamilies,
  guardFamilies,
  provisionerFamilies,
  timingFamilies,
  webhookFamilies,
} from './families.ts';
import { CREATE_OUTCOMES, WEBHOOK_OUTCOMES, type Metrics, type WebhookMetrics } from './port.ts';
import { FLEET } from '../../domain/recovery/guard-judgement.ts';
import { GUARD_STATES } from '../../domain/recovery/standing.ts';

/** One scrape in Prometheus' text format. */
export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

export interface PromMetrics extends Metrics {
  /** Everything registered, collected now. */
  expose(): Promise<Exposition>;
}

export interface PromMetricsOptions {
  readonly version: string;
  /** Version of the BMDB schema this program works with. */
  readonly schema: string;
  /** Source revision of the build, where it is known. */
  readonly commit?: string;
  /** Lines of the log so far that were counted instead of written; absent: none ever is. */
  readonly suppressed?: (() => number) | undefined;
}

/**
 * Metrics on prom-client, in a registry of their own: two daemons in one process (a test) do not
 * see each other. Includes the runtime's defaults: memory, CPU, event loop lag, garbage collection.
 */
export function createPromMetrics(options: PromMetricsOptions): PromMetrics {
  const { version, schema, commit, suppressed = () => 0 } = options;
  const registry = new Registry();
  const timing = timingFamilies(registry);
  timing.buildInfo.set({ version, commit: commit ?? 'unknown', schema }, 1);
  collectDefaultMetrics({ register: registry });
  const { begin: beginFleet, ...fleet } = fleetMetrics(registry);
  const { begin: beginLadder, ...ladder } = guardMetrics(registry);
  const { left, creation, begin: beginGiving, ...provisioning } = provisionerMetrics(registry);
  const { intentRemoved, standing, ...daemon } = daemonMetrics(registry, left);
  return {
    ...bmdbMetrics(registry),
    ...webhookMetrics(registry),
    ...fleet,
    ...ladder,
    ...equinixMetrics(registry),
    ...provisioning,
    creation(provider, outcome) {
      creation(provider, outcome);
      if (outcome === 'abandoned') intentRemoved();
    },
    ...daemon,
    standing(figures) {
      // So that the first event of each is told from none.
      for (const { provider } of figures.providers) {
        for (const begin of [beginFleet, beginLadder, beginGiving]) begin(provider);
      }
      standing(figures);
    },
    ...consoleMetrics(registry, suppressed),
    ...statisticsMetrics(registry),
    ...driverMetrics(registry),
    ...balancingMetrics(registry),
    observe(name, labels, seconds) {
      const histogram: Histogram = timing[name];
      histogram.observe(known(name, labels), seconds);
    },
    expose: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

const LABELS = {
  work_duration_seconds: ['process', 'result'],
  work_queue_wait_seconds: ['process', 'result'],
  heartbeat_seconds: ['outcome'],
} as const;

/** prom-client throws on a label it does not know; a metric must never stop the work it counts. */
const known = (name: keyof typeof LABELS, labels: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    LABELS[name].flatMap((label) => {
      const value = labels[label];
      return value === undefined ? [] : [[label, value]];
    }),
  );

const WORKS = [
  'ShepherdAgentStart',
  'ShepherdRecovery',
  'ShepherdReinstall',
  'ShepherdDeprovision',
] as const;

type BmdbMetrics = Pick<
  Metrics,
  | 'sessionStarted'
  | 'sessionExpired'
  | 'transaction'
  | 'workStarted'
  | 'workFinished'
  | 'claimConflict'
>;

function bmdbMetrics(registry: Registry): BmdbMetrics {
  const families = bmdbFamilies(registry);
  const transactions = {
    executed: families.transactionsExecuted,
    retried: families.transactionsRetried,
    failed: families.transactionsFailed,
  };
  // So that every series exists, and a rate can be told from the first event on.
  for (const processor of PROCESSORS) {
    for (const counter of Object.values(transactions)) counter.inc({ processor }, 0);
  }
  for (const process of WORKS) families.workLost.inc({ process }, 0);
  families.sessionsStarted.inc({ processor: 'shepherd' }, 0);
  families.sessionsExpired.inc({ processor: 'shepherd' }, 0);
  return {
    sessionStarted: (processor) => families.sessionsStarted.inc({ processor }),
    sessionExpired: (processor) => families.sessionsExpired.inc({ processor }),
    transaction: (step, processor) => transactions[step].inc({ processor }),
    workStarted: (process) =>
      families.workStarted.inc({ processor: processorOf(process), process }),
    workFinished(process, result) {
      families.workFinished.inc({ processor: processorOf(process), process, result });
      if (result === 'lost') families.workLost.inc({ process });
    },
    claimConflict: (process) => families.claimConflicts.inc({ process }),
  };
}

function webhookMetrics(registry: Registry): WebhookMetrics {
  const { deliveries, oldest } = webhookFamilies(registry);
  return {
    webhookConfigured(webhook) {
      for (const outcome of WEBHOOK_OUTCOMES) deliveries.inc({ webhook, outcome }, 0);
    },
    webhookDelivery: (webhook, outcome) => deliveries.inc({ webhook, outcome }),
    webhookOldest(webhook, seconds) {
      if (seconds === null) oldest.remove({ webhook });
      else oldest.set({ webhook }, seconds);
    },
  };
}

function driverMetrics(
  registry: Registry,
): Pick<Metrics, 'driverOpened' | 'driverCall' | 'bmcUnresponsive'> {
  const { operations, latency, bmcUnresponsive } = driverFamilies(registry);
  return {
    driverOpened(provider, names) {
      for (const operation of names) {
        for (const error of ['0', '1']) operations.inc({ provider, operation, error }, 0);
        latency.zero({ provider, operation });
      }
    },
    driverCall(provider, operation, failed, seconds) {
      operations.inc({ provider, operation, error: failed ? '1' : '0' });
      latency.observe({ provider, operation }, seconds);
    },
    bmcUnresponsive: (provider, count) => bmcUnresponsive.set({ provider }, count),
  };
}

interface OfProvider {
  /** What is counted of the provider begins at 0. */
  begin(provider: string): void;
}

type FleetMetrics = Pick<
  Metrics,
  | 'transition'
  | 'machines'
  | 'heartbeat'
  | 'adapterCall'
  | 'agentStartFailure'
  | 'insecureConnection'
  | 'reboot'
  | 'actorCrash'
  | 'stateMismatch'
  | 'serviceCrash'
>;

function fleetMetrics(registry: Registry): FleetMetrics & OfProvider {
  const families = fleetFamilies(registry);
  for (const service of ['guard', 'pool', 'supervisor'])
    families.serviceCrashes.inc({ service }, 0);
  return {
    begin: (provider) => families.insecureConnections.inc({ provider }, 0),
    transition: (provider, from, to) => families.transitions.inc({ provider, from, to }),
    machines(counts) {
      families.machines.reset();
      families.needHuman.reset();
      for (const { count, needHuman, ...labels } of counts) {
        families.machines.set(labels, count);
        families.needHuman.inc({ provider: labels.provider }, needHuman);
      }
    },
    heartbeat: (outcome) => families.heartbeats.inc({ outcome }),
    adapterCall: (adapter, op, code) => families.adapterCalls.inc({ adapter, op, code }),
    agentStartFailure: (cls) => families.agentStartFailures.inc({ class: cls }),
    insecureConnection: (provider) => families.insecureConnections.inc({ provider }),
    reboot: (provider, outcome) => families.reboots.inc({ provider, outcome }),
    actorCrash: () => families.actorCrashes.inc(),
    stateMismatch: () => families.stateMismatches.inc(),
    serviceCrash: (service) => families.serviceCrashes.inc({ service }),
  };
}

/** As the budget names its scopes: locations are among them. */
const scopeLabel = (scope: string): string => (scope === FLEET ? scope : `provider ${scope}`);

type GuardAndLadderMetrics = Pick<
  Metrics,
  'guard' | 'guardFrozen' | 'recoveryBudget' | 'ladderAttempt' | 'escalation'
>;

function guardMetrics(registry: Registry): GuardAndLadderMetrics & OfProvider {
  const families = guardFamilies(registry);
  return {
    begin: (provider) => families.reinstalls.inc({ provider, outcome: 'asked' }, 0),
    guard(standings, counts) {
      const { state, frozen, silent, started, frozenSeconds } = families;
      for (const gauge of [state, frozen, silent, started]) gauge.reset();
      for (const { scope: of, state: now } of standings) {
        const scope = scopeLabel(of);
        for (const each of GUARD_STATES) state.set({ scope, state: each }, each === now ? 1 : 0);
        frozen.set({ scope }, now === 'frozen' ? 1 : 0);
        frozenSeconds.inc({ scope }, 0);
      }
      for (const each of counts) {
        const scope = scopeLabel(each.scope);
        silent.set({ scope }, each.silent);
        started.set({ scope }, each.started);
      }
    },
    guardFrozen: (scope, seconds) =>
      families.frozenSeconds.inc({ scope: scopeLabel(scope) }, Math.max(0, seconds)),
    recoveryBudget(uses) {
      for (const gauge of [families.permits, families.budget]) gauge.reset();
      for (const { scope, permits, budget } of uses) {
        families.permits.set({ scope }, permits);
        families.budget.set({ scope }, budget);
      }
    },
    ladderAttempt(provider, rung, outcome) {
      families.ladderAttempts.inc({ provider, rung, outcome });
      if (rung === 'reinstalling') families.reinstalls.inc({ provider, outcome });
    },
    escalation: (provider, rung) => families.escalations.inc({ provider, rung }),
  };
}

type ProvisionerMetrics = Pick<
  Metrics,
  'provisioner' | 'creation' | 'disappeared' | 'deprovisionStuck'
> &
  OfProvider & {
    /** Another daemon provisions it now: what was seen here counts no longer. */
    left(provider: string): void;
  };

const CAPACITIES = ['bmdb', 'used', 'free', 'penalised', 'managed', 'max'] as const;
const DISCREPANCIES = ['orphan', 'missing', 'failed'] as const;

function provisionerMetrics(registry: Registry): ProvisionerMetrics {
  const families = provisionerFamilies(registry);
  return {
    begin: (provider) => families.stuck.inc({ provider }, 0),
    provisioner(provider, figures) {
      for (const kind of CAPACITIES) families.capacity.set({ provider, kind }, figures[kind]);
      for (const kind of DISCREPANCIES) {
        families.discrepancies.set({ provider, kind }, figures[kind]);
      }
      families.circuitOpen.set({ provider }, figures.isBreakerOpen ? 1 : 0);
      families.intentsOpen.set({ provider }, figures.intents);
      families.overLimit.set({ provider }, figures.overLimit);
    },
    left(provider) {
      for (const kind of CAPACITIES) families.capacity.remove({ provider, kind });
      for (const kind of DISCREPANCIES) families.discrepancies.remove({ provider, kind });
      const { circuitOpen, intentsOpen, overLimit } = families;
      for (const gauge of [circuitOpen, intentsOpen, overLimit]) gauge.remove({ provider });
    },
    creation: (provider, outcome) => families.outcomes.inc({ provider, outcome }),
    disappeared: (state) => families.disappeared.inc({ state }),
    deprovisionStuck: (provider) => families.stuck.inc({ provider }),
  };
}

type EquinixMetrics = Pick<
  Metrics,
  | 'equinixCall'
  | 'equinixSlots'
  | 'equinixRetry'
  | 'equinixPaused'
  | 'equinixCreate'
  | 'equinixReservations'
  | 'equinixWalk'
>;

function equinixMetrics(registry: Registry): EquinixMetrics {
  const families = equinixFamilies(registry);
  for (const outcome of CREATE_OUTCOMES) families.equinixCreates.inc({ outcome }, 0);
  return {
    equinixCall: (endpoint, statusCode, seconds) =>
      families.equinixLatency.observe({ endpoint, status_code: statusCode }, seconds),
    equinixSlots(waiting, inFlight) {
      families.equinixWaiting.set(waiting);
      families.equinixInFlight.set(inFlight);
    },
    equinixRetry: (endpoint, reason) => families.equinixRetries.inc({ endpoint, reason }),
    equinixPaused: (reason, seconds) => families.equinixPaused.inc({ reason }, seconds),
    equinixCreate: (outcome) => families.equinixCreates.inc({ outcome }),
    equinixReservations(counts) {
      families.equinixReservations.reset();
      for (const [of, count] of Object.entries(counts)) {
        families.equinixReservations.set({ class: of }, count);
      }
    },
    equinixWalk: (list, consistent) =>
      families.equinixWalks.inc({ list, consistent: String(consistent) }),
  };
}
