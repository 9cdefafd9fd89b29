import type { Metrics } from '../../src/adapters/metrics/port.ts';
import type { MetricsSource } from '../../src/console/port.ts';

/** One call of a method of the port, with its arguments. */
export interface MetricsCall {
  readonly method: keyof Metrics;
  readonly args: readonly unknown[];
}

export interface MemMetrics extends Metrics, MetricsSource {
  /** All calls so far, oldest first. */
  readonly calls: readonly MetricsCall[];
  /** How often a method was called with these leading arguments. */
  count(method: keyof Metrics, ...args: readonly unknown[]): number;
}

/** Metrics that only remember; for tests that ask what was counted. */
export function createMemMetrics(): MemMetrics {
  const calls: MetricsCall[] = [];
  const record =
    (method: keyof Metrics) =>
    (...args: readonly unknown[]): void => {
      calls.push({ method, args });
    };
  return {
    calls,
    count: (method, ...args) =>
      calls.filter((call) => call.method === method && args.every((arg, i) => arg === call.args[i]))
        .length,
    expose: async () => ({ contentType: 'text/plain', body: '' }),
    poolTended: record('poolTended'),
    poolPass: record('poolPass'),
    poolCreationWait: record('poolCreationWait'),
    poolWrites: record('poolWrites'),
    poolPending: record('poolPending'),
    poolRetrieved: record('poolRetrieved'),
    poolDrained: record('poolDrained'),
    poolStanding: record('poolStanding'),
    poolLeft: record('poolLeft'),
    balancerCall: record('balancerCall'),
    balancerInFlight: record('balancerInFlight'),
    transition: record('transition'),
    machines: record('machines'),
    workStarted: record('workStarted'),
    workFinished: record('workFinished'),
    claimConflict: record('claimConflict'),
    webhookConfigured: record('webhookConfigured'),
    webhookDelivery: record('webhookDelivery'),
    webhookOldest: record('webhookOldest'),
    heartbeat: record('heartbeat'),
    adapterCall: record('adapterCall'),
    driverOpened: record('driverOpened'),
    driverCall: record('driverCall'),
    agentStartFailure: record('agentStartFailure'),
    insecureConnection: record('insecureConnection'),
    reboot: record('reboot'),
    provisioner: record('provisioner'),
    creation: record('creation'),
    disappeared: record('disappeared'),
    deprovisionStuck: record('deprovisionStuck'),
    sessionStarted: record('sessionStarted'),
    sessionExpired: record('sessionExpired'),
    transaction: record('transaction'),
    actorCrash: record('actorCrash'),
    stateMismatch: record('stateMismatch'),
    serviceCrash: record('serviceCrash'),
    guard: record('guard'),
    guardFrozen: record('guardFrozen'),
    recoveryBudget: record('recoveryBudget'),
    ladderAttempt: record('ladderAttempt'),
    escalation: record('escalation'),
    observe: record('observe'),
    bmcUnresponsive: record('bmcUnresponsive'),
    equinixCall: record('equinixCall'),
    equinixSlots: record('equinixSlots'),
    equinixRetry: record('equinixRetry'),
    equinixPaused: record('equinixPaused'),
    equinixCreate: record('equinixCreate'),
    equinixReservations: record('equinixReservations'),
    equinixWalk: record('equinixWalk'),
    sessionPoke: record('sessionPoke'),
    transactionAttempts: record('transactionAttempts'),
    transactionAmbiguous: record('transactionAmbiguous'),
    swept: record('swept'),
    loopFailed: record('loopFailed'),
    hostKeyChanged: record('hostKeyChanged'),
    installation: record('installation'),
    request: record('request'),
    httpRequest: record('httpRequest'),
    streams: record('streams'),
    streamDropped: record('streamDropped'),
    standing: record('standing'),
    statistics: record('statistics'),
    hardware: record('hardware'),
    statisticsRead: record('statisticsRead'),
    statisticsLeft: record('statisticsLeft'),
  };
}
